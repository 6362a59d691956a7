"""Busy-waiting for a worker's answer that comes at once.

Waking a process takes tens of microseconds, and it then runs from cold caches: together that costs more than
a quick exchange with a guest. So while one guest computes, and as long as it pays, the task that waits for
the answer looks for it at each turn of the event loop, for a moment; everything else on the loop goes on. The
worker does the same at its end (codemode_runtime/line.py).

That needs one processor for the host and one for the worker, but Linux tends to wake a process on the
processor of the one that wrote to it. So a sleeping worker is kept off this processor while it is woken.
Afterwards it may run anywhere again, and stays where it is as long as neither of the two sleeps. Numbers and
alternatives: docs/decisions/0004.
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

# Longer for the first answer of a leg: the worker compiles a program and runs it, or restores a snapshot.
_OPENING_SECONDS = 1e-3
# The worker began to look before its answer arrived here, so only this part of its time surely remains.
_SURE = 0.5

# All that compute for this process, of any engine: while two compute there is no processor to spare.
_computing: set[object] = set()  # weak references: a BusyWait that was dropped computes no more


class Processors:
    """Tells which processor this process runs on, and has workers woken on another."""

    def __init__(self) -> None:
        self._own: Callable[[], int] | None = None
        self._kept_away: dict[int, set[int]] = {}  # by process id: where that process may run normally

    async def find(self) -> None:
        """Enables busy-waiting, on Linux with several processors. Without it every wait sleeps."""
        if sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1:
            import ctypes  # a few milliseconds, spent while the first zygote starts

            self._own = getattr(ctypes.CDLL(None), "sched_getcpu", None)

    @property
    def are_known(self) -> bool:
        return self._own is not None

    def wake_elsewhere(self, pid: int, wake: Callable[[], None]) -> bool:
        """Calls `wake`, which wakes that process; False if the process may have woken on this processor."""
        assert self._own is not None
        is_elsewhere = False
        try:
            allowed = self._kept_away.get(pid) or os.sched_getaffinity(pid)
            others = allowed - {self._own()}
            if others:
                os.sched_setaffinity(pid, others)
                is_elsewhere = True
                if pid not in self._kept_away:  # call_soon gives them back later, off the critical path
                    self._kept_away[pid] = allowed
                    asyncio.get_running_loop().call_soon(self._let_back, pid)
        except ProcessLookupError:
            pass  # the process is gone; its socket will say so
        except OSError:
            self._own = None  # this system does not let us choose where a process runs
        wake()
        return is_elsewhere

    def _let_back(self, pid: int) -> None:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(pid, self._kept_away.pop(pid))


class BusyWait:
    """Decides when to busy-wait; one per worker. One request at a time, from `begin` to `end`."""

    def __init__(self, processors: Processors) -> None:
        self._processors = processors
        self._mark = weakref.ref(self, _computing.discard)
        self._is_kept = False
        self._began = 0.0
        self._patience = 0.0
        self._is_quick = False  # the last answer came in time
        self._is_apart = False  # the worker was woken on another processor
        self._looks_until = 0.0  # until then the worker surely does not sleep

    def wake(self, send: Callable[[], None], pid: int | None) -> None:
        """Wakes the worker for a request that follows at once; sends nothing where that cannot help."""
        if pid is not None and self._processors.are_known and not _computing:
            self._is_apart = self._processors.wake_elsewhere(pid, send)
            self._looks_until = time.perf_counter() + LOOK_SECONDS * _SURE

    @property
    def should_spin(self) -> bool:
        """While True, look for the answer, let the loop turn once, and ask again."""
        return self._is_kept and time.perf_counter() - self._began < self._patience

    def begin(self, send: Callable[[], None], pid: int | None, *, opens: bool) -> None:
        """Sends the request. `opens`: it is the first of a leg."""
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
        """The worker has answered, or never will."""
        self._is_kept = False
        _computing.discard(self._mark)
        now = time.perf_counter()
        self._is_quick = now - self._began < self._patience
        self._looks_until = now + LOOK_SECONDS * _SURE
