"""Rows that no store wrote: whatever is in a column, each method answers or says that the file is damaged."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from codemode_snapshots import (
    Claimed,
    ExecRequest,
    Hold,
    Pending,
    SnapshotError,
    StoreUnavailable,
    Totals,
)
from codemode_snapshots.sqlite import SqliteStore

from tests.snapshots.places import node
from tests.snapshots.samples import BUILD, NOW, SCOPE, sealed

VALUES = ("x", b"\xff\0", (1 << 63) - 1, None)


def filled(path: Path) -> SqliteStore:
    """Runs with calls that settled, go on and ask; one that is reserved, and one that has ended."""
    store = SqliteStore(path, clock=lambda: NOW)
    store.join(node("a"))
    store.reserve(ExecRequest(SCOPE, "request-1", b"digest"), "run-r", "a", 9_000)
    for run_id in ("run-0", "run-1", "run-2"):
        calls = (Pending("1"), Pending("2"), Pending("3", is_held=False, asking="asked"))
        store.save(sealed(run_id), calls, "a")
        store.settle(Hold(run_id, "1", "a", 1), b"{}")
        store.ask(Hold(run_id, "2", "a", 1), "question", b"{}", is_held=True)
    store.finish("run-0", "aborted", caller=SCOPE, keep_ms=9_000)
    return store


def use(store: SqliteStore) -> None:
    """Each step is tried, whatever the one before was refused for."""

    def claimed() -> None:
        found = store.claim("run-2", SCOPE, (BUILD,), "b")
        if isinstance(found, Claimed):
            with suppress(SnapshotError):
                store.collect(found.claim, ("1", "2"))
            store.save(sealed("run-2"), (Pending("2"), Pending("4")), "b", claim=found.claim)

    steps: tuple[Callable[[], object], ...] = (
        lambda: store.join(node("b")),
        lambda: store.beat("a", Totals(1, 1)),
        store.list_runs,
        store.totals,
        lambda: store.numbers(("run-1", "run-2")),
        lambda: store.look("run-1", SCOPE),
        lambda: store.look("run-0", SCOPE),
        lambda: store.reserve(ExecRequest(SCOPE, "request-1", b"digest"), "run-s", "b", 9_000),
        lambda: store.decide("run-1", SCOPE, "asked", b"yes", "b"),
        lambda: store.decide("run-1", SCOPE, "question", b"yes", "b"),
        lambda: store.answers("run-1", "a"),
        lambda: store.settle(Hold("run-1", "2", "a", 1), b"{}"),
        claimed,
        lambda: store.finish("run-1", "aborted", caller=SCOPE, keep_ms=9_000),
        store.expire,
    )
    for step in steps:
        with suppress(SnapshotError):
            step()


def columns(path: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(path) as connection:
        tables = ("runs", "bodies", "calls", "endings", "nodes", "totals")
        found = [
            (name, row[1]) for name in tables for row in connection.execute(f"PRAGMA table_info({name})")
        ]
    connection.close()
    return found


def test_whatever_stands_in_a_column_every_method_answers_or_refuses(tmp_path: Path) -> None:
    good, tried = tmp_path / "good", tmp_path / "tried"
    filled(good).close()
    for table, column in columns(good):
        for value in VALUES:
            shutil.copy(good, tried)
            connection = sqlite3.connect(tried)
            with suppress(sqlite3.IntegrityError), connection:
                connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
            connection.close()
            store = SqliteStore(tried, clock=lambda: NOW)
            use(store)
            store.close()
            for left in tmp_path.glob("tried*"):
                left.unlink()


@pytest.mark.parametrize("value", ["x", b"\xff"])
def test_an_approval_whose_row_is_damaged_is_not_given(tmp_path: Path, value: object) -> None:
    store = filled(tmp_path / "runs")
    with sqlite3.connect(tmp_path / "runs") as other:
        other.execute("UPDATE calls SET take = ?", (value,))
    other.close()
    with pytest.raises(StoreUnavailable, match="holds a row that no store wrote; restore it from a backup"):
        store.decide("run-1", SCOPE, "asked", b"yes", "b")
    store.close()


def test_totals_that_are_wrong_do_not_keep_a_store_busy_for_ever(tmp_path: Path) -> None:
    store = filled(tmp_path / "runs")
    with sqlite3.connect(tmp_path / "runs") as other:
        other.execute("UPDATE totals SET endings = 1000000000, result_bytes = 1000000000000")
    other.close()
    assert store.finish("run-1", "aborted", caller=SCOPE, keep_ms=9_000)
    store.close()
