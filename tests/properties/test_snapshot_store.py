"""A store equals a dict: the same random life on both, with the file reopened or crashed in between.

A crash is the file and its WAL copied away while the store is open, as a kill -9 leaves them; real kills are
in tests/snapshots/test_sqlite_processes.py.
"""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from codemode_snapshots import (
    Claim,
    Claimed,
    Label,
    MemoryStore,
    NotHeld,
    Owner,
    Recorded,
    RunMeta,
    RunScope,
    Snapshot,
    SnapshotStore,
    StoreFull,
    StoreLimits,
    Tombstone,
    Totals,
)
from codemode_snapshots.retention import is_expired
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

LIMITS = StoreLimits(
    max_snapshot_bytes=50,
    max_snapshots=2,
    max_total_bytes=100,
    max_tombstones=1,
    tombstone_ttl_ms=100,
    longest_ttl_ms=1_000,
    stuck_claim_ms=300,
)
SCOPE = RunScope("agent", "session", "turn", "call")
OWNERS = tuple(Owner(name * 16, 1, "1", "b", "1") for name in "ab")

RUN_IDS = ("r1", "r2", "r3")  # few, so that rules meet on the same run
run_ids = st.sampled_from(RUN_IDS)
owners = st.sampled_from(OWNERS)
bodies = st.binary(max_size=20) | st.binary(max_size=60)
ttls = st.sampled_from([1, 500, 900, 1_000, 1_001])


@dataclass(slots=True)
class Held:
    """What the model knows of one live run."""

    snapshot: Snapshot
    saved_by: Owner
    claim: Claim | None = None
    claimed_at_ms: int | None = None
    claims: int = 0
    settlements: list[Recorded] = field(default_factory=list[Recorded])
    seen: int = 0

    def size(self) -> int:
        return len(self.snapshot.envelope) + sum(len(one.payload) for one in self.settlements)


class StoreMachine(RuleBasedStateMachine):
    durable: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.copies = 0
        self.store: SnapshotStore = self._opened() if self.durable else MemoryStore(LIMITS)
        self.now = 10_000
        self.runs: dict[str, Held] = {}
        self.stones: dict[str, Tombstone] = {}
        self.claims: list[Claim] = []

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.directory)

    # --- rules

    @rule(run_id=run_ids, owner=owners, body=bodies, ttl=ttls)
    def save_new(self, run_id: str, owner: Owner, body: bytes, ttl: int) -> None:
        snapshot = self._snapshot(run_id, body, ttl)
        expected: type[Exception] | None = None
        if run_id in self.runs or run_id in self.stones:
            expected = NotHeld
        elif len(body) > 50 or len(self.runs) == 2 or self._bytes() + len(body) > 100:
            expected = StoreFull
        assert self._refusal(snapshot, owner, None) == expected
        if expected is None:
            self.runs[run_id] = Held(snapshot, owner)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), owner=owners, body=bodies, ttl=ttls)
    def save_with_a_claim_old_or_new(self, data: st.DataObject, owner: Owner, body: bytes, ttl: int) -> None:
        claim = data.draw(st.sampled_from(self.claims[-2:]))
        snapshot = self._snapshot(claim.run_id, body, ttl)
        run = self.runs.get(claim.run_id)
        if run is None or run.claim != claim:
            assert self._refusal(snapshot, owner, claim) is NotHeld
            return
        replaced = len(run.snapshot.envelope) + sum(len(one.payload) for one in run.settlements[: run.seen])
        too_much = self._bytes() - replaced + len(body) > 100 and len(body) > replaced
        expected = StoreFull if len(body) > 50 or too_much else None
        assert self._refusal(snapshot, owner, claim) == expected
        if expected is None:
            run.snapshot, run.saved_by = snapshot, owner
            run.settlements = run.settlements[run.seen :]
            run.claim, run.claimed_at_ms, run.seen = None, None, 0

    @rule(data=st.data(), owner=owners, saved_by=st.none() | owners)
    def claim(self, data: st.DataObject, owner: Owner, saved_by: Owner | None) -> None:
        run_id = self._rather_a_live_one(data)
        outcome = self.store.claim(run_id, owner, now_ms=self.now, saved_by=saved_by)
        run = self.runs.get(run_id)
        if run is None:
            stone = self.stones.get(run_id)
            assert not isinstance(outcome, Claimed)
            assert outcome.why == ("unknown" if stone is None else stone.ending)
        elif (busy := run.claim is not None or saved_by not in (None, run.saved_by)) or self._expired(run):
            assert not isinstance(outcome, Claimed)
            assert outcome.why == ("busy" if busy else "expired")
        else:
            run.claims += 1
            run.claim, run.claimed_at_ms = Claim(run_id, owner, run.claims), self.now
            run.seen = len(run.settlements)
            in_order = tuple(sorted(run.settlements, key=lambda one: one.seq))
            assert outcome == Claimed(run.claim, run.snapshot, in_order)
            self.claims.append(run.claim)

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        claim = data.draw(st.sampled_from(self.claims[-2:]))
        run = self.runs.get(claim.run_id)
        try:
            self.store.release(claim)
        except NotHeld:
            assert run is None or run.claim != claim
        else:
            assert run is not None
            assert run.claim == claim
            run.claim, run.claimed_at_ms, run.seen = None, None, 0

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), leave=st.sampled_from([None, "aborted"]))
    def delete(self, data: st.DataObject, leave: Literal["aborted"] | None) -> None:
        run_id = self._rather_a_live_one(data)
        assert self.store.delete(run_id, now_ms=self.now, leave=leave) == (run_id in self.runs)
        if self.runs.pop(run_id, None) is not None and leave is not None:
            self._bury([Tombstone(run_id, SCOPE, leave, self.now)])

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), seq=st.integers(0, 5), name=st.sampled_from("xyz"), payload=st.binary(max_size=55))
    def settle(self, data: st.DataObject, seq: int, name: str, payload: bytes) -> None:
        run_id = self._rather_a_live_one(data)
        run = self.runs.get(run_id)
        settlement = Recorded(seq, "call", name, payload)
        fresh = run is not None and all(one.call_id != name for one in run.settlements)
        full = fresh and (len(payload) > 50 or (payload != b"" and self._bytes() + len(payload) > 100))
        try:
            assert self.store.record_settlement(run_id, settlement) == fresh
        except StoreFull:
            assert full
        else:
            assert not full
            if fresh and run is not None:
                run.settlements.append(settlement)

    @rule(by_ms=st.one_of(st.integers(0, 50), st.integers(0, 400), st.integers(-2_000, 2_000)))
    def move_the_clock(self, by_ms: int) -> None:
        self.now = max(self.now + by_ms, 0)

    @rule()
    def expire(self) -> None:
        ended: list[Tombstone] = []
        for run_id, run in self.runs.items():
            if not self._expired(run):
                continue
            if run.claimed_at_ms is None:
                ended.append(Tombstone(run_id, SCOPE, "expired", self.now))
            elif abs(self.now - run.claimed_at_ms) >= 300:
                ended.append(Tombstone(run_id, SCOPE, "interrupted", self.now))
        assert _by_id(self.store.expire(self.now)) == _by_id(ended)
        self._bury(ended)

    @rule(alive=st.sets(owners))
    def recover(self, alive: set[Owner]) -> None:
        ended = [
            Tombstone(run_id, SCOPE, "interrupted", self.now)
            for run_id, run in self.runs.items()
            if run.claim is not None and run.claim.owner not in alive
        ]
        assert _by_id(self.store.recover(self.now, lambda owner: owner in alive)) == _by_id(ended)
        self._bury(ended)

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
        metas = [
            RunMeta(
                run.snapshot.label,
                len(run.snapshot.envelope),
                run.saved_by,
                None if run.claim is None else run.claim.owner,
                run.claimed_at_ms,
                len(run.settlements),
            )
            for run in self.runs.values()
        ]
        metas.sort(key=lambda meta: (meta.label.created_at_ms, meta.label.run_id))
        assert self.store.list_runs() == metas
        assert self.store.totals() == Totals(len(self.runs), self._bytes())
        known = {meta.label.run_id: meta for meta in metas}
        for run_id in RUN_IDS:
            assert self.store.lookup(run_id) == known.get(run_id, self.stones.get(run_id))

    # --- the model's own arithmetic

    def _rather_a_live_one(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.runs) * 3 + list(RUN_IDS)))

    def _snapshot(self, run_id: str, body: bytes, ttl: int) -> Snapshot:
        return Snapshot(Label("build", run_id, SCOPE, self.now, self.now + ttl), body)

    def _refusal(self, snapshot: Snapshot, owner: Owner, claim: Claim | None) -> type[Exception] | None:
        try:
            self.store.save(snapshot, owner, claim=claim)
        except (NotHeld, StoreFull) as refused:
            return type(refused)
        return None

    def _bytes(self) -> int:
        return sum(run.size() for run in self.runs.values())

    def _expired(self, run: Held) -> bool:
        remaining = run.snapshot.label.expires_at_ms - self.now
        return remaining <= 0 or remaining > 1_000

    def _bury(self, ended: list[Tombstone]) -> None:
        for stone in ended:
            self.runs.pop(stone.run_id, None)
            self.stones[stone.run_id] = stone
        current = [stone for stone in self.stones.values() if abs(self.now - stone.at_ms) < 100]
        current.sort(key=lambda stone: (stone.at_ms, stone.run_id))
        self.stones = {stone.run_id: stone for stone in current[-1:]}

    def _file(self) -> Path:
        return self.directory / f"runs-{self.copies}.sqlite"

    def _opened(self) -> SnapshotStore:
        return SqliteStore(self._file(), LIMITS)


class DurableStoreMachine(StoreMachine):
    durable = True


def _by_id(stones: list[Tombstone]) -> list[Tombstone]:
    return sorted(stones, key=lambda stone: stone.run_id)


def test_the_memory_store_equals_a_dict() -> None:
    run_state_machine_as_test(
        StoreMachine,
        settings=settings(max_examples=100, stateful_step_count=40),
    )


def test_the_sqlite_store_equals_a_dict_across_reopening_and_crashes() -> None:
    run_state_machine_as_test(
        DurableStoreMachine,
        settings=settings(max_examples=60, stateful_step_count=40),
    )


@given(seconds=st.integers(), back_ms=st.integers(0, 3_600_000))
@example(seconds=86_400, back_ms=1_000)
def test_no_lifetime_that_can_be_configured_ends_by_a_clock_that_goes_back_an_hour(
    seconds: int, back_ms: int
) -> None:
    config = load_config({"enabled": True, "snapshotTtlSeconds": seconds})
    now_ms = 1_800_000_000_000
    assert not is_expired(now_ms + config.snapshot_ttl_seconds * 1000, StoreLimits(), now_ms - back_ms)
