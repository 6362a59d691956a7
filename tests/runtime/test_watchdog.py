"""The watchdog by itself: when it interrupts, when it gives up, and when it leaves a guest alone."""

from __future__ import annotations

import threading
import time
from typing import NoReturn

from codemode_runtime.watchdog import Interruptible, Watchdog

from tests.harness.patience import PATIENCE_SECONDS


class Guest:
    """Computes until it is interrupted, if it listens."""

    def __init__(self) -> None:
        self.interrupted = threading.Event()

    def interrupt(self) -> None:
        self.interrupted.set()

    def read_messages(self) -> bytes:
        return b"[]"


class Overdue:
    """Takes the place of the worker's last words and its end; here only the thread comes to rest."""

    def __init__(self) -> None:
        self.guests: list[Interruptible | None] = []
        self.happened = threading.Event()

    def __call__(self, guest: Interruptible | None) -> NoReturn:
        self.guests.append(guest)
        self.happened.set()
        while True:
            threading.Event().wait()


def computes_until(event: threading.Event) -> bool:
    """Uses the processor, which is what the watchdog goes by. Bounded; whether it happened."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not event.is_set() and time.monotonic() < end:
        pass
    return event.is_set()


def armed(overdue: Overdue, seconds: float) -> Watchdog:
    watchdog = Watchdog(overdue)
    watchdog.start()
    watchdog.arm(time.monotonic() + seconds)
    return watchdog


def test_a_guest_that_computes_at_the_deadline_is_interrupted() -> None:
    overdue, guest = Overdue(), Guest()
    watchdog = armed(overdue, 0.01)
    watchdog.enter(guest)
    assert computes_until(guest.interrupted)


def test_a_guest_that_does_not_listen_is_overdue() -> None:
    overdue, guest = Overdue(), Guest()
    watchdog = armed(overdue, 0.01)
    watchdog.enter(guest)
    assert computes_until(overdue.happened)
    assert overdue.guests == [guest]


def test_what_cannot_be_interrupted_is_overdue_without_a_guest() -> None:
    overdue = Overdue()
    watchdog = armed(overdue, 0.01)
    watchdog.enter(None)
    assert computes_until(overdue.happened)
    assert overdue.guests == [None]


def test_a_guest_that_stopped_in_time_is_left_alone() -> None:
    overdue, early, late = Overdue(), Guest(), Guest()
    watchdog = armed(overdue, 3600)
    watchdog.enter(early)
    watchdog.leave()
    watchdog.arm(time.monotonic())
    watchdog.enter(late)
    assert computes_until(late.interrupted)
    assert not early.interrupted.is_set()


def test_a_stretch_that_begins_after_the_deadline_is_interrupted_too() -> None:
    overdue, guest = Overdue(), Guest()
    watchdog = armed(overdue, 0)
    watchdog.enter(guest)
    assert computes_until(guest.interrupted)


def test_a_disarmed_watchdog_watches_the_next_leg_only() -> None:
    overdue, idle, guest = Overdue(), Guest(), Guest()
    watchdog = armed(overdue, 3600)
    watchdog.arm(None)
    watchdog.enter(idle)
    watchdog.leave()
    watchdog.arm(time.monotonic())
    watchdog.enter(guest)
    assert computes_until(guest.interrupted)
    assert not idle.interrupted.is_set()
