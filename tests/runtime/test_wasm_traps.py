"""A call that traps ends its own guest and no other of the process, whatever a signal does in between."""

import signal
import threading

import pytest
from codemode_runtime.guest import Guest
from codemode_runtime.shapes import Limits, Settlement
from codemode_runtime.wire import Done, Idle, Stopped

from tests.harness.guests import new_guest

SMALL = Limits(memory_bytes=64 << 20)
FILLS = "text('begun'); const held = []; for (;;) held.push('x'.repeat(1e5) + held.length)"


class Alarm(Exception):
    """What the signal handler raises, as a timeout of a test or Ctrl-C does."""


@pytest.fixture
def alarm():
    def ring(_signal: int, _frame: object) -> None:
        raise Alarm

    before = signal.signal(signal.SIGUSR1, ring)
    yield
    signal.signal(signal.SIGUSR1, before)


def ring_when_begun(guest: Guest) -> threading.Thread:
    """The signal comes while the guest computes; Python handles it when the call is back, with its trap."""
    main = threading.main_thread().ident
    assert main is not None

    def ring() -> None:
        while b"begun" not in guest.read_messages():
            pass
        signal.pthread_kill(main, signal.SIGUSR1)

    thread = threading.Thread(target=ring)
    thread.start()
    return thread


@pytest.mark.usefixtures("alarm")
def test_a_trap_that_a_signal_hid_is_not_taken_for_one_of_the_next_guest() -> None:
    paused = new_guest()
    assert isinstance(paused.start("return 1 + await tools.call('t')"), Idle)
    delta = paused.capture()
    paused.close()

    filling = new_guest(SMALL)
    thread = ring_when_begun(filling)
    with pytest.raises(Alarm):
        filling.start(FILLS)
    thread.join()
    filling.close()

    copy = new_guest()
    copy.restore(delta, Limits())  # was refused: "its patch is damaged"
    done = copy.deliver([Settlement(1, b"2")])
    copy.close()
    assert isinstance(done, Done)
    assert done.result == b'{"value":3,"lossy":[]}'


def test_a_guest_that_traps_is_stopped_and_the_next_one_runs() -> None:
    filling = new_guest(SMALL)
    assert isinstance(filling.start(FILLS), Stopped)
    filling.close()
    fresh = new_guest()
    assert isinstance(fresh.start("return 1"), Done)
    fresh.close()
