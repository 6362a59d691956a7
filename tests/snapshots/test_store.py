"""What every SnapshotStore promises, run against the in-memory and the SQLite store alike."""

from typing import Any

import pytest
from codemode_snapshots import (
    Claim,
    Claimed,
    Label,
    NotClaimed,
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

from tests.snapshots.conftest import OpenStore
from tests.snapshots.samples import BUILD, NOW, OURS, SCOPE, THEIRS, TTL, label, snapshot

LATER = NOW + TTL


def claimed(store: SnapshotStore, run_id: str = "run-1", owner: Owner = OURS) -> Claimed:
    outcome = store.claim(run_id, owner, now_ms=NOW)
    assert isinstance(outcome, Claimed)
    return outcome


def call(seq: int, call_id: str, payload: bytes = b"{}") -> Recorded:
    return Recorded(seq, "call", call_id, payload)


def nobody_alive(owner: Owner) -> bool:
    return False


# --- save and claim


def test_a_saved_run_is_claimed_with_the_bytes_that_were_saved(store: SnapshotStore) -> None:
    store.save(snapshot(body=b"first"), OURS)
    assert claimed(store) == Claimed(Claim("run-1", OURS, 1), snapshot(body=b"first"), ())


def test_a_claimed_run_is_busy_for_everybody_its_owner_included(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    claimed(store)
    for owner in (OURS, THEIRS):
        assert store.claim("run-1", owner, now_ms=NOW) == NotClaimed("busy", SCOPE)


def test_a_run_that_another_owner_saved_since_the_lookup_is_busy(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    seen = store.lookup("run-1")
    assert isinstance(seen, RunMeta)
    store.save(snapshot(), THEIRS, claim=claimed(store, owner=THEIRS).claim)
    third = Owner("cccccccccccccccc", 300, "7000", "b007", "4026531836")
    refused = store.claim("run-1", third, now_ms=NOW, saved_by=seen.saved_by)
    assert refused == NotClaimed("busy", SCOPE)
    assert store.lookup("run-1") == RunMeta(label(), 4, THEIRS, None, None, 0)


def test_a_run_that_is_still_its_savers_is_claimed_on_that_condition(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    outcome = store.claim("run-1", THEIRS, now_ms=NOW, saved_by=OURS)
    assert outcome == Claimed(Claim("run-1", THEIRS, 1), snapshot(), ())


def test_a_run_that_has_ended_tells_how_whoever_was_expected_to_have_saved_it(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    store.delete("run-1", now_ms=NOW, leave="aborted")
    assert store.claim("run-1", OURS, now_ms=NOW, saved_by=THEIRS) == NotClaimed("aborted", SCOPE)
    assert store.claim("run-2", OURS, now_ms=NOW, saved_by=THEIRS) == NotClaimed("unknown", None)


@pytest.mark.parametrize("run_id", ["nope", "", "\ud800", "x\x00y", "r" * 10_000])
def test_an_unknown_run_is_unknown_whatever_its_name(store: SnapshotStore, run_id: str) -> None:
    store.save(snapshot(), OURS)
    assert store.claim(run_id, OURS, now_ms=NOW) == NotClaimed("unknown", None)
    assert store.lookup(run_id) is None
    assert store.delete(run_id, now_ms=NOW, leave="aborted") is False
    assert store.record_settlement(run_id, call(1, "c")) is False
    assert store.list_runs(session=run_id) == []


@pytest.mark.parametrize("run_id", [None, 7, True, b"run-1", ["run-1"], {}, 1.5])
def test_what_is_no_text_is_an_unknown_run(store: SnapshotStore, run_id: Any) -> None:
    for name in ("run-1", "7", "1"):
        own = label(name, scope=RunScope(name, name, "turn-1", "call-1"))
        store.save(Snapshot(own, b"body"), OURS)
    assert store.claim(run_id, OURS, now_ms=NOW) == NotClaimed("unknown", None)
    assert store.lookup(run_id) is None
    assert store.peek(run_id) is None
    assert store.delete(run_id, now_ms=NOW, leave="aborted") is False
    assert store.record_settlement(run_id, call(1, "c")) is False
    listed = [] if run_id is not None else store.list_runs()
    assert store.list_runs(session=run_id) == listed
    assert store.list_runs(agent=run_id) == listed
    assert store.totals() == Totals(3, 12)


def test_saving_with_a_claim_replaces_the_snapshot_and_ends_the_claim(store: SnapshotStore) -> None:
    store.save(snapshot(body=b"first"), OURS)
    claim = claimed(store).claim
    store.save(snapshot(body=b"second", now_ms=NOW + 5), THEIRS, claim=claim)
    assert store.lookup("run-1") == RunMeta(label(now_ms=NOW + 5), 6, THEIRS, None, None, 0)
    assert claimed(store) == Claimed(Claim("run-1", OURS, 2), snapshot(body=b"second", now_ms=NOW + 5), ())


def test_a_run_that_exists_is_not_overwritten_without_its_claim(store: SnapshotStore) -> None:
    store.save(snapshot(body=b"first"), OURS)
    with pytest.raises(NotHeld):
        store.save(snapshot(body=b"second"), OURS)
    assert claimed(store).snapshot.envelope == b"first"


def test_a_claim_that_was_used_up_saves_nothing(store: SnapshotStore) -> None:
    store.save(snapshot(body=b"first"), OURS)
    old = claimed(store).claim
    store.release(old)
    new = claimed(store).claim
    with pytest.raises(NotHeld):
        store.save(snapshot(body=b"stale"), OURS, claim=old)
    with pytest.raises(NotHeld):
        store.release(old)
    store.save(snapshot(body=b"second"), OURS, claim=new)
    assert claimed(store).snapshot.envelope == b"second"


def test_a_claim_of_another_owner_saves_nothing(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    number = claimed(store).claim.number
    with pytest.raises(NotHeld):
        store.save(snapshot(), THEIRS, claim=Claim("run-1", THEIRS, number))


def test_a_claim_does_not_move_a_run_to_another_id_or_scope(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    claim = claimed(store).claim
    elsewhere = Label(BUILD, "run-1", RunScope("agent-1", "session-2", "turn-1", "call-1"), NOW, LATER)
    for moved in (snapshot("run-2"), Snapshot(elsewhere, b"body")):
        with pytest.raises(NotHeld):
            store.save(moved, OURS, claim=claim)
    assert [meta.label for meta in store.list_runs()] == [label()]


def test_a_released_run_is_as_it_was(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    store.record_settlement("run-1", call(1, "c-1"))
    before = store.lookup("run-1")
    first = claimed(store)
    store.release(first.claim)
    assert store.lookup("run-1") == before
    again = claimed(store, owner=THEIRS)
    assert (again.snapshot, again.settlements) == (first.snapshot, first.settlements)


def test_a_lookup_tells_who_holds_a_run_and_since_when(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    store.claim("run-1", THEIRS, now_ms=NOW + 7)
    assert store.lookup("run-1") == RunMeta(label(), 4, OURS, THEIRS, NOW + 7, 0)


# --- delete


def test_a_deleted_run_is_unknown_and_its_id_can_be_used_again(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    assert store.delete("run-1", now_ms=NOW) is True
    assert store.delete("run-1", now_ms=NOW) is False
    assert store.claim("run-1", OURS, now_ms=NOW) == NotClaimed("unknown", None)
    store.save(snapshot(), OURS)


def test_an_aborted_run_leaves_a_tombstone_and_its_holder_cannot_bring_it_back(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    claim = claimed(store).claim
    assert store.delete("run-1", now_ms=NOW, leave="aborted") is True
    assert store.lookup("run-1") == Tombstone("run-1", SCOPE, "aborted", NOW)
    assert store.claim("run-1", OURS, now_ms=NOW) == NotClaimed("aborted", SCOPE)
    for held in (claim, None):
        with pytest.raises(NotHeld):
            store.save(snapshot(), OURS, claim=held)
    assert store.totals() == Totals(0, 0)


# --- settlements


def test_settlements_are_read_back_by_the_claim_in_their_order(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    decision = Recorded(2, "decision", "c-1", b"yes")
    for settlement in (call(3, "c-3"), call(1, "c-1", b"one"), decision):
        assert store.record_settlement("run-1", settlement) is True
    assert claimed(store).settlements == (call(1, "c-1", b"one"), decision, call(3, "c-3"))


def test_the_first_settlement_of_a_call_wins(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    assert store.record_settlement("run-1", call(1, "c-1", b"first")) is True
    assert store.record_settlement("run-1", call(2, "c-1", b"second")) is False
    assert claimed(store).settlements == (call(1, "c-1", b"first"),)


def test_what_settles_during_a_claim_stays_for_the_next_one(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    store.record_settlement("run-1", call(2, "c-2"))
    claim = claimed(store).claim
    store.record_settlement("run-1", call(1, "c-1"))
    store.save(snapshot(), OURS, claim=claim)
    assert claimed(store).settlements == (call(1, "c-1"),)


def test_a_released_claim_keeps_what_it_had_been_given(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    store.record_settlement("run-1", call(1, "c-1"))
    claim = claimed(store).claim
    store.record_settlement("run-1", call(2, "c-2"))
    store.release(claim)
    assert claimed(store).settlements == (call(1, "c-1"), call(2, "c-2"))


def test_the_settlements_of_a_deleted_run_do_not_reach_a_new_run_of_that_id(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    store.record_settlement("run-1", call(1, "c-1"))
    store.delete("run-1", now_ms=NOW)
    store.save(snapshot(), OURS)
    assert claimed(store).settlements == ()


# --- expiry and recovery


def test_an_expired_run_is_not_handed_out_even_before_the_purge(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    assert store.claim("run-1", OURS, now_ms=LATER) == NotClaimed("expired", SCOPE)
    assert isinstance(store.lookup("run-1"), RunMeta)


def test_a_purge_ends_expired_runs_only_and_leaves_tombstones(store: SnapshotStore) -> None:
    store.save(snapshot("old"), OURS)
    store.save(snapshot("young", now_ms=NOW + 1), OURS)
    assert store.expire(LATER) == [Tombstone("old", SCOPE, "expired", LATER)]
    assert store.expire(LATER) == []
    assert store.lookup("old") == Tombstone("old", SCOPE, "expired", LATER)
    assert store.claim("old", OURS, now_ms=LATER) == NotClaimed("expired", SCOPE)
    assert [meta.label.run_id for meta in store.list_runs()] == ["young"]
    assert store.totals() == Totals(1, 4)


def test_a_run_being_resumed_is_not_purged_under_its_owner(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    claim = store.claim("run-1", OURS, now_ms=LATER - 1)
    assert isinstance(claim, Claimed)
    assert store.expire(LATER) == []
    store.save(snapshot(now_ms=LATER), OURS, claim=claim.claim)
    assert store.expire(LATER) == []


def test_tombstones_are_bounded_in_number_and_time(open_store: OpenStore) -> None:
    store = open_store(StoreLimits(max_tombstones=2, tombstone_ttl_ms=1000))
    for number in range(4):
        store.save(snapshot(f"run-{number}"), OURS)
        store.delete(f"run-{number}", now_ms=NOW + number, leave="aborted")
    kept = [number for number in range(4) if store.lookup(f"run-{number}") is not None]
    assert kept == [2, 3]
    store.expire(NOW + 1002)
    assert [number for number in range(4) if store.lookup(f"run-{number}") is not None] == [3]


def test_a_clock_set_back_does_not_keep_snapshots_for_longer_than_the_longest_lifetime(
    open_store: OpenStore,
) -> None:
    store = open_store(StoreLimits(longest_ttl_ms=TTL))
    store.save(snapshot(), OURS)
    assert store.claim("run-1", OURS, now_ms=NOW - 1) == NotClaimed("expired", SCOPE)
    assert store.expire(NOW - 1) == [Tombstone("run-1", SCOPE, "expired", NOW - 1)]


def test_a_run_with_the_longest_lifetime_survives_a_clock_that_goes_back_a_little(
    store: SnapshotStore,
) -> None:
    store.save(snapshot(ttl_ms=86_400_000), OURS)
    assert store.expire(NOW - 1_000) == []
    assert isinstance(store.claim("run-1", OURS, now_ms=NOW - 1_000), Claimed)


def test_recovery_ends_what_dead_owners_were_resuming_and_nothing_else(store: SnapshotStore) -> None:
    for run_id in ("dead", "alive", "idle"):
        store.save(snapshot(run_id), THEIRS)
    claimed(store, "dead", THEIRS)
    kept = claimed(store, "alive", OURS)
    ended = store.recover(NOW + 9, lambda owner: owner == OURS)
    assert ended == [Tombstone("dead", SCOPE, "interrupted", NOW + 9)]
    assert store.claim("dead", OURS, now_ms=NOW + 9) == NotClaimed("interrupted", SCOPE)
    store.release(kept.claim)
    claimed(store, "idle", OURS)


def test_recovery_twice_reports_each_run_once(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    claimed(store)
    assert len(store.recover(NOW, nobody_alive)) == 1
    assert store.recover(NOW, nobody_alive) == []


# --- lists, totals, limits


def test_runs_are_listed_oldest_first_and_by_scope(store: SnapshotStore) -> None:
    def save(run_id: str, agent: str, session: str, now_ms: int) -> None:
        own = label(run_id, scope=RunScope(agent, session, "turn-1", "call-1"), now_ms=now_ms)
        store.save(Snapshot(own, b"body"), OURS)

    save("c", "a1", "s1", NOW)
    save("b", "a1", "s2", NOW + 1)
    save("a", "a2", "s1", NOW + 1)

    def listed(agent: str | None = None, session: str | None = None) -> list[str]:
        return [meta.label.run_id for meta in store.list_runs(agent=agent, session=session)]

    assert listed() == ["c", "a", "b"]
    assert listed(agent="a1") == ["c", "b"]
    assert listed(session="s1") == ["c", "a"]
    assert listed(agent="a2", session="s2") == []


def test_totals_follow_every_change(store: SnapshotStore) -> None:
    store.save(snapshot(body=b"12345"), OURS)
    store.record_settlement("run-1", call(1, "c-1", b"123"))
    assert store.totals() == Totals(1, 8)
    claim = claimed(store).claim
    store.record_settlement("run-1", call(2, "c-2", b"12"))
    store.save(snapshot(body=b"1"), OURS, claim=claim)
    assert store.totals() == Totals(1, 3)
    store.delete("run-1", now_ms=NOW)
    assert store.totals() == Totals(0, 0)


def test_a_full_store_refuses_and_keeps_what_it_has(open_store: OpenStore) -> None:
    store = open_store(StoreLimits(max_snapshot_bytes=10, max_snapshots=2, max_total_bytes=15))

    def refused(run_id: str, body: bytes) -> tuple[str, int, int]:
        with pytest.raises(StoreFull) as full:
            store.save(snapshot(run_id, body), OURS)
        return full.value.limit, full.value.allowed, full.value.wanted

    assert refused("run-1", b"x" * 11) == ("snapshot_bytes", 10, 11)
    store.save(snapshot("run-1", b"x" * 10), OURS)
    assert refused("run-2", b"x" * 6) == ("total_bytes", 15, 16)
    store.save(snapshot("run-2", b"x"), OURS)
    assert refused("run-3", b"x") == ("snapshots", 2, 3)
    assert store.totals() == Totals(2, 11)


def test_a_refused_replacement_leaves_the_old_snapshot_and_the_claim(open_store: OpenStore) -> None:
    store = open_store(StoreLimits(max_snapshot_bytes=10))
    store.save(snapshot(body=b"first"), OURS)
    store.record_settlement("run-1", call(1, "c-1"))
    claim = claimed(store).claim
    with pytest.raises(StoreFull):
        store.save(snapshot(body=b"x" * 11), OURS, claim=claim)
    store.release(claim)
    again = claimed(store)
    assert (again.snapshot.envelope, again.settlements) == (b"first", (call(1, "c-1"),))


def test_a_settlement_over_a_limit_is_refused(open_store: OpenStore) -> None:
    store = open_store(StoreLimits(max_snapshot_bytes=10, max_total_bytes=12))
    store.save(snapshot(body=b"12345"), OURS)
    for payload in (b"x" * 11, b"x" * 8):
        with pytest.raises(StoreFull):
            store.record_settlement("run-1", call(1, "c-1", payload))
    assert store.record_settlement("run-1", call(1, "c-1", b"x" * 7)) is True


def test_only_what_the_claim_delivered_makes_room_for_the_next_snapshot(open_store: OpenStore) -> None:
    store = open_store(StoreLimits(max_total_bytes=12))
    store.save(snapshot(body=b"12345"), OURS)
    claim = claimed(store).claim
    store.record_settlement("run-1", call(1, "c-1", b"12345"))
    with pytest.raises(StoreFull):
        store.save(snapshot(body=b"12345678"), OURS, claim=claim)
    store.save(snapshot(body=b"1234567"), OURS, claim=claim)
    assert store.totals() == Totals(1, 12)


def test_closing_twice_is_harmless(store: SnapshotStore) -> None:
    store.close()
    store.close()


def test_a_lookup_counts_the_results_that_are_kept_and_no_decisions(store: SnapshotStore) -> None:
    store.save(snapshot(), OURS)
    store.record_settlement("run-1", Recorded(1, "decision", "1", b"{}"))
    store.record_settlement("run-1", call(2, "1"))
    found = store.lookup("run-1")
    assert isinstance(found, RunMeta)
    assert found.settled == 1
