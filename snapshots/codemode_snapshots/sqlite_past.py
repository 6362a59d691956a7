"""Runs that are over, in the SQLite file of a store."""

from __future__ import annotations

from collections.abc import Sequence

from codemode_snapshots.label import is_text
from codemode_snapshots.past import PastBounds, PastQuery, PastRun
from codemode_snapshots.past_rows import COLUMNS, LISTED, NEWEST, row_of, run_of
from codemode_snapshots.sqlite_tables import Tables

_CONTAINS = "instr(words, ?) > 0"
_ADD = f"INSERT OR REPLACE INTO past ({COLUMNS}) VALUES ({', '.join('?' * 16)})"  # noqa: S608 - constants
# The oldest ends beyond the number or the bytes: an index alone has what is summed up.
_DROP = """DELETE FROM past WHERE run_id IN (
    SELECT run_id FROM (SELECT run_id, row_number() OVER newest AS place, sum(size_bytes) OVER newest AS bytes
        FROM past WINDOW newest AS (ORDER BY ended_at_ms DESC, run_id DESC))
    WHERE place > ? OR bytes > ?)"""


class SqlitePast:
    """PastRuns of one store."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._added = 0

    def add(self, runs: Sequence[PastRun], bounds: PastBounds) -> None:
        if not runs:
            return
        with self._tables.writing():
            for run in runs:
                self._tables.do(_ADD, *row_of(run))
            newest = max(run.ended_at_ms for run in runs)
            self._tables.do("DELETE FROM past WHERE ended_at_ms < ?", newest - bounds.max_age_ms)
            count, size = self._tables.one("SELECT count(*), coalesce(sum(size_bytes), 0) FROM past")
            if count > bounds.max_runs or size > bounds.max_bytes:
                self._tables.do(_DROP, bounds.max_runs, bounds.max_bytes)

    def find(self, query: PastQuery, limit: int) -> list[PastRun]:
        if not query.is_text:
            return []
        where, values = query.conditions("?", _CONTAINS)
        statement = f"SELECT {LISTED} FROM past{where}{NEWEST} LIMIT ?"  # noqa: S608 - values are apart
        with self._tables.reading():
            return [run_of(row) for row in self._tables.do(statement, *values, limit).fetchall()]

    def get(self, run_id: str) -> PastRun | None:
        if not is_text(run_id):
            return None
        with self._tables.reading():
            statement = f"SELECT {LISTED}, body FROM past WHERE run_id = ?"  # noqa: S608 - constants
            row = self._tables.one(statement, run_id)
        return None if row is None else run_of(row[:-1], bytes(row[-1]))

    def totals(self, query: PastQuery) -> tuple[int, int]:
        if not query.is_text:
            return 0, 0
        where, values = query.conditions("?", _CONTAINS)
        with self._tables.reading():
            row = self._tables.one(
                f"SELECT count(*), coalesce(sum(size_bytes), 0) FROM past{where}",  # noqa: S608 - values are apart
                *values,
            )
        return int(row[0]), int(row[1])
