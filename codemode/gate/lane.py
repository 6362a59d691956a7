"""Large steps of work in the event loop, one at a time and fair between sessions.

Decoding holds the interpreter, so a thread would hold up the loop as well. Instead each step has a bound, and
after each the loop has as much time for everything else as the step took: whatever programs send, half of the
loop is left for others, and no turn of it is longer than one step.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

from codemode_runtime.parts import Text, most_parts

from codemode.gate.fair_queue import FairQueue

T = TypeVar("T")

# What is less takes no longer to decode than the other things that a call costs.
LARGE_BYTES = 256 << 10
LARGE_PARTS = 2_000


def is_large(json: Text) -> bool:
    """Whether decoding it is a step for the lane."""
    return len(json) > LARGE_PARTS and (len(json) > LARGE_BYTES or most_parts(json) > LARGE_PARTS)


class Lane:
    """One per event loop."""

    def __init__(self) -> None:
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()
        self._is_taken = False
        self.steps = 0

    async def run(self, work: Callable[[], T], session: str = "") -> T:
        """Calls `work` when it is this session's turn; at once if nothing large was done just before."""
        if self._is_taken:
            await self._queue_up(session)
        self._is_taken = True
        self.steps += 1
        collects = gc.isenabled()
        gc.disable()  # a collection in the middle of a large step would make it several times as long
        began = time.perf_counter()
        try:
            return work()
        finally:
            if collects:
                gc.enable()
            asyncio.get_running_loop().call_later(time.perf_counter() - began, self._next)

    async def _queue_up(self, session: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.push(session, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._next()  # it was given the turn just as it gave up
            else:
                self._waiting.discard(session, turn)
            raise

    def _next(self) -> None:
        while self._waiting:
            turn = self._waiting.pop()
            if not turn.done():
                turn.set_result(None)
                return
        self._is_taken = False


_lanes: WeakKeyDictionary[asyncio.AbstractEventLoop, Lane] = WeakKeyDictionary()


def lane() -> Lane:
    """The lane of the running loop."""
    loop = asyncio.get_running_loop()
    found = _lanes.get(loop)
    if found is None:
        found = _lanes[loop] = Lane()
    return found
