"""What only the PostgreSQL store promises: whose clock counts, what an outage costs, how much it asks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest
from codemode_snapshots import StoreUnavailable
from codemode_snapshots.postgres import PostgresStore
from codemode_snapshots.postgres_connections import Lost
from codemode_snapshots.postgres_schema import migrate
from codemode_snapshots.records import (
    Claim,
    Claimed,
    DecidedHere,
    Ending,
    Hold,
    NotClaimed,
    Pending,
    Snapshot,
    Totals,
    View,
)

from tests.harness.postgres import postgres_server, run_sql
from tests.snapshots.places import KEEP_MS, KEY_ID, node, saved
from tests.snapshots.samples import BUILD, SCOPE, TTL, label

HOUR_MS = 3_600_000
ASKING = Pending("1", is_held=False, asking="ask-1")
ASKING_TWO = Pending("2", is_held=False, asking="ask-2")


@pytest.fixture
def store(database: str) -> Iterator[PostgresStore]:
    migrate(database, KEY_ID)
    opened = PostgresStore(database)
    for name in ("a", "b"):
        opened.join(node(name))
    yield opened
    opened.close()


def claimed(store: PostgresStore, by: str = "a", run_id: str = "run-1") -> Claimed:
    got = store.claim(run_id, SCOPE, (BUILD,), by)
    assert isinstance(got, Claimed)
    return got


# --- clocks


@pytest.mark.parametrize("off_ms", [-HOUR_MS, HOUR_MS])
def test_a_node_whose_clock_is_an_hour_off_saves_runs_that_live_as_long_as_all(
    store: PostgresStore, database: str, off_ms: int
) -> None:
    store.save(Snapshot(label(now_ms=label().created_at_ms + off_ms), b"state", b"delta"), (), "a")
    (left_ms,) = run_sql(database, "SELECT extract(epoch FROM expires_at - now()) * 1000 FROM codemode.runs")[
        0
    ]
    assert TTL - 60_000 < left_ms <= TTL
    assert store.expire() == []
    assert isinstance(claimed(store, "b"), Claimed)


# --- outages


def test_a_store_whose_server_was_restarted_goes_on_and_has_lost_nothing() -> None:
    with postgres_server() as server:
        migrate(server.url(), KEY_ID)
        store = PostgresStore(server.url())
        store.join(node("a"))
        saved(store, calls=(Pending("1"),))
        claim = claimed(store).claim
        server.stop()
        for step in _steps(store, claim):
            with pytest.raises(StoreUnavailable, match=r"^PostgreSQL (cannot be reached|is starting)"):
                step()
        server.start()
        assert store.beat("a", Totals(0, 0)) is True  # its lease was longer than the outage
        assert store.touch(claim) is True
        assert store.settle(Hold("run-1", "1", "a", 1), b"done") is True
        store.save(Snapshot(label(), b"state", b"delta"), (Pending("1"),), "a", claim=claim)
        assert [one.outcome for one in claimed(store).settled] == [b"done"]
        store.close()


def _steps(store: PostgresStore, claim: Claim) -> list[Callable[[], object]]:
    return [
        lambda: store.join(node("b")),
        lambda: store.beat("a", Totals(0, 0)),
        lambda: store.save(Snapshot(label("run-2"), b"state", b"delta"), (), "a"),
        lambda: store.look("run-1", SCOPE),
        lambda: store.claim("run-1", SCOPE, (BUILD,), "a"),
        lambda: store.touch(claim),
        lambda: store.settle(Hold("run-1", "1", "a", 1), b"done"),
        lambda: store.decide("run-1", SCOPE, "ask-1", b"yes", "a"),
        lambda: store.finish("run-1", "aborted", caller=SCOPE, keep_ms=KEEP_MS),
        store.expire,
        store.list_runs,
    ]


def test_an_outage_longer_than_the_lease_fences_the_node_and_it_joins_anew() -> None:
    with postgres_server() as server:
        migrate(server.url(), KEY_ID)
        store = PostgresStore(server.url(), lease_ms=1)
        store.join(node("a"))
        saved(store, calls=(Pending("1"),))
        server.stop()
        server.start()
        assert store.beat("a", Totals(0, 0)) is False
        other = PostgresStore(server.url())
        other.join(node("b"))
        assert claimed(other, "b").taken == (Hold("run-1", "1", "b", 2),)
        assert store.settle(Hold("run-1", "1", "a", 1), b"late") is False
        for one in (store, other):
            one.close()


def test_a_crash_of_the_database_takes_no_decision_no_touch_and_no_abort() -> None:
    with postgres_server() as server:
        migrate(server.url(), KEY_ID)
        store = PostgresStore(server.url())
        store.join(node("a"))
        steps: dict[str, Callable[[], object]] = {
            "touched": lambda: store.touch(claimed(store, run_id="touched").claim),
            "decided": lambda: store.decide("decided", SCOPE, "ask-1", b"yes", "a"),
            "aborted": lambda: store.finish("aborted", "aborted", caller=SCOPE, keep_ms=KEEP_MS),
        }
        for run_id, step in steps.items():
            saved(store, run_id, (ASKING,))
            assert step()
            server.crash()  # takes what nothing durable came after
            server.start()
        assert isinstance(store.claim("touched", SCOPE, (BUILD,), "a"), NotClaimed)
        store.leave("a")
        endings = {run_id: store.look(run_id, SCOPE) for run_id in ("touched", "aborted")}
        assert {run_id: found.how for run_id, found in endings.items() if isinstance(found, Ending)} == {
            "touched": "interrupted",
            "aborted": "aborted",
        }
        decided = store.look("decided", SCOPE)
        assert isinstance(decided, View)
        assert decided.calls[0].decision == b"yes"
        store.close()


class Cutter:
    """Lets a statement be carried out, and cuts the line before its answer."""

    def __init__(self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
        connections = store._connections  # pyright: ignore[reportPrivateUsage] - between store and server
        whole = connections.rows

        def cut(statement: str, values: object = ()) -> list[tuple[object, ...]]:
            monkeypatch.setattr(connections, "rows", whole)
            whole(statement, values)  # pyright: ignore[reportArgumentType] - as it was given
            raise Lost("the connection to PostgreSQL was lost; try again")

        monkeypatch.setattr(connections, "rows", cut)


def test_a_claim_whose_answer_was_lost_is_had_by_asking_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(store)
    store.totals()
    Cutter(store, monkeypatch)
    with pytest.raises(Lost):
        store.claim("run-1", SCOPE, (BUILD,), "a")
    got = claimed(store, "a")
    assert got.claim == Claim("run-1", "a", 2)
    assert store.touch(got.claim) is True
    assert store.claim("run-1", SCOPE, (BUILD,), "a") != got  # sure by now, so it is busy again


def test_a_claim_whose_answer_was_lost_and_that_nobody_asks_for_is_given_back(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(store)
    Cutter(store, monkeypatch)
    with pytest.raises(Lost):
        store.claim("run-1", SCOPE, (BUILD,), "a")
    found = store.look("run-1", SCOPE)
    assert isinstance(found, View)
    assert found.holder == "a"
    assert store.beat("a", Totals(0, 0)) is True
    assert claimed(store, "b").claim.number == 2


def test_a_decision_whose_answer_was_lost_is_had_by_asking_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(store, calls=(ASKING,))
    store.totals()
    Cutter(store, monkeypatch)
    with pytest.raises(Lost):
        store.decide("run-1", SCOPE, "ask-1", b"yes", "a")
    assert store.decide("run-1", SCOPE, "ask-1", b"no", "b") is None
    won = store.decide("run-1", SCOPE, "ask-1", b"yes", "a")
    assert isinstance(won, DecidedHere)
    assert won.hold == Hold("run-1", "1", "a", 2)
    assert won.view.calls[0].decision == b"yes"
    assert store.decide("run-1", SCOPE, "ask-1", b"yes", "a") is None


def test_a_decision_whose_answer_was_lost_and_that_nobody_asks_for_can_be_made_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(store, calls=(ASKING,))
    store.totals()
    Cutter(store, monkeypatch)
    with pytest.raises(Lost):
        store.decide("run-1", SCOPE, "ask-1", b"yes", "a")
    assert store.beat("a", Totals(0, 0)) is True
    won = store.decide("run-1", SCOPE, "ask-1", b"no", "b")
    assert isinstance(won, DecidedHere)
    assert (won.hold.node, won.view.calls[0].decision) == ("b", b"no")


# --- a claim beside a save


def test_a_claim_that_meets_a_save_under_way_has_the_calls_of_that_save(
    store: PostgresStore, database: str
) -> None:
    """A statement sees other tables as they were when it began: that is not mixed with the new snapshot."""
    saved(store)
    claim = claimed(store, "a").claim
    holder = PostgresStore(database)
    blocked = """SELECT count(*) FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = current_database()"""
    # a lock on the row holds both statements up, the save first
    with psycopg.connect(database) as locking:
        locking.execute("SELECT FROM codemode.runs WHERE run_id = 'run-1' FOR UPDATE")
        results: list[object] = []
        fresh = Snapshot(label(), b"second", b"delta")
        saving = threading.Thread(
            target=lambda: results.append(store.save(fresh, (Pending("7"),), "a", claim=claim))
        )
        saving.start()
        _until(database, blocked, 1)
        holder.leave("a")  # so that the claim can be taken over while its holder saves
        claiming = threading.Thread(
            target=lambda: results.append(holder.claim("run-1", SCOPE, (BUILD,), "b"))
        )
        claiming.start()
        _until(database, blocked, 2)
    saving.join()
    claiming.join()
    got = results[1]
    assert isinstance(got, Claimed)
    assert got.snapshot.state == b"second"
    assert [call.call_id for call in got.calls] == ["7"]
    assert got.taken == (Hold("run-1", "7", "b", 2),)
    holder.close()


def _until(database: str, query: str, count: int) -> None:
    while run_sql(database, query) != [(count,)]:
        pass


# --- how much it asks


def test_each_step_is_one_round_trip(store: PostgresStore) -> None:
    store.totals()  # counted once in ten seconds

    def trips(step: Callable[[], object]) -> int:
        before = store.round_trips
        step()
        return store.round_trips - before

    claims: list[Claim] = []
    counted = {
        "save": trips(lambda: saved(store, calls=(Pending("1"), ASKING_TWO))),
        "look": trips(lambda: store.look("run-1", SCOPE)),
        "settle": trips(lambda: store.settle(Hold("run-1", "1", "a", 1), b"done")),
        "decide": trips(lambda: store.decide("run-1", SCOPE, "ask-2", b"yes", "b")),
        "claim": trips(lambda: claims.append(claimed(store).claim)),
        "touch": trips(lambda: store.touch(claims[0])),
        "collect": trips(lambda: store.collect(claims[0], ("2",))),
        "finish": trips(lambda: store.finish("run-1", "completed", claim=claims[0], keep_ms=KEEP_MS)),
    }
    assert counted == dict.fromkeys(counted, 1)


# --- rows that no store wrote


def test_a_row_that_no_store_wrote_is_refused(store: PostgresStore, database: str) -> None:
    saved(store)
    run_sql(database, "UPDATE codemode.runs SET build_id = '  '")
    with pytest.raises(StoreUnavailable, match="a row that no store wrote"):
        store.look("run-1", SCOPE)
