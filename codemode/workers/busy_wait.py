"""Waiting awake for a worker's answer that comes at once.

To be woken costs a process tens of microseconds, and what it does next runs from cold caches: together that
is more than a quick exchange with a guest. So while one guest computes, and as long as that pays, whoever
waits for the answer looks for it at each turn of the event loop, for a moment; everything else on the loop
goes on as ever. The worker does the same at its end (codemode_runtime/line.py).

That needs a processor for each, and Linux likes to wake whom one writes to on one's own. So a worker that
sleeps is kept away from this processor while it is woken; afterwards it may go anywhere again, but stays
where it is as long as neither of the two sleeps. Numbers and alternatives: docs/decisions/0004.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
import weakref
from collections.abc import Callable

from codemode_runtime.line import LOOK_SECONDS

# For the first answer of a leg: a program is compiled and run, or a snapshot restored.
_OPENING_SECONDS = 1e-3
# A worker has been looking for longer than its answer has been here.
_SURE = 0.5

# In this process, whichever engine is theirs: with two of them there is no processor to spare.
_computing: set[object] = set()  # weak references: one that is dropped computes no more


class Processors:
    """Which one this is, and how to have a worker woken on another."""

    def __init__(self) -> None:
        self._own: Callable[[], int] | None = None
        self._kept_away: dict[int, set[int]] = {}  # from where they may run: by process id

    async def find(self) -> None:
        """Until this is called, and where there is one processor or nothing tells which, everybody sleeps."""
        if sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1:
            import ctypes  # a few milliseconds, spent while the first zygote starts

            self._own = getattr(ctypes.CDLL(None), "sched_getcpu", None)

    @property
    def are_known(self) -> bool:
        return self._own is not None

    def wake_elsewhere(self, pid: int, wake: Callable[[], None]) -> bool:
        """Calls `wake`, which wakes that process; False if that may have been on this processor."""
        assert self._own is not None
        is_elsewhere = False
        try:
            allowed = self._kept_away.get(pid) or os.sched_getaffinity(pid)
            others = allowed - {self._own()}
            if others:
                os.sched_setaffinity(pid, others)
                is_elsewhere = True
                if pid not in self._kept_away:  # it gets them back when nobody waits for that
                    self._kept_away[pid] = allowed
                    asyncio.get_running_loop().call_soon(self._let_back, pid)
        except ProcessLookupError:
            pass  # it is gone, as its socket will tell
        except OSError:
            self._own = None  # nobody may say here where a process runs
        wake()
        return is_elsewhere

    def _let_back(self, pid: int) -> None:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(pid, self._kept_away.pop(pid))


class BusyWait:
    """Over one worker: one request at a time, from `begin` to `end`."""

    def __init__(self, processors: Processors) -> None:
        self._processors = processors
        self._mark = weakref.ref(self, _computing.discard)
        self._is_kept = False
        self._began = 0.0
        self._patience = 0.0
        self._is_quick = False  # as the last answer was
        self._is_apart = False  # was woken elsewhere
        self._looks_until = 0.0  # before that it surely does not sleep

    def wake(self, send: Callable[[], None], pid: int | None) -> None:
        """Sends what makes the worker look for a request that will follow at once, if that can help."""
        if pid is not None and self._processors.are_known and not _computing:
            self._is_apart = self._processors.wake_elsewhere(pid, send)
            self._looks_until = time.perf_counter() + LOOK_SECONDS * _SURE

    @property
    def should_spin(self) -> bool:
        """The answer may come at once: look for it, turn the loop, and ask again."""
        return self._is_kept and time.perf_counter() - self._began < self._patience

    def begin(self, send: Callable[[], None], pid: int | None, *, opens: bool) -> None:
        """Sends. `opens`: it is the first request of a leg."""
        self._began = time.perf_counter()
        self._patience = _OPENING_SECONDS if opens else LOOK_SECONDS
        looks = self._began < self._looks_until
        pays = (opens or (looks and self._is_quick)) and not _computing
        _computing.add(self._mark)
        if pid is None or not pays or not self._processors.are_known:
            self._is_apart = False
            send()
            return
        if looks and self._is_apart:
            send()
        else:
            self._is_apart = self._processors.wake_elsewhere(pid, send)
        self._is_kept = self._is_apart

    def end(self) -> None:
        """It has answered, or will not."""
        self._is_kept = False
        _computing.discard(self._mark)
        now = time.perf_counter()
        self._is_quick = now - self._began < self._patience
        self._looks_until = now + LOOK_SECONDS * _SURE
