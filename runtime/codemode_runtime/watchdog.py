"""The worker's deadline: a thread that stops a guest that computes past the end of its budget.

QuickJS looks at a flag in every loop and call, so raising it is nearly always enough, and everything the
program sent can still be read. A few native loops never poll (arithmetic of huge BigInts); for those the
thread answers in the worker's place and ends the process.

A leg does not wake the thread when it begins: that cost 0.3 ms, more than most legs take. The thread sleeps
on the clock of processor time that the process has used, which stands still while nothing computes.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import NoReturn, Protocol

# From the flag to the end of the process. Polls are microseconds apart; a busy machine needs this long.
PATIENCE_SECONDS = 0.015
# How much a guest may compute before the thread takes notice; far below the shortest budget.
NOTICE_SECONDS = 0.010
# Longest sleep while a guest computes: a leg may end, and another begin with an earlier deadline.
LOOK_SECONDS = 0.020
STACK_BYTES = 512 << 10
_CLOCK_PROCESS_CPUTIME_ID = 2


class Interruptible(Protocol):
    def interrupt(self) -> None: ...
    def read_messages(self) -> bytes: ...


class Watchdog:
    """Arm it once per leg; `enter` and `leave` enclose each stretch of computing.

    `on_overdue` runs in the thread while the computing thread cannot leave: it must end the process.
    """

    def __init__(self, on_overdue: Callable[[Interruptible | None], NoReturn]) -> None:
        self._on_overdue = on_overdue
        self._lock = threading.Lock()
        self._deadline: float | None = None
        self._stretch = 0
        self._computing = False
        self._guest: Interruptible | None = None

    def start(self) -> None:
        """Call before confinement: no thread can be started after it."""
        previous = threading.stack_size(STACK_BYTES)
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()
        threading.stack_size(previous)

    def arm(self, deadline: float | None) -> None:
        """`deadline` is a time of time.monotonic(); None means no deadline."""
        with self._lock:
            self._deadline = deadline

    def enter(self, guest: Interruptible | None) -> None:
        """`guest` is None for computing that cannot be interrupted."""
        with self._lock:
            self._computing, self._guest = True, guest
            self._stretch += 1

    def leave(self) -> None:
        """Afterwards the guest may be closed: the thread no longer touches it."""
        with self._lock:
            self._computing, self._guest = False, None

    def _watch(self) -> None:
        while True:
            left = self._time_left()
            if left is None:
                _sleep_while_idle(NOTICE_SECONDS)
            elif left > 0:
                time.sleep(min(left, LOOK_SECONDS))
            else:
                self._stop()

    def _time_left(self) -> float | None:
        """The time left to the guest that computes; None while nothing computes."""
        with self._lock:
            if self._deadline is None or not self._computing:
                return None
            return self._deadline - time.monotonic()

    def _stop(self) -> None:
        with self._lock:
            stretch = self._stretch
            if self._guest is not None:
                self._guest.interrupt()
        time.sleep(PATIENCE_SECONDS)
        with self._lock:
            if self._computing and self._stretch == stretch:
                self._on_overdue(self._guest)


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


_clock_nanosleep = getattr(ctypes.CDLL(None), "clock_nanosleep", None)


def _sleep_while_idle(seconds: float) -> None:
    """Sleeps until this process has computed for `seconds`; without such a clock, for `seconds`."""
    span = _Timespec(0, int(seconds * 1e9))
    if _clock_nanosleep is None or _clock_nanosleep(_CLOCK_PROCESS_CPUTIME_ID, 0, ctypes.byref(span), None):
        time.sleep(seconds)
