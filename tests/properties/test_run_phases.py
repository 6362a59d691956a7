"""Walks through the phases of a run: every order of calls ends in a phase the table allows, or is refused and
changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from codemode_runtime.shapes import Settlement
from codemode_snapshots import RunScope
from hypothesis import given
from hypothesis import strategies as st

from codemode.catalog import Catalog
from codemode.contract.telemetry import CallEnd
from codemode.executor import Executor
from codemode.runs.environment import Environment
from codemode.runs.frozen import Memory, compress_state, decode_memory
from codemode.runs.meter import Tally
from codemode.runs.phases import ENDS, NEXT, Adoptable, Ended, Origin, Running, RunState, Suspended
from codemode.runs.run import Run
from codemode.runs.work import Work
from codemode.trajectory import Recording, Trace

SCOPE = RunScope("main", "s", "-", "-")


class Walker:
    """A run, and the steps that anybody in the engine may take with it."""

    def __init__(self, is_adopted: bool) -> None:
        self.tally = Tally()
        catalog = Catalog(())
        environment = Environment(catalog, Executor(catalog))
        origin = Origin(provider="p", allow=("a",))
        self.run = Run.started(SCOPE, environment, origin, self.tally)
        self.run.set_program("return 1", "typescript")
        self.memory: Memory = decode_memory(compress_state(self._frozen(environment)))
        self.settled = 0
        if is_adopted:
            trace = Trace("run_1", Recording())
            self.run = Run.adopted("run_1", SCOPE, environment, (), 7, trace)

    def _frozen(self, environment: Environment) -> bytes:
        other = Run.started(SCOPE, environment, Origin(provider="p", allow=("a",)), self.tally)
        other.set_program("return 1", "typescript")
        self._begin(other, 1)
        return other.freeze()

    def _begin(self, run: Run, number: int) -> None:
        run.active.meter.start_call(str(number), tool="", name="t", method="call", bytes_in=0)
        run.in_flight.add(Work(number, "call", 0))

    # ---- steps: each is legal in some phases, and raises in all others -------------------------------------

    def freeze(self) -> None:
        self.run.freeze()

    def stored(self) -> None:
        assert self.run.is_suspended and not self.run.is_stored  # noqa: PT018 - one condition
        self.run.stored(10, 20, "build")

    def unfreeze(self) -> None:
        assert self.run.is_suspended and not self.run.is_stored  # noqa: PT018 - one condition
        self.run.unfreeze()

    def take_over(self) -> None:
        assert self.run.is_unopened
        self.run.take_over(self.memory, self.tally)

    def resume(self) -> None:
        memory = None if self.run.is_adoptable and not self.run.is_unopened else self.memory
        assert self.run.is_stored or self.run.is_adoptable
        self.run.resume(memory, self.tally)

    def let_go(self) -> None:
        self.run.let_go()

    def complete(self) -> None:
        self.run.end(RunState.COMPLETED)

    def fail(self) -> None:
        self.run.end(RunState.FAILED)

    def expire(self) -> None:
        self.run.end(RunState.EXPIRED)

    def abort(self) -> None:
        self.run.end(RunState.ABORTED)


STEPS = [
    "freeze", "stored", "unfreeze", "take_over", "resume", "let_go", "complete", "fail", "expire", "abort",
]  # fmt: skip


@given(is_adopted=st.booleans(), steps=st.lists(st.sampled_from(STEPS), max_size=25))
def test_every_walk_keeps_to_the_table(is_adopted: bool, steps: list[str]) -> None:
    walker = Walker(is_adopted)
    run = walker.run
    for step in steps:
        before, state = type(run.phase), run.state
        action: Callable[[], None] = getattr(walker, step)
        try:
            action()
        except (RuntimeError, AssertionError):
            assert (type(run.phase), run.state) == (before, state)
            continue
        after = type(run.phase)
        assert after is before or after in NEXT[before]
        if isinstance(run.phase, Ended):
            assert run.phase.how in ENDS[before]
        check(run)


def check(run: Run) -> None:
    """What is always true of a run in its phase."""
    match run.phase:
        case Running():
            assert run.state is RunState.RUNNING
            assert run.active.program == "return 1"
        case Suspended(is_stored=is_stored):
            assert run.state is RunState.WAITING
            assert (run.meter is None) == is_stored
            assert not is_stored or run.claim is None
        case Adoptable():
            assert run.state is RunState.WAITING
            assert run.is_unopened == (run.meter is None)
        case Ended(how=how):
            assert run.has_ended
            assert run.state is how


def test_nothing_follows_an_end() -> None:
    for how in ENDS[Running]:
        walker = Walker(is_adopted=False)
        walker.run.end(how)
        for step in ("freeze", "let_go", "complete", "fail", "expire", "abort"):
            with pytest.raises((RuntimeError, AssertionError)):
                getattr(walker, step)()
        assert walker.run.state is how


def test_what_finishes_while_a_run_is_suspended_is_in_its_ledger_when_it_goes_on() -> None:
    walker = Walker(is_adopted=False)
    run = walker.run
    walker._begin(run, 1)  # pyright: ignore[reportPrivateUsage] - of this test
    state = compress_state(run.freeze())
    assert [call.call_id for call in run.in_flight.stored_calls()] == ["1"]
    run.stored(10, 20, "build")

    run.note_finished(CallEnd("1", "ok", 5.0, 3))
    run.settle(Settlement(1, b"null"))
    assert run.in_flight.unrecorded == [Settlement(1, b"null")]
    looked = run.look(decode_memory(state), Tally())
    run.resume(decode_memory(state), walker.tally)

    (call,) = run.active.meter.calls
    assert (call.status, call.ms, call.bytes_out) == ("ok", 5.0, 3)
    assert looked.calls == run.active.meter.calls
    assert [settlement.id for settlement in run.in_flight.take_settled()] == [1]
    assert run.origin.provider == "p"


def test_a_run_that_was_taken_over_runs_for_whom_its_snapshot_says() -> None:
    walker = Walker(is_adopted=True)
    walker.take_over()
    assert (walker.run.origin.provider, walker.run.origin.allow) == ("p", ("a",))
    assert list(walker.run.in_flight.pending) == [1]
    walker.let_go()
    assert walker.run.is_unopened
