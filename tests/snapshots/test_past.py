"""What every store promises about runs that are over: lists, filters, pages, bounds."""

from __future__ import annotations

from typing import Any

import msgspec
from codemode_snapshots import PastBounds, PastQuery, PastRun, RunScope
from codemode_snapshots.run_store import RunStore

BOUNDS = PastBounds(max_runs=100, max_bytes=1 << 20, max_age_ms=1_000_000)


def past(number: int, **given: Any) -> PastRun:
    run = PastRun(
        run_id=f"run-{number}",
        scope=RunScope("main", given.pop("session", "s1"), "-", "-"),
        status="completed",
        code="",
        language="javascript",
        started_at_ms=1_000 + number,
        ended_at_ms=2_000 + number,
        legs=1,
        calls=2,
        tools=("host:pay", "host:ship"),
        words=f" run-{number} main pay ship ",
        body=b"body",
    )
    return msgspec.structs.replace(run, **given)


def ids(found: list[PastRun]) -> list[str]:
    return [run.run_id for run in found]


def test_a_run_that_is_over_is_found_as_it_was_kept_and_in_lists_without_its_body(store: RunStore) -> None:
    store.past.add([past(1)], BOUNDS)
    assert store.past.get("run-1") == past(1)
    assert store.past.find(PastQuery(), 10) == [past(1, body=b"")]
    assert store.past.get("run-2") is None
    assert store.past.get("\udc80") is None


def test_lists_have_the_latest_start_first_and_go_on_where_a_page_ended(store: RunStore) -> None:
    store.past.add([past(number) for number in (2, 1, 3)], BOUNDS)
    store.past.add([past(4, started_at_ms=1_003)], BOUNDS)
    assert ids(store.past.find(PastQuery(), 10)) == ["run-4", "run-3", "run-2", "run-1"]
    assert ids(store.past.find(PastQuery(before=(1_003, "run-4")), 2)) == ["run-3", "run-2"]


def test_a_run_that_is_kept_again_replaces_itself(store: RunStore) -> None:
    store.past.add([past(1), past(1, status="failed", code="timeout")], BOUNDS)
    found = store.past.get("run-1")
    assert found is not None
    assert (found.status, found.code) == ("failed", "timeout")
    assert store.past.totals(PastQuery())[0] == 1


FILTERS: list[tuple[PastQuery, list[str]]] = [
    (PastQuery(session="s2"), ["run-2"]),
    (PastQuery(agent="other"), []),
    (PastQuery(sessions=("s*",)), ["run-3", "run-2", "run-1"]),
    (PastQuery(sessions=("s2", "t1")), ["run-2"]),
    (PastQuery(sessions=()), []),
    (PastQuery(statuses=("failed", "aborted")), ["run-3"]),
    (PastQuery(words=("pay", "run-2")), ["run-2"]),
    (PastQuery(words=(" shi ",)), []),
    (PastQuery(words=("%",)), []),
    (PastQuery(since_ms=1_002), ["run-3", "run-2"]),
    (PastQuery(until_ms=1_002), ["run-1"]),
    (PastQuery(words=("\udc80",)), []),
    (PastQuery(words=("nul\0",)), []),
    (PastQuery(session="'; DROP TABLE past; --"), []),
]


def test_filters_leave_what_fits(store: RunStore) -> None:
    store.past.add([past(1), past(2, session="s2"), past(3, status="failed")], BOUNDS)
    for query, found in FILTERS:
        assert ids(store.past.find(query, 10)) == found, query
        assert store.past.totals(query)[0] == len(found), query


def test_beyond_the_number_the_oldest_ends_are_forgotten(store: RunStore) -> None:
    for number in range(10):
        store.past.add([past(number)], msgspec.structs.replace(BOUNDS, max_runs=1_000))
    store.past.add([past(10), past(11)], msgspec.structs.replace(BOUNDS, max_runs=3))
    assert ids(store.past.find(PastQuery(), 20)) == ["run-11", "run-10", "run-9"]


def test_beyond_the_bytes_the_oldest_ends_are_forgotten(store: RunStore) -> None:
    size = past(1).size
    store.past.add([past(number) for number in range(5)], msgspec.structs.replace(BOUNDS, max_bytes=3 * size))
    assert ids(store.past.find(PastQuery(), 20)) == ["run-4", "run-3", "run-2"]
    assert store.past.totals(PastQuery()) == (3, 3 * size)


def test_what_ended_too_long_ago_is_forgotten(store: RunStore) -> None:
    late = past(2, ended_at_ms=5_000_000)
    store.past.add([past(1), late], BOUNDS)
    assert ids(store.past.find(PastQuery(), 20)) == ["run-2"]
