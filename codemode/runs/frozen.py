"""The state of a run in its snapshot: encodes and decodes everything that must survive a suspension.

The delta holds the program's own memory; this is what the host knows beside it. It decodes only bytes out of
our own envelopes, which were authenticated before.
"""

from __future__ import annotations

import zlib
from functools import partial
from typing import TYPE_CHECKING, Literal

import msgspec
from codemode_runtime.shapes import Settlement

from codemode.config import Language
from codemode.contract.telemetry import CallRecord
from codemode.otel.story import Story
from codemode.runs.contents import Frozen as FrozenContent
from codemode.runs.meter import RunMeter, Tally
from codemode.runs.work import Work
from codemode.tools.threads import call_in_thread
from codemode.trajectory import TraceState

if TYPE_CHECKING:
    from codemode.runs.run import Run


class Memory(msgspec.Struct, array_like=True):
    """Stored as an array: new fields go at the end, with a default."""

    program: str
    language: Language
    place: bool  # of a field that is gone; older states must still be readable
    returned: bool
    meter: bytes
    pending: list[Work]
    settled: list[tuple[int, bool, bytes]]  # settled before the capture, not yet delivered
    trace: TraceState | None = None
    # under which policy, and for whom, its tools run; a restart must not change either
    provider: str | None = None
    model: str | None = None
    caller: tuple[str, str, str, str] = ("", "", "", "")  # session key, sender, channel, sandbox
    allow: tuple[str, ...] | None = None
    named_tools: tuple[str, ...] | None = None  # ids of the tools that the program's text names
    asked: tuple[str, ...] = ()  # every approval that was asked for, by id, in order
    contents: tuple[FrozenContent, ...] = ()
    shown_content: int = 0  # bytes
    story: Story | None = None  # its spans, if it was told of them
    world: Literal["", "own", "copy"] = ""  # of its session, in which the program runs
    checkpoints: int = 0  # that were taken so far
    tape: bytes = b""  # what is written down for a replay

    def settlements(self) -> list[Settlement]:
        return [Settlement(id, json, rejected) for id, rejected, json in self.settled]

    def used_tools(self) -> list[str]:
        """Ids of the tools without which the program cannot go on: those it names and those it has called."""
        meter = RunMeter.resume(Tally(), self.meter)
        known = (call.tool for call in meter.calls if call.tool)
        return list(dict.fromkeys([*(self.named_tools or ()), *meter.called_tools, *known]))

    def calls(self) -> tuple[CallRecord, ...]:
        """The ledger, without resuming the run."""
        return RunMeter.resume(Tally(), self.meter).calls


def memory_of(run: Run) -> Memory:
    """The state of a run that a leg works on."""
    active, origin, context = run.active, run.origin, run.origin.context
    flight = run.in_flight
    return Memory(
        active.program, active.language, True, active.returned, active.meter.encode(),
        [work.for_snapshot() for work in flight.pending.values()],
        [(s.id, s.rejected, s.json) for s in flight.settled],
        run.trace.freeze(), origin.provider, origin.model,
        (context.session_key, context.sender, context.channel, context.sandbox), origin.allow,
        active.name_tools(run.environment.catalog), tuple(flight.asked),
        run.contents.freeze(), run.contents.shown, run.story, active.world_mode, active.checkpoints,
        active.freeze_tape(),
    )  # fmt: skip


# Bytes: the better compression takes 20 ms for each MB, the quicker one a fifth of that.
_WORTH_THE_TIME = 16 << 10
_LARGE_STATE = 1 << 20
_LARGE_PACKED = 128 << 10

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Memory)


def encode_memory(memory: Memory) -> bytes:
    """The state, still to be packed."""
    return _encoder.encode(memory)


def freeze_memory(run: Run) -> bytes:
    """The state of a run that a leg works on, as it is now; the run stays as it is."""
    return encode_memory(memory_of(run))


async def pack_state(state: bytes) -> bytes:
    """Compresses it, in a thread if it holds large arguments or results: that can take a second."""
    if len(state) <= _LARGE_STATE:
        return compress_state(state)
    return await call_in_thread("pack", partial(compress_state, state))


def compress_state(state: bytes) -> bytes:
    return zlib.compress(state, 6 if len(state) <= _WORTH_THE_TIME else 1)


async def open_memory(state: bytes) -> Memory:
    """Decodes what `pack_state` made, in a thread if it is large."""
    if len(state) <= _LARGE_PACKED:
        return decode_memory(state)
    return await call_in_thread("unpack", partial(decode_memory, state))


def decode_memory(state: bytes) -> Memory:
    return _decoder.decode(zlib.decompress(state))


def read_memory(state: bytes) -> Memory | None:
    """Decodes a state that another version may have written; None if it has another shape."""
    try:
        return decode_memory(state)
    except (msgspec.MsgspecError, zlib.error):
        return None
