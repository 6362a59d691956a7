"""JSON-RPC lines of a host: the decoder alone, and a live `codemode serve --stdio` that gets them.

The decoder gives a message or Refused. The server answers every request with its id, and goes on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager
from random import Random
from typing import Any

from codemode.serve.json_rpc import messages as rpc
from tests.fuzz.mutation import any_json, change_bytes, change_json, encode_json, rubbish
from tests.fuzz.runner import Subject
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.serve import RawHost, raw_host

_METHODS = (
    "initialize", "prepare", "exec", "wait", "abort", "abortSession", "approve", "deny", "health",
    "stats", "runs", "cancel", "progress", "nope",
)  # fmt: skip
_GOOD: tuple[dict[str, Any], ...] = (
    {"jsonrpc": "2.0", "id": 1, "method": "exec", "params": {"input": {"code": "return 1"}, "session": "s"}},
    {"jsonrpc": "2.0", "id": "a", "method": "wait", "params": {"input": {"runId": "run_x"}}},
    {"jsonrpc": "2.0", "id": 2, "method": "abort", "params": {"runId": "run_x"}},
    {"jsonrpc": "2.0", "method": "cancel", "params": {"id": 1}},
    {"jsonrpc": "2.0", "id": 3, "result": {"value": 1}},
    {"jsonrpc": "2.0", "id": 4, "error": {"code": -1, "message": "no", "data": [1]}},
    {"jsonrpc": "2.0", "id": 5, "method": "stats"},
    {"jsonrpc": "2.0", "id": 6, "method": "prepare", "params": {"session": "s", "format": "anthropic"}},
    {"jsonrpc": "2.0", "id": 7, "method": "approve", "params": {"runId": "run_x", "approvalId": "apr_x"}},
)


def make_line(dice: Random) -> bytes:
    good = json.dumps(dice.choice(_GOOD)).encode()
    match dice.randrange(6):
        case 0:
            return rubbish(dice)
        case 1:
            return change_bytes(dice, good)
        case 2:
            fields = {
                "jsonrpc": "2.0",
                "id": dice.randrange(9),
                "method": dice.choice(_METHODS),
                "params": any_json(dice),
            }
            return encode_json(dice, fields)
        case _:
            value: Any = change_json(dice, json.loads(good))
            return encode_json(dice, value)


class Lines:
    """An input is one line, without its end."""

    def make(self, dice: Random) -> bytes:
        return make_line(dice)

    def check(self, data: bytes) -> None:
        found = rpc.id_of_head(data[:256])
        try:
            message = rpc.decode(data)
        except rpc.MessageRefused as refused:
            answer = json.loads(rpc.encode_error(refused.id, refused))
            assert answer["error"]["code"] in (rpc.PARSE_ERROR, rpc.INVALID_REQUEST)
            return
        if isinstance(message, rpc.Request) and found is not None and b'"id"' not in data[256:]:
            assert found[0] == message.id or data.count(b'"id"') > 1
        match message:
            case rpc.Request(id, method, params):
                again = rpc.decode(rpc.encode_request(id, method, params))
                assert isinstance(again, rpc.Request)
                assert (again.id, again.method) == (id, method)
            case rpc.Notification(method, params):
                rpc.decode(rpc.encode_notification(method, params))
            case rpc.Reply(id, result, _):
                if result is not None:
                    rpc.decode(rpc.encode_result(id, result))


class LiveServer:
    """An input is a few lines. Every answer is JSON-RPC, and then the connection is as good as before."""

    def __init__(self, loop: asyncio.Runner, host: RawHost) -> None:
        self._loop = loop
        self._host = host
        self._count = 0

    def make(self, dice: Random) -> bytes:
        lines = [make_line(dice).replace(b"\n", b" ") for _ in range(dice.randrange(1, 6))]
        # `shutdown` would be obeyed
        return b"\n".join(line for line in lines if b"shutdown" not in line)

    def check(self, data: bytes) -> None:
        self._loop.run(self._check(data))

    async def _check(self, data: bytes) -> None:
        host = self._host
        self._count += 1
        await host.write(data + b"\n")
        token = f"works {self._count}"
        await host.send(id=token, method="exec", params={"input": {"code": "return 6 * 7"}})
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (answer := await host.read()).get("id") != token:
                assert answer["jsonrpc"] == "2.0"
                assert ("method" in answer) != ("result" in answer or "error" in answer), answer
                if "method" in answer and "id" in answer:  # it calls a tool that some line offered
                    await host.send(id=answer["id"], result=None)
        assert answer.get("result", {}).get("value") == 42, answer
        assert host.process.returncode is None


@contextmanager
def lines() -> Generator[Subject]:
    yield Lines()


@contextmanager
def live_server() -> Generator[Subject]:
    with asyncio.Runner() as loop:
        opening = raw_host()
        host = loop.run(opening.__aenter__())
        try:
            loop.run(host.begin())
            yield LiveServer(loop, host)
        finally:
            loop.run(_leave(opening))


async def _leave(opening: Any) -> None:
    await opening.__aexit__(None, None, None)
