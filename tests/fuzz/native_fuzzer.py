"""Bytes that a guest or a host may give to the C of the native runner, in a process that sanitizers watch.

Each function gives an answer that agrees with the Python of the same purpose. Where the system has a compiler
with AddressSanitizer and UBSan the build has both: what they find ends the process, and the fuzzer tells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from random import Random

import msgspec
from codemode_runtime import batches, parts
from codemode_runtime.compile import SourceError, prepare
from codemode_runtime.frames import FrameRefused

from tests.fuzz.mutation import change_bytes, rubbish
from tests.fuzz.runner import Subject
from tests.harness.runner import Functions, runner_functions
from tests.runtime.test_runner_functions import BUILD, sample_delta, some_json, told_by_python

_TEXTS = (
    b"return await tools.call('x')",
    b"ls -la && pwd",
    b"print('a')",
    b"```js\nreturn 1\n```",
    b"const process = 1; import('x')",
    b"#!/bin/sh\n",
)
_KINDS = ("parts", "split", "delta", "doubtful", "blake2b")


class RunnerFunctions:
    """An input is the name of a function, a colon, and what it is given."""

    def __init__(self, functions: Functions) -> None:
        self._functions = functions

    def make(self, dice: Random) -> bytes:
        kind = dice.choice(_KINDS)
        match kind:
            case "delta":
                data = bytes.fromhex(BUILD) + sample_delta(dice)
            case "doubtful":
                data = b"\n".join(dice.choices(_TEXTS, k=dice.randrange(1, 4)))
            case _:
                values = [{"type": "text", "x": some_json(dice)} for _ in range(dice.randrange(1, 40))]
                rows = [json.dumps(value, separators=(",", ":")).encode() for value in values]
                data = b",".join([row * dice.choice((1, 1, 200)) for row in rows])
        if dice.random() < 0.8:
            data = change_bytes(dice, data, [data, rubbish(dice)])
        return kind.encode() + b":" + data

    def check(self, data: bytes) -> None:
        kind, _, given = data.partition(b":")
        function = kind.decode(errors="replace")
        if function not in _KINDS:
            return
        told = self._functions.call(function, given)
        match function:
            case "parts":
                _check_parts(given, int(told))
            case "split":
                _check_split(given, told.split()[-1])
            case "delta" if len(given) >= 16 and given[:16] == bytes.fromhex(BUILD):
                wanted = told_by_python(given[16:])
                assert told == wanted or ("refused" in told and ("refused" in wanted or "damaged" in told))
            case "doubtful" if told == "0":
                _check_certain(given)
            case _:
                pass


def _check_parts(given: bytes, found: int) -> None:
    """For valid JSON the count is that of the host, which may count more where it only looks."""
    try:
        msgspec.json.decode(given)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        return
    assert found <= parts.most_parts(given)
    assert (found > parts.MAX_PARTS) == (parts.measure(given).parts > parts.MAX_PARTS)


_SPACED = re.compile(rb"^\s|[,}]\s|\s,|\s$")


def _check_split(given: bytes, end: str) -> None:
    """What Python can cut, C cuts; what only looks like messages the host refuses later."""
    try:
        batches.split(b"[" + given + b"]")
    except (batches.TooMuch, FrameRefused):
        return
    if end != "end" and not _SPACED.search(given):  # no guest writes space between its messages
        assert not all(isinstance(one, dict) for one in msgspec.json.decode(b"[" + given + b"]"))


def _check_certain(given: bytes) -> None:
    text = given.decode(errors="replace")
    if text.encode() != given:
        return
    # text that the engine does not parse is checked after it has failed
    assert _code_of(text) in (text, None)


def _code_of(text: str) -> str | None:
    """What a check makes of it; None if it says that this is no JavaScript."""
    try:
        return prepare(text, "javascript").code
    except SourceError as error:
        return None if error.code == "invalid_input" else error.code


@contextmanager
def native_functions() -> Generator[Subject]:
    with runner_functions(sanitized=True) as functions:
        yield RunnerFunctions(functions)
