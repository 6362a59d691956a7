"""Which legs hold a worker only to wait, and which of them are asked to let go of it. Pure but for its timer.

A leg whose guest is idle says so. When other legs queue for a worker, those that have been idle for longest
are asked first, one for each leg that queues. A leg that has waited for a moment only is not asked yet: most
tools answer sooner than a guest is captured and restored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

# A guest that is captured, and restored in a fresh worker, costs about as much as this many seconds of a
# processor; a leg that waits for less keeps its worker.
PATIENCE_SECONDS = 0.01


class IdleLeg:
    """One leg that waits with its worker. Use it as `with`; `is_asked` says whether to let go of the worker.

    It wakes the leg by the function it was made with.
    """

    __slots__ = ("_idlers", "_wake", "is_asked", "session", "since")

    def __init__(self, idlers: Idlers, session: str, wake: Callable[[], None]) -> None:
        self._idlers = idlers
        self._wake = wake
        self.session = session
        self.since = 0.0
        self.is_asked = False

    def __enter__(self) -> IdleLeg:
        self._idlers.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._idlers.remove(self)

    def ask(self) -> None:
        self.is_asked = True
        self._wake()


class Idlers:
    """All legs that wait with a worker; one per supervisor. `is_wanted` says whether a leg that queues could
    have the place of a session, `queued` how many legs queue."""

    def __init__(self, is_wanted: Callable[[str], bool], queued: Callable[[], int]) -> None:
        self._is_wanted = is_wanted
        self._queued = queued
        self._idle: dict[IdleLeg, None] = {}  # the one that is idle for longest comes first
        self._letting_go = 0  # asked, and not released yet
        self._timer: asyncio.TimerHandle | None = None

    def add(self, idle: IdleLeg) -> None:
        idle.since = asyncio.get_running_loop().time()
        self._idle[idle] = None
        if self._queued():
            self.look()

    def remove(self, idle: IdleLeg) -> None:
        self._idle.pop(idle, None)

    def look(self) -> None:
        """Call when a leg has begun to queue: asks as many idle legs as others wait for."""
        now = asyncio.get_running_loop().time()
        needed = self._queued() - self._letting_go
        for idle in list(self._idle):
            if needed <= 0:
                return
            if now - idle.since < PATIENCE_SECONDS:
                self._look_again(idle.since + PATIENCE_SECONDS)
                return
            if self._is_wanted(idle.session):
                del self._idle[idle]
                self._letting_go += 1
                needed -= 1
                idle.ask()

    def let_go(self) -> None:
        """A leg that was asked has released its worker, or could not."""
        self._letting_go -= 1

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look_again(self, at: float) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_at(at, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._queued():
            self.look()
