"""What every RunStore promises about calls, requests that are sent twice, and hints."""

from __future__ import annotations

import threading
from collections.abc import Collection

import pytest
from codemode_snapshots import RunScope, StoreFull
from codemode_snapshots.bounds import StoreLimits
from codemode_snapshots.records import (
    Claim,
    DecidedElsewhere,
    DecidedHere,
    Ending,
    ExecRequest,
    Hold,
    Pending,
    Settled,
    Snapshot,
    Totals,
    View,
)
from codemode_snapshots.run_store import RunStore

from tests.snapshots.places import KEEP_MS, Place, node, saved
from tests.snapshots.samples import BUILD, SCOPE, TTL, label
from tests.snapshots.test_run_store import claimed, viewed

REQUEST = ExecRequest(SCOPE, "request-1", b"digest")


def hold(call_id: str = "1", by: str = "a", take: int = 1) -> Hold:
    return Hold("run-1", call_id, by, take)


# --- settling


def test_outcomes_are_delivered_with_the_claim_in_the_order_in_which_they_came(store: RunStore) -> None:
    saved(store, calls=(Pending("1"), Pending("2"), Pending("3")))
    for call_id in ("3", "1"):
        assert store.settle(hold(call_id), call_id.encode()) is True
    got = claimed(store, by="b")
    assert got.settled == (Settled("3", 1, b"3"), Settled("1", 1, b"1"))
    assert got.taken == ()
    left = [(call.call_id, call.held_by, call.settled is None) for call in got.calls]
    assert sorted(left) == [("1", "a", False), ("2", "a", True), ("3", "a", False)]


def test_only_the_holder_settles_a_call_and_only_once(store: RunStore) -> None:
    saved(store, calls=(Pending("1"),))
    assert store.settle(hold(by="b"), b"not b's") is False
    assert store.settle(hold(take=2), b"another take") is False
    assert store.settle(hold("2"), b"no such call") is False
    assert store.settle(hold(), b"first") is True
    assert store.settle(hold(), b"second") is False
    assert claimed(store).settled == (Settled("1", 1, b"first"),)


def test_what_settles_during_a_claim_is_collected_by_its_holder(store: RunStore) -> None:
    saved(store, calls=(Pending("1"), Pending("2")))
    store.settle(hold("1"), b"one")
    got = claimed(store, by="b")
    assert store.collect(got.claim, ("2",)) == ()
    store.settle(hold("2"), b"two")
    assert store.collect(got.claim, ("2",)) == (Settled("2", 1, b"two"),)
    assert store.collect(got.claim, ()) == ()


def test_a_save_keeps_the_calls_that_the_run_still_waits_for_and_forgets_the_others(store: RunStore) -> None:
    saved(store, calls=(Pending("1"), Pending("2"), Pending("3")), by="a")
    store.settle(hold("1"), b"one")
    claim = claimed(store, by="b").claim
    store.settle(hold("2"), b"two")  # not collected: stays for the next claim
    store.save(Snapshot(label(), b"state", b"delta"), (Pending("2"), Pending("4")), "b", claim=claim)
    again = claimed(store, by="a")
    assert again.settled == (Settled("2", 1, b"two"),)
    assert sorted((call.call_id, call.held_by) for call in again.calls) == [("2", "a"), ("4", "b")]
    assert store.settle(hold("3"), b"three") is False


def test_a_released_claim_keeps_what_it_had_been_given(store: RunStore) -> None:
    saved(store, calls=(Pending("1"),))
    store.settle(hold(), b"one")
    store.release(claimed(store).claim)
    assert claimed(store, by="b").settled == (Settled("1", 1, b"one"),)


def test_the_calls_of_an_ended_run_settle_nothing_and_reach_no_new_run_of_that_id(store: RunStore) -> None:
    saved(store, calls=(Pending("1"),))
    store.finish("run-1", "aborted", caller=SCOPE, keep_ms=0)
    assert store.settle(hold(), b"late") is False
    saved(store)
    assert claimed(store).calls == ()


# --- calls of the dead


def test_calls_of_a_dead_node_are_taken_over_with_the_claim_and_its_late_outcome_is_refused(
    store: RunStore, place: Place
) -> None:
    saved(store, calls=(Pending("1"), Pending("2", idempotent=True), Pending("3")), by="a")
    store.settle(hold("3"), b"three")
    place.kill(store, "a")
    orphans = {call.call_id: call.is_orphaned for call in viewed(store).calls}
    assert orphans == {"1": True, "2": True, "3": False}
    got = claimed(store, by="b")
    assert sorted(got.taken, key=lambda h: h.call_id) == [hold("1", "b", 2), hold("2", "b", 2)]
    assert got.settled == (Settled("3", 1, b"three"),)
    assert store.settle(hold("1", "a", 1), b"late") is False
    assert store.settle(hold("1", "b", 2), b"ours") is True
    store.release(got.claim)
    again = claimed(store, by="c")
    assert again.taken == ()  # b lives
    assert [one.outcome for one in again.settled] == [b"three", b"ours"]


def test_a_run_saved_by_a_node_that_lost_its_lease_has_orphans_at_once(store: RunStore, place: Place) -> None:
    place.kill(store, "a")
    saved(store, calls=(Pending("1"),), by="a")
    assert claimed(store, by="b").taken == (hold("1", "b", 2),)


# --- approvals


def test_of_two_who_decide_one_does_and_holds_the_call(store: RunStore) -> None:
    saved(store, calls=(Pending("1", is_held=False, asking="ask-1"),), by="a")
    won = store.decide("run-1", SCOPE, "ask-1", b"yes", "b")
    assert isinstance(won, DecidedHere)
    assert won.hold == hold(by="b", take=2)
    assert (won.view.state, won.view.label) == (b"state", label())
    (call,) = won.view.calls
    assert (call.held_by, call.take, call.asking, call.decision) == ("b", 2, None, b"yes")
    assert store.decide("run-1", SCOPE, "ask-1", b"no", "a") is None
    assert store.settle(won.hold, b"done") is True
    assert claimed(store, by="a").settled == (Settled("1", 2, b"done"),)


def test_an_approval_that_nobody_asks_for_is_not_decided(store: RunStore) -> None:
    saved(store, calls=(Pending("1", is_held=False, asking="ask-1"), Pending("2")))
    assert store.decide("run-1", SCOPE, "ask-2", b"yes", "a") is None
    assert store.decide("run-2", SCOPE, "ask-1", b"yes", "a") is None
    store.finish("run-1", "aborted", caller=SCOPE, keep_ms=KEEP_MS)
    assert store.decide("run-1", SCOPE, "ask-1", b"yes", "a") is None


def test_a_call_can_ask_after_its_run_was_suspended_and_anybody_decides(store: RunStore) -> None:
    saved(store, calls=(Pending("1"),), by="a")
    assert store.ask(hold(by="b"), "ask-1", b"may I", is_held=False) is False
    assert store.ask(hold(), "ask-1", b"may I", is_held=False) is True
    (call,) = viewed(store).calls
    assert (call.held_by, call.asking, call.request) == (None, "ask-1", b"may I")
    won = store.decide("run-1", SCOPE, "ask-1", b"yes", "b")
    assert isinstance(won, DecidedHere)
    assert won.hold == hold(by="b", take=2)
    assert store.settle(hold(), b"a has let it go") is False


def test_the_answer_to_a_question_reaches_the_node_that_runs_the_call(store: RunStore) -> None:
    saved(store, calls=(Pending("1"),), by="a")
    assert store.ask(hold(), "ask-1", b"which", is_held=True) is True
    assert store.answers("run-1", "a") == ()
    assert store.decide("run-1", SCOPE, "ask-1", b"that", "b") == DecidedElsewhere(hold())
    assert store.answers("run-1", "a") == (("1", b"that"),)
    assert store.answers("run-1", "b") == ()
    assert store.ask(hold(), "ask-2", b"and now", is_held=True) is True
    assert store.answers("run-1", "a") == ()
    assert store.settle(hold(), b"done") is True


def test_the_question_of_a_dead_node_is_withdrawn_when_its_call_is_taken_over(
    store: RunStore, place: Place
) -> None:
    saved(store, calls=(Pending("1", asking="ask-1"),), by="a")
    place.kill(store, "a")
    (call,) = claimed(store, by="b").calls
    assert (call.held_by, call.take, call.asking) == ("b", 2, None)


def test_a_decision_whose_holder_died_is_there_for_whoever_takes_the_call_over(
    store: RunStore, place: Place
) -> None:
    saved(store, calls=(Pending("1", is_held=False, asking="ask-1"),), by="a")
    store.decide("run-1", SCOPE, "ask-1", b"yes", "b")
    place.kill(store, "b")
    got = claimed(store, by="a")
    assert got.taken == (hold(by="a", take=3),)
    assert got.calls[0].decision == b"yes"


# --- requests that are sent twice


def test_a_request_that_is_sent_again_is_told_what_became_of_its_run(store: RunStore) -> None:
    claim = store.reserve(REQUEST, "run-1", "a", TTL)
    assert isinstance(claim, Claim)
    assert claim == Claim("run-1", "a", 1)
    again = store.reserve(REQUEST, "run-2", "b", TTL)
    assert isinstance(again, View)
    assert (again.label.run_id, again.holder, again.state, again.digest) == ("run-1", "a", None, b"digest")
    assert store.list_runs() == []
    snapshot = Snapshot(label(), b"state", b"delta", b"waiting")
    store.save(snapshot, (), "a", claim=claim)
    again = store.reserve(REQUEST, "run-3", "b", TTL)
    assert isinstance(again, View)
    assert (again.state, again.answer, again.holder) == (b"state", b"waiting", None)
    store.finish("run-1", "completed", claim=claimed(store).claim, result=b"value", keep_ms=KEEP_MS)
    last = store.reserve(REQUEST, "run-4", "b", TTL)
    assert isinstance(last, Ending)
    assert (last.run_id, last.how, last.result, last.digest) == ("run-1", "completed", b"value", b"digest")
    assert store.totals() == Totals(0, 0)


def test_a_reserved_run_that_ends_in_its_first_leg_keeps_its_result(store: RunStore) -> None:
    claim = store.reserve(REQUEST, "run-1", "a", TTL)
    assert isinstance(claim, Claim)
    assert store.finish("run-1", "completed", claim=claim, result=b"value", keep_ms=KEEP_MS) is True
    again = store.reserve(REQUEST, "run-2", "a", TTL)
    assert isinstance(again, Ending)
    assert again.result == b"value"


def test_requests_of_other_callers_are_other_requests(store: RunStore) -> None:
    store.reserve(REQUEST, "run-1", "a", TTL)
    other = ExecRequest(RunScope("agent-1", "session-2", "turn-1", "call-1"), "request-1", b"digest")
    assert store.reserve(other, "run-2", "a", TTL) == Claim("run-2", "a", 1)
    next_call = ExecRequest(RunScope("agent-1", "session-1", "turn-1", "call-9"), "request-1", b"digest")
    assert isinstance(store.reserve(next_call, "run-3", "a", TTL), View)


def test_a_reserved_run_whose_node_died_before_it_did_anything_is_begun_again(
    store: RunStore, place: Place
) -> None:
    old = store.reserve(REQUEST, "run-1", "a", TTL)
    place.kill(store, "a")
    assert store.reserve(REQUEST, "run-2", "b", TTL) == Claim("run-1", "b", 2)
    assert isinstance(old, Claim)
    assert store.finish("run-1", "completed", claim=old, result=b"late", keep_ms=KEEP_MS) is False


def test_a_reserved_run_whose_node_died_after_it_did_something_is_interrupted(
    store: RunStore, place: Place
) -> None:
    claim = store.reserve(REQUEST, "run-1", "a", TTL)
    assert isinstance(claim, Claim)
    assert store.touch(claim) is True
    place.kill(store, "a")
    again = store.reserve(REQUEST, "run-2", "b", TTL)
    assert isinstance(again, Ending)
    assert (again.run_id, again.how) == ("run-1", "interrupted")


def test_a_reservation_that_is_released_or_left_by_a_dead_node_is_forgotten(
    store: RunStore, place: Place
) -> None:
    claim = store.reserve(REQUEST, "run-1", "a", TTL)
    assert isinstance(claim, Claim)
    assert store.release(claim) is True
    assert store.look("run-1", SCOPE) is None
    assert store.reserve(REQUEST, "run-2", "a", TTL) == Claim("run-2", "a", 1)
    place.kill(store, "a")
    assert store.expire() == []
    assert store.look("run-2", SCOPE) is None
    assert store.reserve(REQUEST, "run-3", "b", TTL) == Claim("run-3", "b", 1)


# --- totals


def test_totals_count_snapshots_and_what_was_recorded_for_them(store: RunStore) -> None:
    saved(store, calls=(Pending("1"), Pending("2")))
    store.settle(hold("1"), b"123")
    assert store.totals() == Totals(1, 13)
    claim = claimed(store).claim
    store.settle(hold("2"), b"12")
    store.save(Snapshot(label(), b"1", b""), (Pending("2"),), "a", claim=claim)
    assert store.totals() == Totals(1, 3)
    assert viewed(store).size_bytes == 3
    store.finish("run-1", "aborted", caller=SCOPE, keep_ms=KEEP_MS)
    assert store.totals() == Totals(0, 0)


def test_an_outcome_over_a_limit_is_refused(place: Place) -> None:
    store = place.open(StoreLimits(max_snapshot_bytes=10, max_total_bytes=12))
    store.join(node("a"))
    saved(store, state=b"", calls=(Pending("1"),))
    for outcome in (b"x" * 11, b"x" * 8):
        with pytest.raises(StoreFull):
            store.settle(hold(), outcome)
    assert store.settle(hold(), b"x" * 7) is True


# --- hints


class Heard:
    """Keeps hints, and waits for the first that names a run."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self._news = threading.Condition()

    def __call__(self, run_ids: Collection[str]) -> None:
        with self._news:
            self.ids.update(run_ids)
            self._news.notify_all()

    def wait_for(self, run_id: str) -> bool:
        with self._news:
            return self._news.wait_for(lambda: run_id in self.ids, timeout=20)


@pytest.mark.parametrize("step", ["claim", "settle", "decide", "finish", "save"])
def test_a_node_is_told_that_a_run_it_watches_was_changed_by_another(place: Place, step: str) -> None:
    ours, theirs = place.open(), place.open()
    for name in ("a", "b"):
        theirs.join(node(name))
    saved(theirs, calls=(Pending("1"), Pending("2", is_held=False, asking="ask-1")), by="b")
    claim = claimed(theirs, by="b").claim if step == "save" else None
    heard = Heard()
    feed = ours.feed("a", heard)
    feed.watch("run-1", soon=True)
    match step:
        case "claim":
            claimed(theirs, by="b")
        case "settle":
            theirs.settle(hold(by="b"), b"done")
        case "decide":
            theirs.decide("run-1", SCOPE, "ask-1", b"yes", "b")
        case "finish":
            theirs.finish("run-1", "aborted", caller=SCOPE, keep_ms=KEEP_MS)
        case _:
            theirs.save(Snapshot(label(), b"state", b"delta"), (), "b", claim=claim)
    assert heard.wait_for("run-1")
    feed.close()
    feed.close()


def test_a_run_that_is_not_watched_any_more_brings_no_hints(place: Place) -> None:
    ours, theirs = place.open(), place.open()
    for name in ("a", "b"):
        theirs.join(node(name))
    heard = Heard()
    feed = ours.feed("a", heard)
    for run_id in ("run-1", "run-2"):
        saved(theirs, run_id, by="b")
        feed.watch(run_id, soon=True)
    feed.forget("run-1")
    heard.ids.clear()  # a hint at the save may have come after the watch
    claimed(theirs, "run-1", by="b")
    claimed(theirs, "run-2", by="b")
    assert heard.wait_for("run-2")
    assert heard.ids == {"run-2"}
    feed.close()


def test_the_build_of_a_run_is_compared_as_a_whole(store: RunStore) -> None:
    saved(store)
    assert not isinstance(store.claim("run-1", SCOPE, (BUILD + "x", "build"), "a"), Claim)
    assert viewed(store).holder is None
