"""Stores that several processes use, for tests of many nodes: an SQLite file, and a PostgreSQL database."""

from __future__ import annotations

import sqlite3
from typing import Protocol

from codemode_snapshots import key_id
from codemode_snapshots.postgres_schema import migrate

from tests.harness.postgres import run_sql

KEY = bytes(range(32))


class Shared(Protocol):
    address: str

    def lapse(self, pid: int) -> None:
        """The lease of the node in this process is over, as if it had not beaten for so long."""
        ...


class SharedFile:
    def __init__(self, address: str) -> None:
        self.address = address

    def lapse(self, pid: int) -> None:
        connection = sqlite3.connect(self.address)
        with connection:
            connection.execute("UPDATE nodes SET lease_until_ms = 1 WHERE process LIKE ?", (f"% {pid} %",))
        connection.close()


class SharedDatabase:
    def __init__(self, address: str) -> None:
        migrate(address, key_id(KEY).hex())
        self.address = address

    def lapse(self, pid: int) -> None:
        lapsed = f"UPDATE codemode.nodes SET lease_until = now() WHERE process LIKE '% {pid} %'"
        run_sql(self.address, lapsed)
