"""What a worker says, as bytes: the host's decoders alone, and a whole engine whose workers say it.

The decoders give a message or FrameRefused, the same however the bytes are cut. An engine gives a result.
"""

from __future__ import annotations

import asyncio
import base64
import struct
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from random import Random
from typing import Any

import msgspec
import pytest
from codemode_runtime import wire
from codemode_runtime.frames import HEADER_BYTES, LARGE_TAIL, FrameReader, FrameRefused, encode_frame
from codemode_runtime.shapes import Layer, LossyValue, Stop
from msgspec import Raw

from codemode import Completed, Engine
from codemode.workers import worker
from tests.fuzz.mutation import change_bytes, change_json, encode_json, rubbish
from tests.fuzz.program_fuzzer import CONFIG, check_shape
from tests.fuzz.runner import Subject
from tests.harness.engine import echo
from tests.harness.loops import other_tasks
from tests.harness.patience import PATIENCE_SECONDS

ROGUE = "tests.fuzz.rogue_zygote"
_CAP = 1 << 20
_FAILURES = (
    b'{"kind": "exception", "call": 1,'
    b' "error": {"name": "TypeError", "message": "no", "code": "tool_error", "stack": "at program:1:2"}}',
    b'{"kind": "value_too_large", "bytes": 70000, "outline": "x"}',
    b'{"kind": "unhandled", "thrown": 7}',
)


@cache
def messages() -> tuple[bytes, ...]:
    """One good message of each kind at least."""
    spent = wire.Spent(1, 2, 3)
    said = (
        wire.Call(1, "call", "echo", Raw(b'[{"value": 1}]')),
        wire.Call(2, "search", "", Raw(b'["echo", {"limit": 3}]')),
        wire.Call(3, "describe", "echo", Raw(b"[]")),
        wire.Yield(4, "because"),
        wire.Timer(5, 10),
        wire.Clear(5),
        wire.Text("said", "warn"),
        wire.Text("s … 8 of 9 bytes left out … d", None, 9),
        wire.Json(Raw(b'{"a": [1, null]}')),
        wire.Ignored('locale "de-DE" (localeCompare)'),
    )
    value = wire.Value(Raw(b'{"log": [1, "two"]}'), (LossyValue("$.log", "date"),))
    return tuple(
        wire.encode(message)
        for message in (
            wire.Idle(said, False, 1, 2, 3, spent=spent),
            wire.Idle((), True, 0, 0, 0, spent=spent),
            wire.Done(said[6:], value, spent=spent),  # what an honest worker says
            *(wire.Threw(said[6:], Raw(failure)) for failure in _FAILURES),
            *(wire.Stopped((), reason) for reason in Stop),
            wire.Done((), wire.Value(Raw(b"7"), ())),
            wire.Done((), wire.Value(Raw(b'["a", 1]'), ())),
            wire.Interrupted(said[6:], spent=spent),
            wire.Refused("invalid_input", "no", 1, 2, "for (;;"),
            wire.RestoreRefused("snapshot_restore_failed", "no"),
            wire.Ready((Layer("seccomp", "active", ""),)),
            wire.Captured(3, 4),
            wire.LookupRequest(1, "echo"),
        )
    )


def make_head(dice: Random) -> bytes:
    good = dice.choice(messages())
    match dice.randrange(8):
        case 0:
            return rubbish(dice)
        case 1 | 2:
            return change_bytes(dice, good, messages())
        case 3:
            return good
        case _:
            value: Any = msgspec.json.decode(good)
            for _ in range(dice.choice((0, 0, 1, 2, 4))):
                value = change_json(dice, value)
            return encode_json(dice, value)


def make_frames(dice: Random) -> bytes:
    """A stream of a few frames, sometimes with lengths that lie."""
    large = dice.randbytes(LARGE_TAIL + dice.choice((-1, 0, 1, 5000))) if dice.random() < 0.05 else b"tail"
    frames = [
        encode_frame(make_head(dice), dice.choice((b"", b"", large, rubbish(dice))))
        for _ in range(dice.randrange(1, 4))
    ]
    stream = b"".join(frames)
    return change_bytes(dice, stream, frames) if dice.random() < 0.4 else stream


class Frames:
    """An input is what came out of a socket."""

    def make(self, dice: Random) -> bytes:
        return make_frames(dice)

    def check(self, data: bytes) -> None:
        whole = _read(data, len(data) or 1)
        for size in (1, HEADER_BYTES - 1, HEADER_BYTES, 1000):
            if len(data) < 1000 * size:
                assert _read(data, size) == whole, f"read {size} bytes at a time they are other frames"
                assert _read(data, size, in_place=True) == whole, "received in place they are other frames"
        for head, _ in whole[0]:
            _read_message(head)


def _read(data: bytes, size: int, *, in_place: bool = False) -> tuple[list[tuple[bytes, bytes]], bool]:
    """The frames until the first that is refused, and whether one was. `in_place`: as a socket fills them."""
    reader = FrameReader(_CAP, _CAP)
    found: list[tuple[bytes, bytes]] = []
    at = 0
    while at < len(data):
        chunk = data[at : at + size]
        try:
            if in_place and (space := reader.space) is not None:
                chunk = chunk[: len(space)]
                space[: len(chunk)] = chunk
                frames = reader.filled(len(chunk))
            else:
                frames = reader.feed(chunk)
        except FrameRefused:
            # what was complete in the same chunk is dropped with it: nothing such a peer says is believed
            return _before_refusal(data), True
        found += [(frame.head, bytes(frame.tail)) for frame in frames]
        at += len(chunk)
    return found, False


def _before_refusal(data: bytes) -> list[tuple[bytes, bytes]]:
    """By the lengths alone: the frames before the first that announces too much."""
    found: list[tuple[bytes, bytes]] = []
    at = 0
    while True:
        head, tail = struct.unpack_from("<II", data, at)
        if head > _CAP or tail > _CAP:
            return found
        middle = at + HEADER_BYTES + head
        found.append((data[at + HEADER_BYTES : middle], data[middle : middle + tail]))
        at = middle + tail


def _read_message(head: bytes) -> None:
    try:
        message = wire.decode_from_worker(head)
    except FrameRefused:
        return
    raws: list[Raw] = []
    match message:
        case wire.Done(sent, result):
            raws.append(result.value)
        case wire.Threw(sent, failure):
            raws += [failure.thrown] if len(failure.thrown) else []
        case wire.Idle(sent) | wire.Stopped(sent) | wire.Interrupted(sent):
            pass
        case _:
            return
    raws += [
        item.args if isinstance(item, wire.Call) else item.value
        for item in sent
        if isinstance(item, wire.Call | wire.Json)
    ]
    for raw in raws:
        with suppress(FrameRefused):
            wire.decode_value(raw)


class RogueWorkers:
    """An input is lines of base64: what a worker sends when it is asked for the first time, the second, …"""

    def __init__(self, loop: asyncio.Runner, engine: Engine) -> None:
        self._loop = loop
        self._engine = engine

    def make(self, dice: Random) -> bytes:
        replies: list[bytes] = []
        for _ in range(dice.randrange(1, 5)):
            head = dice.choice(messages()[:2]) if dice.random() < 0.3 else make_head(dice)
            reply = encode_frame(head[:_CAP], dice.choice((b"", b"", b"", b"abc")))
            replies.append(change_bytes(dice, reply) if dice.random() < 0.1 else reply)
        return b"\n".join(map(base64.b64encode, replies))

    def check(self, data: bytes) -> None:
        self._loop.run(self._check(data.decode()))

    async def _check(self, program: str) -> None:
        engine = self._engine
        async with asyncio.timeout(PATIENCE_SECONDS):
            result = await engine.exec(program or "-", session="s")
            check_shape(result)
            if result.status == "waiting":
                check_shape(await engine.wait(result.run_id, session="s"))
                await engine.abort(result.run_id, session="s")
            after = await engine.exec(base64.b64encode(encode_frame(messages()[2])).decode())
        assert isinstance(after, Completed), after
        assert engine.stats()["runs"] == {}
        assert (tasks := other_tasks()) == [], tasks


@contextmanager
def frames() -> Generator[Subject]:
    yield Frames()


@contextmanager
def rogue_workers() -> Generator[Subject]:
    with asyncio.Runner() as loop:
        # what a leg may take is short: a worker that says nothing is waited for that long
        engine = Engine([echo], {**CONFIG, "timeoutMs": 100}, settings={"warmWorkers": 3})
        supervisor = engine._supervisor  # pyright: ignore[reportPrivateUsage] - no user gets to choose workers
        supervisor.settings = msgspec.structs.replace(supervisor.settings, entry=ROGUE, grace_ms=20)
        loop.run(engine.start())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(worker, "_PATIENCE_SECONDS", 1.0)  # or half a frame would take thirty
            try:
                yield RogueWorkers(loop, engine)
            finally:
                loop.run(engine.close())
