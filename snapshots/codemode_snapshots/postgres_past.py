"""Runs that are over, in the PostgreSQL database of a store."""

from __future__ import annotations

from collections.abc import Sequence

from codemode_snapshots.label import is_text
from codemode_snapshots.past import PastBounds, PastQuery, PastRun
from codemode_snapshots.past_rows import COLUMNS, LISTED, NEWEST, row_of, run_of
from codemode_snapshots.postgres_connections import Connections

_CONTAINS = "position(%s in words) > 0"
_TYPES = ("text[]",) * 8 + ("bigint[]",) * 2 + ("int[]",) * 2 + ("text[]",) * 2 + ("bigint[]", "bytea[]")
_PLACES = ", ".join(f"%s::{kind}" for kind in _TYPES)
# Whole columns in one statement: a batch is one round trip. Of two engines that keep the same run the later
# one has the last word.
_ADD = (
    f"INSERT INTO codemode.past ({COLUMNS}) SELECT * FROM unnest({_PLACES})"  # noqa: S608 - constants
    " ON CONFLICT (run_id) DO UPDATE SET status = excluded.status, code = excluded.code,"
    " ended_at_ms = excluded.ended_at_ms, legs = excluded.legs, calls = excluded.calls,"
    " tools = excluded.tools, words = excluded.words, size_bytes = excluded.size_bytes, body = excluded.body"
)
_DROP = """DELETE FROM codemode.past WHERE ended_at_ms < %s OR run_id IN (
    SELECT run_id FROM (SELECT run_id, row_number() OVER newest AS place, sum(size_bytes) OVER newest AS bytes
        FROM codemode.past WINDOW newest AS (ORDER BY ended_at_ms DESC, run_id DESC)) counted
    WHERE place > %s OR bytes > %s)"""
_DROP_EVERY = 50  # batches: counting reads an index of all that is kept


class PostgresPast:
    """PastRuns of one store."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._batches = 0

    def add(self, runs: Sequence[PastRun], bounds: PastBounds) -> None:
        if not runs:
            return
        last = {run.run_id: run for run in runs}  # a statement may touch a row once
        columns = [list(column) for column in zip(*map(row_of, last.values()), strict=True)]
        self._connections.rows(_ADD, columns)
        self._batches += 1
        if self._batches % _DROP_EVERY == 1 or len(runs) > bounds.max_runs // 2:
            newest = max(run.ended_at_ms for run in runs)
            drop = [newest - bounds.max_age_ms, bounds.max_runs, bounds.max_bytes]
            self._connections.rows(_DROP, drop)

    def find(self, query: PastQuery, limit: int) -> list[PastRun]:
        if not query.is_text:
            return []
        where, values = query.conditions("%s", _CONTAINS)
        statement = f"SELECT {LISTED} FROM codemode.past{where}{NEWEST} LIMIT %s"  # noqa: S608 - values are apart
        return [run_of(row) for row in self._connections.rows(statement, [*values, limit])]

    def get(self, run_id: str) -> PastRun | None:
        if not is_text(run_id):
            return None
        statement = f"SELECT {LISTED}, body FROM codemode.past WHERE run_id = %s"  # noqa: S608 - constants
        row = self._connections.row(statement, [run_id])
        return None if row is None else run_of(row[:-1], bytes(row[-1]))

    def totals(self, query: PastQuery) -> tuple[int, int]:
        if not query.is_text:
            return 0, 0
        where, values = query.conditions("%s", _CONTAINS)
        row = self._connections.row(
            f"SELECT count(*), coalesce(sum(size_bytes), 0)::bigint FROM codemode.past{where}",  # noqa: S608 - values are apart
            values,
        )
        return (0, 0) if row is None else (int(row[0]), int(row[1]))
