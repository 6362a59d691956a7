"""JSON on its way into the host is measured as a decoder finds it, and chunks are messages or refused."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from random import Random
from typing import Any, cast

import msgspec
from codemode_runtime import batches, wire
from codemode_runtime.frames import FrameRefused
from codemode_runtime.parts import exceeds_depth, measure, most_parts, refusal_of, refusal_of_passing

from tests.fuzz.frame_fuzzer import make_head
from tests.fuzz.mutation import change_bytes, change_json, encode_json, rubbish
from tests.fuzz.runner import Subject


class Gate:
    """An input is any bytes: what a program, a worker or a server sends."""

    def make(self, dice: Random) -> bytes:
        good = make_head(dice)
        match dice.randrange(6):
            case 0:
                return rubbish(dice)
            case 1:
                return batches.pack([good, *(rubbish(dice) for _ in range(dice.randrange(3)))])
            case 2:
                return good * dice.choice((1, 3, 300))
            case 3:
                return b"[" + b",".join([dice.choice((b"[]", b"{}", b'"\\\\"', b'"[,"'))] * 400) + b"]"
            case 4:
                value: Any = change_json(dice, [good.decode(errors="replace"), {"a": [1, "x"]}])
                return encode_json(dice, value)
            case _:
                return change_bytes(dice, good, [good])

    def check(self, data: bytes) -> None:
        found = measure(data)
        assert 1 <= found.parts <= max(most_parts(data), 250_001)
        refusal_of(data)
        refusal_of_passing(data)
        is_deep = exceeds_depth(data)
        try:
            value: Any = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
            pass
        else:
            parts = 0 if is_deep else _parts(value)
            # of two equal keys a decoder keeps one
            assert parts <= found.parts, f"{parts} parts were taken for {found.parts}"
        self._check_chunks(data)

    def _check_chunks(self, data: bytes) -> None:
        for count in (0, 1, 2):
            try:
                for view in batches.unpack(data, count):
                    for decode in (wire.decode_chunk, wire.decode_result, wire.decode_failure):
                        try:
                            decode(view)
                        except FrameRefused:
                            continue
            except FrameRefused:
                continue
        try:
            chunks = batches.split(data)
        except (FrameRefused, batches.TooMuch):
            return
        joined = [raw for chunk in chunks for raw in _messages(chunk)]
        assert joined == [bytes(raw) for raw in msgspec.json.decode(data, type=list[msgspec.Raw])]


def _messages(chunk: bytes) -> list[bytes]:
    if len(chunk) > batches.INLINE_BYTES - 2 and not chunk.startswith(b"["):
        return [chunk]
    return [bytes(raw) for raw in msgspec.json.decode(chunk, type=list[msgspec.Raw])]


def _parts(value: Any) -> int:
    match value:
        case list():
            return 1 + sum(map(_parts, cast("list[Any]", value)))
        case dict():
            return 1 + sum(1 + _parts(inner) for inner in cast("dict[str, Any]", value).values())
        case _:
            return 1


@contextmanager
def gate() -> Generator[Subject]:
    yield Gate()
