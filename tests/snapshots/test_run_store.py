"""What every RunStore promises about runs: saving, claiming, looking, ending, limits, and what is past."""

from __future__ import annotations

from typing import Any

import pytest
from codemode_snapshots import NotHeld, RunScope, StoreFull
from codemode_snapshots.bounds import StoreLimits
from codemode_snapshots.records import Claim, Claimed, Ending, NotClaimed, Pending, Snapshot, Totals, View
from codemode_snapshots.run_store import RunStore

from tests.snapshots.places import KEEP_MS, Place, node, saved
from tests.snapshots.samples import BUILD, SCOPE, TTL, label

OTHERS = (
    RunScope("agent-2", "session-1", "turn-1", "call-1"),
    RunScope("agent-1", "session-2", "turn-1", "call-1"),
    RunScope("agent-1", "session-1", "turn-2", "call-1"),
)


def claimed(store: RunStore, run_id: str = "run-1", by: str = "a") -> Claimed:
    outcome = store.claim(run_id, SCOPE, (BUILD,), by)
    assert isinstance(outcome, Claimed)
    return outcome


def viewed(store: RunStore, run_id: str = "run-1") -> View:
    found = store.look(run_id, SCOPE)
    assert isinstance(found, View)
    return found


def ended(store: RunStore, run_id: str = "run-1") -> Ending:
    found = store.look(run_id, SCOPE)
    assert isinstance(found, Ending)
    return found


# --- saving and claiming


def test_a_suspended_run_is_claimed_by_any_node_with_the_bytes_that_were_saved(store: RunStore) -> None:
    snapshot = saved(store, by="a")
    got = claimed(store, by="b")
    assert got.claim == Claim("run-1", "b", 1)
    assert (bytes(got.snapshot.state), bytes(got.snapshot.delta)) == (b"state", b"delta")
    assert got.snapshot.label == snapshot.label
    assert (got.calls, got.settled, got.taken) == ((), (), ())


def test_a_claimed_run_is_busy_for_everybody_its_holder_included(store: RunStore) -> None:
    saved(store)
    claimed(store, by="a")
    for name in ("a", "b"):
        assert store.claim("run-1", SCOPE, (BUILD,), name) == NotClaimed("busy")
    assert viewed(store).holder == "a"


def test_a_run_of_another_build_stays_and_tells_its_build(store: RunStore) -> None:
    saved(store)
    assert store.claim("run-1", SCOPE, ("build-2",), "a") == NotClaimed("wrong_build", BUILD)
    assert store.claim("run-1", SCOPE, (), "a") == NotClaimed("wrong_build", BUILD)
    claimed(store)


@pytest.mark.parametrize("caller", OTHERS)
def test_for_a_caller_outside_its_scope_a_run_does_not_exist(store: RunStore, caller: RunScope) -> None:
    saved(store, calls=(Pending("1", is_held=False, asking="ask-1"),))
    assert store.look("run-1", caller) is None
    assert store.claim("run-1", caller, (BUILD,), "a") == NotClaimed("unknown")
    assert store.decide("run-1", caller, "ask-1", b"yes", "a") is None
    assert store.finish("run-1", "aborted", caller=caller, keep_ms=KEEP_MS) is False
    assert viewed(store).calls[0].asking == "ask-1"
    assert store.finish("run-1", "aborted", caller=SCOPE, keep_ms=KEEP_MS) is True
    assert store.look("run-1", caller) is None
    assert store.claim("run-1", caller, (BUILD,), "a") == NotClaimed("unknown")


def test_a_wait_comes_from_another_tool_call(store: RunStore) -> None:
    saved(store)
    later = RunScope(SCOPE.agent, SCOPE.session, SCOPE.agent_run, "call-2")
    assert isinstance(store.look("run-1", later), View)
    assert isinstance(store.claim("run-1", later, (BUILD,), "a"), Claimed)


@pytest.mark.parametrize(
    "run_id", ["nope", "", "\ud800", "x\x00y", "r" * 10_000, None, 7, b"run-1", ["run-1"], {}]
)
def test_what_names_no_run_is_an_unknown_run(store: RunStore, run_id: Any) -> None:
    for name in ("run-1", "7"):
        saved(store, name)
    assert store.look(run_id, SCOPE) is None
    assert store.claim(run_id, SCOPE, (BUILD,), "a") == NotClaimed("unknown")
    assert store.decide(run_id, SCOPE, "ask-1", b"yes", "a") is None
    assert store.finish(run_id, "aborted", caller=SCOPE, keep_ms=KEEP_MS) is False
    assert store.totals().runs == 2


def test_saving_with_a_claim_replaces_the_snapshot_and_ends_the_claim(store: RunStore) -> None:
    saved(store)
    claim = claimed(store).claim
    store.save(Snapshot(label(), b"second", b"more"), (), "a", claim=claim)
    again = claimed(store, by="b")
    assert again.claim == Claim("run-1", "b", 2)
    assert (bytes(again.snapshot.state), bytes(again.snapshot.delta)) == (b"second", b"more")


def test_a_run_that_exists_or_has_ended_is_not_saved_without_its_claim(store: RunStore) -> None:
    saved(store)
    with pytest.raises(NotHeld):
        saved(store, state=b"second")
    store.finish("run-1", "aborted", caller=SCOPE, keep_ms=KEEP_MS)
    with pytest.raises(NotHeld):
        saved(store, state=b"third")


def test_a_claim_that_was_used_up_does_nothing(store: RunStore) -> None:
    saved(store, calls=(Pending("1"),))
    old = claimed(store).claim
    assert store.release(old) is True
    new = claimed(store).claim
    with pytest.raises(NotHeld):
        store.save(Snapshot(label(), b"stale", b""), (), "a", claim=old)
    assert store.release(old) is False
    assert store.touch(old) is False
    assert store.collect(old, ("1",)) == ()
    assert store.finish("run-1", "completed", claim=old, keep_ms=KEEP_MS) is False
    assert store.touch(new) is True


def test_a_claim_does_not_move_a_run_to_another_id_or_scope(store: RunStore) -> None:
    saved(store)
    claim = claimed(store).claim
    for moved in (label("run-2"), label(scope=OTHERS[0])):
        with pytest.raises(NotHeld):
            store.save(Snapshot(moved, b"state", b"delta"), (), "a", claim=claim)
    assert [listed.label for listed in store.list_runs()] == [label()]


def test_a_released_run_is_as_it_was(store: RunStore) -> None:
    saved(store, calls=(Pending("1"),))
    claim = claimed(store).claim
    assert store.touch(claim) is True
    assert store.release(claim) is True
    view = viewed(store)
    assert (view.holder, view.state, view.number) == (None, b"state", 1)
    claimed(store, by="b")


# --- nodes that die


def test_the_claim_of_a_dead_node_is_taken_over_if_nothing_was_done_under_it(
    store: RunStore, place: Place
) -> None:
    saved(store)
    old = claimed(store, by="a").claim
    place.kill(store, "a")
    assert viewed(store).holder is None
    assert claimed(store, by="b").claim == Claim("run-1", "b", 2)
    assert store.touch(old) is False
    with pytest.raises(NotHeld):
        store.save(Snapshot(label(), b"late", b""), (), "a", claim=old)


def test_a_run_that_a_dead_node_had_touched_is_over_as_interrupted(store: RunStore, place: Place) -> None:
    saved(store)
    assert store.touch(claimed(store, by="a").claim) is True
    place.kill(store, "a")
    assert ended(store).how == "interrupted"
    refused = store.claim("run-1", SCOPE, (BUILD,), "b")
    assert isinstance(refused, Ending)
    assert refused.how == "interrupted"
    assert [(ending.run_id, ending.how) for ending in store.expire()] == [("run-1", "interrupted")]
    assert store.expire() == []
    assert ended(store).how == "interrupted"
    assert store.totals() == Totals(0, 0)


def test_a_node_whose_lease_lapsed_is_dead_for_ever(store: RunStore, place: Place) -> None:
    assert store.beat("a", Totals(0, 0)) is True
    place.kill(store, "a")
    assert store.beat("a", Totals(0, 0)) is False
    assert store.beat("a", Totals(0, 0)) is False
    store.join(node("a-again"))
    assert store.beat("a-again", Totals(0, 0)) is True


def test_a_name_that_is_in_use_does_not_join_again(store: RunStore) -> None:
    with pytest.raises(ValueError, match="joined before"):
        store.join(node("a"))


def test_a_node_that_leaves_is_dead_at_once_and_may_leave_twice(store: RunStore) -> None:
    saved(store)
    claimed(store, by="a")
    store.leave("a")
    store.leave("a")
    assert store.beat("a", Totals(0, 0)) is False
    assert claimed(store, by="b").claim.number == 2


# --- ends


def test_an_ended_run_gives_its_result_again_and_again(store: RunStore) -> None:
    saved(store)
    claim = claimed(store).claim
    assert store.finish("run-1", "completed", claim=claim, result=b"value", keep_ms=KEEP_MS) is True
    for _ in range(2):
        ending = ended(store)
        assert (ending.run_id, ending.scope, ending.how, ending.result) == (
            "run-1",
            SCOPE,
            "completed",
            b"value",
        )
        assert store.claim("run-1", SCOPE, (BUILD,), "b") == ending
    assert store.finish("run-1", "aborted", caller=SCOPE, keep_ms=KEEP_MS) is False
    assert store.list_runs() == []


def test_an_aborted_run_cannot_be_brought_back_by_its_holder(store: RunStore) -> None:
    saved(store)
    claim = claimed(store, by="a").claim
    assert store.finish("run-1", "aborted", caller=SCOPE, keep_ms=KEEP_MS) is True
    assert ended(store).how == "aborted"
    with pytest.raises(NotHeld):
        store.save(Snapshot(label(), b"state", b"delta"), (), "a", claim=claim)
    assert store.finish("run-1", "completed", claim=claim, result=b"x", keep_ms=KEEP_MS) is False
    assert ended(store).how == "aborted"


def test_a_run_that_is_not_kept_is_unknown_and_its_id_can_be_used_again(store: RunStore) -> None:
    saved(store)
    assert store.finish("run-1", "aborted", caller=SCOPE, keep_ms=0) is True
    assert store.look("run-1", SCOPE) is None
    saved(store)


def test_endings_are_kept_for_their_time(store: RunStore, place: Place) -> None:
    saved(store)
    store.finish("run-1", "completed", claim=claimed(store).claim, result=b"value", keep_ms=KEEP_MS)
    place.pass_time(KEEP_MS - 1000)
    store.expire()
    assert ended(store).result == b"value"
    place.pass_time(2000)
    assert store.look("run-1", SCOPE) is None
    store.expire()
    assert store.look("run-1", SCOPE) is None


def test_endings_are_bounded_in_number_and_the_oldest_goes_first(place: Place) -> None:
    store = place.open(StoreLimits(max_tombstones=2))
    for number in range(4):
        saved(store, f"run-{number}")
        store.finish(f"run-{number}", "aborted", caller=SCOPE, keep_ms=KEEP_MS)
        place.pass_time(10)
    store.expire()
    assert [n for n in range(4) if store.look(f"run-{n}", SCOPE) is not None] == [2, 3]


def test_kept_results_are_bounded_in_bytes_and_the_oldest_goes_first(place: Place) -> None:
    store = place.open(StoreLimits(max_result_bytes=10))
    store.join(node("a"))
    for number, result in enumerate((b"123456", b"1234", b"12345678901", b"12345")):
        run_id = f"run-{number}"
        saved(store, run_id)
        store.finish(run_id, "completed", claim=claimed(store, run_id).claim, result=result, keep_ms=KEEP_MS)
        place.pass_time(10)
    store.expire()
    kept = [store.look(f"run-{number}", SCOPE) for number in range(4)]
    assert kept[0] is None
    assert [ending.result for ending in kept[1:] if isinstance(ending, Ending)] == [b"1234", None, b"12345"]


# --- time


def test_an_expired_run_is_over_even_before_the_purge(store: RunStore, place: Place) -> None:
    saved(store)
    place.pass_time(TTL)
    assert ended(store).how == "expired"
    refused = store.claim("run-1", SCOPE, (BUILD,), "a")
    assert isinstance(refused, Ending)
    assert refused.how == "expired"


def test_a_purge_ends_expired_runs_only_and_reports_each_once(store: RunStore, place: Place) -> None:
    saved(store, "old")
    saved(store, "young", ttl_ms=TTL + 60_000)
    place.pass_time(TTL)
    assert [(e.run_id, e.scope, e.how) for e in store.expire()] == [("old", SCOPE, "expired")]
    assert store.expire() == []
    assert ended(store, "old").how == "expired"
    assert [listed.label.run_id for listed in store.list_runs()] == ["young"]
    assert store.totals() == Totals(1, 10)


def test_a_run_being_resumed_is_not_purged_under_its_holder(store: RunStore, place: Place) -> None:
    saved(store)
    place.pass_time(TTL - 1000)
    claim = claimed(store).claim
    place.pass_time(2000)
    assert store.expire() == []
    assert viewed(store).holder == "a"
    assert store.finish("run-1", "completed", claim=claim, keep_ms=KEEP_MS) is True


# --- lists, totals, limits


def test_runs_are_listed_oldest_first_and_by_scope(store: RunStore) -> None:
    def save(run_id: str, agent: str, session: str, now_ms: int) -> None:
        own = label(run_id, scope=RunScope(agent, session, "turn-1", "call-1"), now_ms=now_ms)
        store.save(Snapshot(own, b"state", b"delta"), (), "a")

    first = label().created_at_ms
    save("c", "a1", "s1", first)
    save("b", "a1", "s2", first + 1)
    save("a", "a2", "s1", first + 1)

    def listed(agent: str | None = None, session: str | None = None) -> list[str]:
        return [one.label.run_id for one in store.list_runs(agent=agent, session=session)]

    assert listed() == ["c", "a", "b"]
    assert listed(agent="a1") == ["c", "b"]
    assert listed(session="s1") == ["c", "a"]
    assert listed(agent="a2", session="s2") == []
    assert listed(session="\ud800") == []


def test_the_numbers_tell_which_runs_live_and_how_often_they_were_claimed(store: RunStore) -> None:
    for run_id in ("one", "two", "three"):
        saved(store, run_id)
    claimed(store, "two")
    store.finish("three", "aborted", caller=SCOPE, keep_ms=KEEP_MS)
    assert store.numbers(("one", "two", "three", "four")) == {"one": 0, "two": 1}
    assert store.numbers(()) == {}


def test_a_full_store_refuses_and_keeps_what_it_has(place: Place) -> None:
    store = place.open(StoreLimits(max_snapshot_bytes=10, max_snapshots=2, max_total_bytes=15))

    def refused(run_id: str, delta: bytes) -> str:
        with pytest.raises(StoreFull) as full:
            saved(store, run_id, state=b"", delta=delta)
        return full.value.limit

    assert refused("run-1", b"x" * 11) == "snapshot_bytes"
    saved(store, "run-1", state=b"", delta=b"x" * 10)
    assert refused("run-2", b"x" * 6) == "total_bytes"
    saved(store, "run-2", state=b"", delta=b"x")
    assert refused("run-3", b"x") == "snapshots"
    assert store.totals() == Totals(2, 11)


def test_a_refused_replacement_leaves_the_old_snapshot_and_the_claim(place: Place) -> None:
    store = place.open(StoreLimits(max_snapshot_bytes=10))
    store.join(node("a"))
    saved(store)
    claim = claimed(store).claim
    with pytest.raises(StoreFull):
        store.save(Snapshot(label(), b"x" * 11, b""), (), "a", claim=claim)
    assert store.release(claim) is True
    assert viewed(store).state == b"state"


def test_closing_twice_is_harmless(store: RunStore) -> None:
    store.close()
    store.close()


# --- a claim and the lease of its node


def test_a_claim_ends_with_the_lease_of_its_node_also_if_nobody_has_taken_it_over(
    store: RunStore, place: Place
) -> None:
    """Others are told that the run is over: it must not come back when the node goes on."""
    snapshot = saved(store, calls=(Pending("1"),), by="b")
    held = claimed(store).claim
    assert store.touch(held) is True
    place.kill(store, "a")
    assert ended(store).how == "interrupted"
    assert store.touch(held) is False
    assert store.release(held) is False
    assert store.collect(held, ("1",)) == ()
    with pytest.raises(NotHeld):
        store.save(snapshot, (), "a", claim=held)
    assert store.finish("run-1", "completed", claim=held, keep_ms=KEEP_MS) is False
    assert ended(store).how == "interrupted"
    assert [over.how for over in store.expire()] == ["interrupted"]


def test_an_untouched_claim_of_a_dead_node_is_void_before_it_is_taken_over(
    store: RunStore, place: Place
) -> None:
    snapshot = saved(store)
    held = claimed(store).claim
    place.kill(store, "a")
    assert viewed(store).holder is None
    with pytest.raises(NotHeld):
        store.save(snapshot, (), "a", claim=held)
    assert claimed(store, by="b").claim.number == 2
