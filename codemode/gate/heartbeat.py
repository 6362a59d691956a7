"""Notices when the event loop is late, and lets no deadline be judged while it was.

A loop that was held up has not read its sockets: the answer that a deadline waits for may lie there. So an
Alarm that rings late, or after the loop was late, first gives the loop the time that it lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

BEAT_SECONDS = 0.1
LATE_SECONDS = 0.05  # a loop that is less late than this is on time

OnLate = Callable[[float], None]


class Heartbeat:
    """Beats in one event loop, for all engines there. `lost` is the seconds by which it was late, in all."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._listeners: list[OnLate] = []
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self.lost = 0.0
        self.last = 0.0  # how late the last beat was

    def join(self, on_late: OnLate) -> None:
        """Beats from now on; `on_late` is told how late the loop was, in seconds."""
        self._listeners.append(on_late)
        if self._timer is None:
            self._set()

    def leave(self, on_late: OnLate) -> None:
        """The heart stops when nobody listens. Does nothing for one who has not joined."""
        if on_late in self._listeners:
            self._listeners.remove(on_late)
        if not self._listeners and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self) -> None:
        self._due = self._loop.time() + BEAT_SECONDS
        self._timer = self._loop.call_at(self._due, self._beat)

    def _beat(self) -> None:
        self.last = max(0.0, self._loop.time() - self._due)
        if self.last > LATE_SECONDS:
            self.lost += self.last
            for listener in list(self._listeners):
                listener(self.last)
        if self._listeners:
            self._set()


_beating: WeakKeyDictionary[asyncio.AbstractEventLoop, Heartbeat] = WeakKeyDictionary()


def heartbeat() -> Heartbeat:
    """The heartbeat of the running loop; it beats while somebody has joined."""
    loop = asyncio.get_running_loop()
    found = _beating.get(loop)
    if found is None:
        found = _beating[loop] = Heartbeat(loop)
    return found


class Alarm:
    """Calls back after some seconds in which the loop was on time."""

    __slots__ = ("_callback", "_handle", "_heart", "_loop", "_lost")

    def __init__(self, seconds: float, callback: Callable[[], object]) -> None:
        self._heart = heartbeat()
        self._loop = asyncio.get_running_loop()
        self._callback = callback
        self._set(seconds)

    def cancel(self) -> None:
        self._handle.cancel()

    def _set(self, seconds: float) -> None:
        self._lost = self._heart.lost
        self._handle = self._loop.call_later(max(0.0, seconds), self._ring)

    def _ring(self) -> None:
        late = max(self._heart.lost - self._lost, self._loop.time() - self._handle.when())
        if late > LATE_SECONDS:
            self._set(late)
        else:
            self._callback()


@asynccontextmanager
async def within(seconds: float) -> AsyncGenerator[None]:
    """As `asyncio.timeout` does it, but time that the loop lost does not count. Raises TimeoutError."""
    async with asyncio.timeout(None) as limit:
        alarm = Alarm(seconds, lambda: limit.reschedule(asyncio.get_running_loop().time()))
        try:
            yield
        finally:
            alarm.cancel()
