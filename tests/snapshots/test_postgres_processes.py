"""One database, several real processes: races for the same runs, calls, approvals and requests."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from codemode_snapshots.postgres import PostgresStore
from codemode_snapshots.records import Claimed, Ending, Pending, View

from tests.harness.postgres import run_sql
from tests.harness.processes import PROJECT, environment
from tests.snapshots.places import PostgresPlace, node, saved
from tests.snapshots.samples import BUILD, SCOPE
from tests.snapshots.test_sqlite_processes import race

RUNS = 60
NAMES = {f"run-{number}": 1 for number in range(RUNS)}


def start(order: str, url: str, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.snapshots.postgres_child", order, url, name, str(RUNS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
        env=environment(),
    )


def raced(order: str, url: str) -> list[list[str]]:
    return race(*(start(order, url, f"racer-{number}") for number in range(4)))


@pytest.fixture
def store(database: str) -> PostgresStore:
    place = PostgresPlace(database)
    store = place.open()
    assert isinstance(store, PostgresStore)
    store.join(node("a"))
    for name in NAMES:
        saved(store, name, (Pending("1"), Pending("2", is_held=False, asking="ask-1")))
    return store


def winners(said: list[list[str]]) -> Counter[str]:
    return Counter(run_id for lines in said for run_id in lines)


@pytest.mark.guarantee("store-races")
def test_processes_that_race_for_the_same_runs_claim_each_exactly_once(
    store: PostgresStore, database: str
) -> None:
    said = raced("claim", database)
    assert winners(said) == NAMES
    # they ended without leaving, and their leases run: each holds what it said
    for number, lines in enumerate(said):
        for name in lines:
            found = store.look(name, SCOPE)
            assert isinstance(found, View)
            assert (found.holder, found.number) == (f"racer-{number}", 1)
    store.close()


@pytest.mark.guarantee("store-races")
def test_processes_that_race_to_settle_a_call_settle_it_once_and_the_claim_has_that_outcome(
    store: PostgresStore, database: str
) -> None:
    said = raced("settle", database)
    assert winners(said) == NAMES
    for number, lines in enumerate(said):
        for name in lines:
            got = store.claim(name, SCOPE, (BUILD,), "a")
            assert isinstance(got, Claimed)
            assert [one.outcome for one in got.settled] == [f"racer-{number}".encode()]
    store.close()


@pytest.mark.guarantee("store-races")
def test_of_all_who_decide_one_does_and_holds_the_call(store: PostgresStore, database: str) -> None:
    said = raced("decide", database)
    assert winners(said) == NAMES
    for number, lines in enumerate(said):
        for name in lines:
            found = store.look(name, SCOPE)
            assert isinstance(found, View)
            call = found.calls[1]
            racer = f"racer-{number}"
            assert (call.held_by, call.take, call.decision) == (racer, 2, racer.encode())
    store.close()


@pytest.mark.guarantee("store-races")
def test_of_all_who_end_a_run_one_does_and_its_ending_stays(store: PostgresStore, database: str) -> None:
    said = raced("finish", database)
    assert winners(said) == NAMES
    for number, lines in enumerate(said):
        for name in lines:
            found = store.look(name, SCOPE)
            assert isinstance(found, Ending)
            assert found.result == f"racer-{number}".encode()
    assert run_sql(database, "SELECT count(*) FROM codemode.calls") == [(0,)]
    store.close()


@pytest.mark.guarantee("store-races")
def test_a_request_sent_to_all_nodes_at_once_is_begun_by_one(store: PostgresStore, database: str) -> None:
    assert winners(raced("reserve", database)) == NAMES
    store.close()


def test_nodes_that_expire_at_once_report_each_run_once(store: PostgresStore, database: str) -> None:
    run_sql(database, "UPDATE codemode.runs SET expires_at = now()")
    assert winners(raced("expire", database)) == NAMES
    assert store.list_runs() == []
    assert run_sql(database, "SELECT count(*) FROM codemode.endings WHERE how = 'expired'") == [(RUNS,)]
    store.close()
