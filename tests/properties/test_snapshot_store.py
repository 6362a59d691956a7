"""A store equals a dict: the same random life on both, with the file reopened or crashed in between.

A crash is the file and its WAL copied away while the store is open, as a kill -9 leaves them; real kills are
in tests/snapshots/test_sqlite_processes.py.
"""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from codemode_snapshots import (
    Claim,
    Claimed,
    Ending,
    Hold,
    Label,
    MemoryStore,
    NodeInfo,
    NotClaimed,
    NotHeld,
    Pending,
    RunScope,
    RunStore,
    Snapshot,
    StoreFull,
    StoreLimits,
    Totals,
    View,
)
from codemode_snapshots.bounds import is_past
from codemode_snapshots.sqlite import SqliteStore
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from codemode.config import load_config

LIMITS = StoreLimits(max_snapshot_bytes=50, max_snapshots=2, max_total_bytes=100, stuck_claim_ms=90_000_000)
SCOPE = RunScope("agent", "session", "turn", "call")
BUILD = "build"
RUN_IDS = ("r1", "r2", "r3")  # few, so that rules meet on the same run
run_ids = st.sampled_from(RUN_IDS)
nodes = st.sampled_from("ab")
bodies = st.binary(max_size=20) | st.binary(max_size=60)


@dataclass(slots=True)
class Known:
    """What the model knows of a call: who holds it, under which take, and what became of it."""

    held_by: str
    take: int = 1
    outcome: bytes | None = None


@dataclass(slots=True)
class Held:
    """What the model knows of one live run."""

    snapshot: Snapshot
    number: int = 0
    claim: Claim | None = None
    is_touched: bool = False
    calls: dict[str, Known] = field(default_factory=dict[str, Known])
    order: list[str] = field(default_factory=list[str])

    def size(self) -> int:
        return self.snapshot.size_bytes + sum(len(call.outcome or b"") for call in self.calls.values())


class StoreMachine(RuleBasedStateMachine):
    durable: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.copies = self.joined = 0
        self.now = 10_000
        self.store: RunStore = self._opened() if self.durable else MemoryStore(LIMITS, lambda: self.now)
        self.runs: dict[str, Held] = {}
        self.ended: dict[str, str] = {}
        self.claims: list[Claim] = []
        self.alive: dict[str, str] = {}  # the present names of two nodes
        for letter in "ab":
            self._join(letter)

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.directory)

    # --- rules

    @rule(run_id=run_ids, letter=nodes, delta=bodies, count=st.integers(0, 2))
    def save_new(self, run_id: str, letter: str, delta: bytes, count: int) -> None:
        snapshot, name = self._snapshot(run_id, delta), self.alive[letter]
        expected: type[Exception] | None = None
        if run_id in self.runs or run_id in self.ended:
            expected = NotHeld
        elif len(delta) > 50 or len(self.runs) == 2 or self._bytes() + len(delta) > 100:
            expected = StoreFull
        assert self._refusal(snapshot, count, name, None) == expected
        if expected is None:
            calls = {str(number): Known(name) for number in range(count)}
            self.runs[run_id] = Held(snapshot, calls=calls)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), letter=nodes, delta=bodies, count=st.integers(0, 2))
    def save_with_a_claim_old_or_new(
        self, data: st.DataObject, letter: str, delta: bytes, count: int
    ) -> None:
        claim = data.draw(st.sampled_from(self.claims[-2:]))
        snapshot, name = self._snapshot(claim.run_id, delta), self.alive[letter]
        run = self.runs.get(claim.run_id)
        if run is None or not self._is_held(run, claim):
            assert self._refusal(snapshot, count, name, claim) is NotHeld
            return
        kept = {key: call for key, call in run.calls.items() if int(key) < count}
        replaced = run.size() - sum(len(call.outcome or b"") for call in kept.values())
        is_full = self._bytes() - replaced + len(delta) > 100 and len(delta) > replaced
        expected = StoreFull if len(delta) > 50 or is_full else None
        assert self._refusal(snapshot, count, name, claim) == expected
        if expected is None:
            run.snapshot, run.claim, run.is_touched = snapshot, None, False
            run.calls = {str(number): kept.get(str(number), Known(name)) for number in range(count)}
            run.order = [key for key in run.order if key in run.calls]

    @rule(run_id=run_ids, letter=nodes)
    def claim(self, run_id: str, letter: str) -> None:
        name, run = self.alive[letter], self.runs.get(run_id)
        outcome = self.store.claim(run_id, SCOPE, (BUILD,), name)
        if run is None:
            told = outcome.how if isinstance(outcome, Ending) else outcome
            assert told == self.ended.get(run_id, NotClaimed("unknown"))
            return
        if (how := self._how_over(run)) is not None:
            assert isinstance(outcome, Ending)
            assert outcome.how == how
            return
        if run.claim is not None and self._lives(run.claim.node):
            assert outcome == NotClaimed("busy")
            return
        assert isinstance(outcome, Claimed)
        run.number += 1
        run.claim, run.is_touched = Claim(run_id, name, run.number), False
        taken: set[str] = set()
        for key, call in run.calls.items():
            if call.outcome is None and not self._lives(call.held_by):
                call.held_by, call.take = name, call.take + 1
                taken.add(key)
        assert outcome.claim == run.claim
        assert bytes(outcome.snapshot.delta) == bytes(run.snapshot.delta)
        assert [(one.call_id, one.outcome) for one in outcome.settled] == [
            (key, run.calls[key].outcome) for key in run.order
        ]
        assert {hold.call_id for hold in outcome.taken} == taken
        self.claims.append(run.claim)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), is_release=st.booleans())
    def touch_or_release(self, data: st.DataObject, is_release: bool) -> None:
        claim = data.draw(st.sampled_from(self.claims[-2:]))
        run = self.runs.get(claim.run_id)
        step = self.store.release if is_release else self.store.touch
        is_held = run is not None and self._is_held(run, claim)
        assert step(claim) == is_held
        if run is not None and is_held:
            run.claim, run.is_touched = (None, False) if is_release else (claim, True)

    @rule(run_id=run_ids)
    def abort(self, run_id: str) -> None:
        is_live = run_id in self.runs
        assert self.store.finish(run_id, "aborted", caller=SCOPE, keep_ms=3_600_000) == is_live
        if is_live:
            del self.runs[run_id]
            self.ended[run_id] = "aborted"

    @rule(
        run_id=run_ids,
        key=st.sampled_from("012"),
        letter=nodes,
        take=st.integers(1, 2),
        size=st.integers(0, 55),
    )
    def settle(self, run_id: str, key: str, letter: str, take: int, size: int) -> None:
        run, name = self.runs.get(run_id), self.alive[letter]
        call = None if run is None else run.calls.get(key)
        is_ours = call is not None and (call.held_by, call.take, call.outcome) == (name, take, None)
        is_full = is_ours and (size > 50 or (size > 0 and self._bytes() + size > 100))
        try:
            assert self.store.settle(Hold(run_id, key, name, take), b"x" * size) == is_ours
        except StoreFull:
            assert is_full
        else:
            assert not is_full
            if run is not None and call is not None and is_ours:
                call.outcome = b"x" * size
                run.order.append(key)

    @rule(letter=nodes)
    def a_node_dies_and_joins_anew(self, letter: str) -> None:
        self.store.leave(self.alive[letter])
        self._join(letter)

    @rule(by_ms=st.integers(0, 400))
    def time_goes_by(self, by_ms: int) -> None:
        self.now += by_ms

    @rule()
    def expire(self) -> None:
        over = {run_id: how for run_id, run in self.runs.items() if (how := self._how_over(run)) is not None}
        assert {ending.run_id: ending.how for ending in self.store.expire()} == over
        for run_id, how in over.items():
            del self.runs[run_id]
            self.ended[run_id] = how

    @precondition(lambda self: self.durable)
    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = self._opened()

    @precondition(lambda self: self.durable)
    @rule()
    def crash(self) -> None:
        before = self._file()
        self.copies += 1
        for suffix in ("", "-wal"):
            if before.with_name(before.name + suffix).exists():
                shutil.copy(
                    before.with_name(before.name + suffix), self._file().with_name(self._file().name + suffix)
                )
        self.store.close()
        self.store = self._opened()

    # --- what must hold after each step

    @invariant()
    def the_store_holds_what_the_model_holds(self) -> None:
        assert {listed.label.run_id: listed.size_bytes for listed in self.store.list_runs()} == {
            run_id: run.size() for run_id, run in self.runs.items()
        }
        assert self.store.totals() == Totals(len(self.runs), self._bytes())
        assert self.store.numbers(RUN_IDS) == {run_id: run.number for run_id, run in self.runs.items()}
        for run_id, run in self.runs.items():
            found, how = self.store.look(run_id, SCOPE), self._how_over(run)
            if how is not None:
                assert isinstance(found, Ending)
                assert found.how == how
                continue
            assert isinstance(found, View)
            assert found.holder == (run.claim.node if run.claim and self._lives(run.claim.node) else None)
            assert {call.call_id: (call.held_by, call.take) for call in found.calls} == {
                key: (call.held_by, call.take) for key, call in run.calls.items()
            }

    # --- the model's own arithmetic

    def _join(self, letter: str) -> None:
        self.joined += 1
        self.alive[letter] = f"{letter}{self.joined}"
        self.store.join(NodeInfo(self.alive[letter], (), ()))

    def _lives(self, name: str) -> bool:
        return name in self.alive.values()

    def _is_held(self, run: Held, claim: Claim) -> bool:
        """A claim ends with its node, also where nobody has claimed the run since."""
        return run.claim == claim and self._lives(claim.node)

    def _how_over(self, run: Held) -> str | None:
        is_dead = run.claim is not None and not self._lives(run.claim.node)
        if is_dead and run.is_touched:
            return "interrupted"
        is_free = run.claim is None or is_dead
        return "expired" if is_free and is_past(run.snapshot.label.expires_at_ms, LIMITS, self.now) else None

    def _snapshot(self, run_id: str, delta: bytes) -> Snapshot:
        return Snapshot(Label(BUILD, run_id, SCOPE, self.now, self.now + 1_000), b"", delta)

    def _refusal(
        self, snapshot: Snapshot, count: int, name: str, claim: Claim | None
    ) -> type[Exception] | None:
        try:
            self.store.save(snapshot, [Pending(str(number)) for number in range(count)], name, claim=claim)
        except (NotHeld, StoreFull) as refused:
            return type(refused)
        return None

    def _bytes(self) -> int:
        return sum(run.size() for run in self.runs.values())

    def _file(self) -> Path:
        return self.directory / f"runs-{self.copies}.sqlite"

    def _opened(self) -> RunStore:
        return SqliteStore(self._file(), LIMITS, lambda: self.now)


class DurableStoreMachine(StoreMachine):
    durable = True


def test_the_memory_store_equals_a_dict() -> None:
    run_state_machine_as_test(StoreMachine, settings=settings(max_examples=100, stateful_step_count=40))


def test_the_sqlite_store_equals_a_dict_across_reopening_and_crashes() -> None:
    run_state_machine_as_test(DurableStoreMachine, settings=settings(max_examples=60, stateful_step_count=40))


@given(seconds=st.integers(), back_ms=st.integers(0, 3_600_000))
@example(seconds=86_400, back_ms=1_000)
def test_no_lifetime_that_can_be_configured_ends_by_a_clock_that_goes_back_an_hour(
    seconds: int, back_ms: int
) -> None:
    config = load_config({"enabled": True, "snapshotTtlSeconds": seconds})
    now_ms = 1_800_000_000_000
    assert not is_past(now_ms + config.snapshot_ttl_seconds * 1000, StoreLimits(), now_ms - back_ms)
