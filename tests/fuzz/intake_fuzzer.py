"""What MCP servers send is admitted within bounds or goes nowhere; what is told of arguments is true."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from random import Random
from typing import Any

import httpx2
import msgspec
from codemode_runtime.parts import most_parts
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest

from codemode.executor.schema_check import EXPLAINED_BYTES, SchemaCheck
from codemode.executor.unfolding import Unusable
from codemode.mcp.answers import answering
from codemode.mcp.budget import Counts, Overspent
from codemode.mcp.http_intake import admitted_events
from codemode.mcp.intake import MAX_UNASKED_PARTS, Intake
from tests.fuzz.mutation import any_json, change_bytes, change_json, encode_json, rubbish
from tests.fuzz.runner import Subject

_MOST_BYTES = 1 << 20  # of what the SDK is given
_GOOD: tuple[dict[str, Any], ...] = (
    {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "[{"}], "isError": False}},
    {"jsonrpc": "2.0", "id": 2, "result": {"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}},
    {"jsonrpc": "2.0", "id": "3", "error": {"code": -1, "message": "no", "data": [1]}},
    {"jsonrpc": "2.0", "id": 4, "method": "ping"},
    {"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": {"message": "?"}},
    {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 2}},
    {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
)
_METHODS = {1: "tools/call", 2: "tools/list", 3: "resources/read"}
_ENDS = (b"\n", b"\r\n", b"\r")


class Messages:
    """An input is what a server sends: lines of stdio, and at the same time a stream of events over HTTP."""

    def make(self, dice: Random) -> bytes:
        return b"".join(self._event(dice) for _ in range(dice.randrange(1, 4)))

    def _event(self, dice: Random) -> bytes:
        end = dice.choice(_ENDS)
        lines = [
            dice.choice((b"data: ", b"data:", b"id: ", b"retry: ", b"event: ", b"")) + self._message(dice)
        ]
        lines += [dice.choice((b"data: {}", b": comment", b"id: 7", b"retry: 3", b""))] * dice.randrange(3)
        return end.join(lines) + dice.choice((end, end * 2, end * 3))

    def _message(self, dice: Random) -> bytes:
        good = json.dumps(dice.choice(_GOOD)).encode()
        match dice.randrange(6):
            case 0:
                return rubbish(dice)
            case 1:
                return change_bytes(dice, good)
            case 2:
                inner = dice.choice(("[]", '{"k":1}', '"[,"', "[" * 300 + "]" * 300))
                return (
                    good[:-1]
                    + b',"more":['
                    + ",".join([inner] * dice.choice((1, 40, 6_000))).encode()
                    + b"]}"
                )
            case 3:
                return good
            case _:
                return encode_json(dice, change_json(dice, json.loads(good)))

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner

    def check(self, data: bytes) -> None:
        for line in data.splitlines():
            with _asked() as intake:
                try:
                    told = intake.admit(line)
                except Overspent:
                    continue
                is_answered = len(intake._sent) < len(_METHODS)  # pyright: ignore[reportPrivateUsage]
            if told is not None:
                _is_small(told)
            if is_answered:  # nobody waits for it any more
                assert told is not None
                assert isinstance(json.loads(told), dict)
        sizes = (len(data) + 1, max(7, len(data) // 50))
        whole, cut = (self._runner.run(_events(data, size)) for size in sizes)
        assert whole == cut, "events depend on how they are cut"
        for event in whole if isinstance(whole, list) else ():
            for field in event.split(b"\n"):
                if field.startswith(b"data: {"):
                    _is_small(field.removeprefix(b"data: "))


def _is_small(told: bytes) -> None:
    """What the SDK is to decode is not large."""
    assert len(told) <= _MOST_BYTES
    assert most_parts(told) <= MAX_UNASKED_PARTS


@contextmanager
def _asked() -> Generator[Intake]:
    """The gate of a connection on which three requests wait for their answers."""
    intake = Intake("fuzzed", Counts(), lambda: None)
    with answering("fuzzed"):
        for name, method in _METHODS.items():
            intake.note_sent(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=name, method=method)))
        yield intake


async def _events(data: bytes, size: int) -> list[bytes] | str:
    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(data), size):
            yield data[at : at + size]

    with _asked() as intake:
        try:
            return [told async for told in admitted_events(chunks(), intake, None)]
        except (Overspent, httpx2.StreamError) as problem:
            return str(problem)


_SCHEMAS: tuple[dict[str, Any], ...] = (
    {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
    {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"$ref": "#/$defs/n"}},
            "b": {"enum": ["x", {"y": 1}]},
        },
        "required": ["b"],
        "$defs": {"n": {"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "array"}]}},
    },
    {"properties": {"a": {"type": "array", "minItems": 300}}, "minProperties": 25, "required": ["b"]},
    {"type": "object", "propertyNames": {"maxLength": 3}, "minProperties": 2, "not": {"required": ["z"]}},
)


class Schemas:
    """An input is a schema and a value, as the two members of an array."""

    def make(self, dice: Random) -> bytes:
        schema: Any = dice.choice(_SCHEMAS)
        if dice.random() < 0.7:
            schema = change_json(dice, schema)
        inner: list[Any] = [1, "x", ["b", [], 7]]
        value: Any = {"a": dice.choice(inner), "b": "x"}
        value = any_json(dice) if dice.random() < 0.2 else change_json(dice, value)
        if dice.random() < 0.3:
            value = {"a": [value] * 400, **{f"k{at}": at for at in range(dice.randrange(60))}}
        return json.dumps([schema, value]).encode(errors="surrogatepass")

    def check(self, data: bytes) -> None:
        try:
            schema, value = msgspec.json.decode(data)
            checks = [SchemaCheck(schema, trusted=trusted) for trusted in (True, False)]
        except (ValueError, TypeError, Unusable, RecursionError):
            return
        for check in checks:
            if not check.is_affordable(value, len(data)) or check.fits(value):
                continue
            errors, _ = check.errors(value, EXPLAINED_BYTES + 1, most=5)
            all_of_them, _ = check.errors(value, 1, most=100_000)
            assert {_place(error) for error in errors} <= {_place(error) for error in all_of_them}


def _place(error: Any) -> tuple[str, str]:
    return error.kind.name, "/".join(map(str, error.instance_path))


@contextmanager
def mcp_messages() -> Generator[Subject]:
    with asyncio.Runner() as runner:
        yield Messages(runner)


@contextmanager
def schemas() -> Generator[Subject]:
    yield Schemas()
