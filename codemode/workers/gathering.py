"""Puts an outcome together whose batch was too large for the head of its frame.

Everything a worker says is untrusted: lengths are compared before anything is decoded, and chunks are decoded
one at a time, each in its own turn of the lane, so that none holds up the loop for long.
"""

from __future__ import annotations

import asyncio
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

OUTCOMES = (
    wire.Idle, wire.Done, wire.Threw, wire.Stopped, wire.Interrupted, wire.Refused, wire.RestoreRefused,
)  # fmt: skip
CHECKED = (wire.Checked, wire.Refused, wire.Interrupted)
# After these the guest, and with it the worker, is not trusted with another leg.
SUSPECT = (wire.Stopped, wire.Interrupted)
OVERDUE = wire.Interrupted[wire.GuestMessages](())


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


def fail(reply: asyncio.Future[tuple[wire.FromWorker, Data]], error: Exception) -> None:
    reply.set_exception(error)
    reply.exception()  # asyncio complains if no task does: it was cancelled, or the lease has ended
