"""Where the run stores under test are, and what a test does to them that no method of a store does.

Whatever holds for a RunStore is tested against each place. A place can be opened several times, as several
processes would.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Protocol

from codemode_snapshots.bounds import StoreLimits
from codemode_snapshots.memory import MemoryStore
from codemode_snapshots.postgres import PostgresStore
from codemode_snapshots.postgres_schema import migrate
from codemode_snapshots.records import NodeInfo, Pending, Snapshot
from codemode_snapshots.run_store import RunStore
from codemode_snapshots.sqlite import SqliteStore

from tests.harness.postgres import run_sql
from tests.snapshots.samples import BUILD, NOW, TTL, label

KEEP_MS = 60_000
KEY_ID = "00" * 8
DEFAULTS = StoreLimits()


class Place(Protocol):
    def open(self, limits: StoreLimits = DEFAULTS) -> RunStore: ...

    def pass_time(self, ms: int) -> None:
        """As if so much time went by for runs and endings, and none for leases."""
        ...

    def kill(self, store: RunStore, name: str) -> None:
        """As if the node had not beaten for longer than its lease."""
        ...

    def close(self) -> None: ...


class MemoryPlace:
    def __init__(self, folder: Path) -> None:
        self._passed = 0
        self._store: MemoryStore | None = None

    def open(self, limits: StoreLimits = DEFAULTS) -> RunStore:
        if self._store is None:
            self._store = MemoryStore(limits, lambda: NOW + self._passed)
        return self._store

    def pass_time(self, ms: int) -> None:
        self._passed += ms

    def kill(self, store: RunStore, name: str) -> None:
        store.leave(name)  # in one process no lease lapses

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


class SqlitePlace:
    def __init__(self, folder: Path) -> None:
        self._file = folder / "runs.sqlite"
        self._passed = 0
        self._stores: list[SqliteStore] = []

    def open(self, limits: StoreLimits = DEFAULTS) -> RunStore:
        self._stores.append(SqliteStore(self._file, limits, lambda: NOW + self._passed))
        return self._stores[-1]

    def pass_time(self, ms: int) -> None:
        self._passed += ms

    def kill(self, store: RunStore, name: str) -> None:
        connection = sqlite3.connect(self._file)
        with connection:
            connection.execute("UPDATE nodes SET lease_until_ms = 1 WHERE node = ?", (name,))
        connection.close()

    def close(self) -> None:
        for store in self._stores:
            store.close()


class PostgresPlace:
    """Time passes by taking it away from what is stored: the clock of the database decides, and stays."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: list[PostgresStore] = []
        migrate(url, KEY_ID)

    def open(self, limits: StoreLimits = DEFAULTS) -> RunStore:
        self._opened.append(PostgresStore(self._url, limits))
        return self._opened[-1]

    def pass_time(self, ms: int) -> None:
        passed = f"interval '{ms} milliseconds'"
        run_sql(self._url, f"UPDATE codemode.runs SET expires_at = expires_at - {passed}")
        run_sql(self._url, f"UPDATE codemode.endings SET at = at - {passed}, until = until - {passed}")

    def kill(self, store: RunStore, name: str) -> None:
        run_sql(self._url, f"UPDATE codemode.nodes SET lease_until = now() WHERE node = '{name}'")

    def close(self) -> None:
        for store in self._opened:
            store.close()


def node(name: str) -> NodeInfo:
    return NodeInfo(name, (BUILD,), (KEY_ID,))


def saved(
    store: RunStore,
    run_id: str = "run-1",
    calls: tuple[Pending, ...] = (),
    *,
    by: str = "a",
    state: bytes = b"state",
    delta: bytes = b"delta",
    ttl_ms: int = TTL,
) -> Snapshot:
    """Suspends a run, and returns what was saved. Stores never look inside, so short bytes will do."""
    snapshot = Snapshot(label(run_id, ttl_ms=ttl_ms), state, delta)
    store.save(snapshot, calls, by)
    return snapshot
