"""Puts an outcome together whose batch was too large for the head of its frame.

Everything a worker says is untrusted: lengths are compared before anything is decoded, and chunks are decoded
one at a time, each in its own turn of the lane, so that none holds up the loop for long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from codemode_runtime import batches, wire
from codemode_runtime.frames import Data, FrameRefused
from codemode_runtime.shapes import Limits
from msgspec.structs import replace

from codemode.gate.lane import lane

# What a value lost and how a program failed, which is told beside its output; and the lengths of chunks.
_END_BYTES = 4 << 20
_ENDS: dict[type, tuple[str, Callable[[memoryview], object]]] = {
    wire.Done: ("result", wire.decode_result),
    wire.Threw: ("failure", wire.decode_failure),
}


def largest_batch(limits: Limits) -> int:
    """Bytes that a guest sends at once at most, its result included."""
    return batches.MAX_MESSAGE_BYTES + limits.output_bytes + _END_BYTES


async def gather(outcome: wire.Outcome, tail: Data, session: str) -> wire.Outcome:
    """The outcome with what its frame's tail holds. Raises FrameRefused."""
    if isinstance(outcome, wire.Refused | wire.RestoreRefused):
        raise FrameRefused("chunks came with a refusal")
    chunks = batches.unpack(tail, outcome.chunks + outcome.apart)
    messages, own = list(outcome.messages), dict[str, Any]()
    for chunk in chunks[: outcome.chunks]:
        messages += await lane().run(partial(wire.decode_chunk, chunk), session)
        if len(messages) > batches.MAX_MESSAGES:
            raise FrameRefused("the program sent more messages at once than it may")
    if outcome.apart:
        field, decode = _ENDS.get(type(outcome), ("", None))
        if decode is None:
            raise FrameRefused("the program has not ended")
        own[field] = await lane().run(partial(decode, chunks[-1]), session)
    return replace(outcome, messages=tuple(messages), **own)


def output_of(outcome: wire.Outcome) -> tuple[int, int]:
    """Bytes of the output as JSON, final value included, and number of items: as the guest counts them, which
    ends a program that makes too much. What is more comes from a lying worker."""
    if isinstance(outcome, wire.Refused | wire.RestoreRefused):
        return 0, 0
    size = len(outcome.result.value) if isinstance(outcome, wire.Done) else 0
    items = 0
    for message in outcome.messages:
        if isinstance(message, wire.GuestOutput):
            size += len(wire.encode(message))
            items += 1
    return size, items
