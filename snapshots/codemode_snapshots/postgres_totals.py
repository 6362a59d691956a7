"""What a PostgreSQL store holds, softly: counted by one node every ten seconds, and between by what we did.

A counter that each change updates would make all writers wait for one row. So the limits of the store hold
with some slack while many nodes write at once.
"""

from __future__ import annotations

import threading
import time

from codemode_snapshots.postgres_connections import Connections
from codemode_snapshots.postgres_statements import COUNT
from codemode_snapshots.records import Totals

_FRESH_SECONDS = 10.0


class SoftTotals:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._guard = threading.Lock()
        self._counted = Totals(0, 0)
        self._runs = self._bytes = 0  # our own changes since then
        self._until = 0.0  # of the monotonic clock

    def now(self) -> Totals:
        if time.monotonic() >= self._until:
            row = self._connections.row(COUNT)
            with self._guard:
                self._counted = Totals(0, 0) if row is None else Totals(int(row[0]), int(row[1]))
                self._runs = self._bytes = 0
                self._until = time.monotonic() + _FRESH_SECONDS
        return Totals(max(0, self._counted.runs + self._runs), max(0, self._counted.bytes + self._bytes))

    def add(self, runs: int, size: int) -> None:
        with self._guard:
            self._runs += runs
            self._bytes += size
