"""The rows of a run store in SQLite, and the small steps that its methods are made of.

Each step runs inside `writing` or `reading`, which give the one connection to one thread at a time.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

from codemode_snapshots.bounds import StoreLimits, is_past, is_stuck
from codemode_snapshots.errors import StoreUnavailable
from codemode_snapshots.label import Label, RunScope, is_text
from codemode_snapshots.records import Claim, Ending, Hold, How, Pending, Totals, View
from codemode_snapshots.sqlite_file import Schema, identity_of, open_database, transaction, translated
from codemode_snapshots.sqlite_nodes import Nodes
from codemode_snapshots.sqlite_records import CALLS, ENDING, RUN, RecordReader, StoredRun, scope_values
from codemode_snapshots.sqlite_schema import ADDED, SCHEMA, SCHEMA_VERSION

_OLDER = "let its runs end with that version, or move it away together with its -wal and -shm files"
_SCHEMA = Schema(SCHEMA_VERSION, SCHEMA, _OLDER, ADDED)
_SPARE_PAGES = 1024  # kept free for the next saves
_VACUUM_PAGES = 4096  # given back at most per purge, to bound its time
_OF_CALLER = " WHERE run_id = ? AND agent = ? AND session = ? AND agent_run = ?"

Value = str | int | bytes | bytearray | memoryview | None


class Tables:
    """One connection to the file; used by one store."""

    def __init__(self, path: Path, limits: StoreLimits, clock: Callable[[], int], lease_ms: int) -> None:
        self._path = path
        self._place = path.absolute()  # the process may go to another folder
        self._limits = limits
        self._clock = clock
        self._turn = threading.Lock()  # an engine, its beats and its feed share the connection
        self._connection = open_database(path, _SCHEMA)
        self._file = identity_of(self._place)
        self.nodes = Nodes(self._connection, lease_ms)
        self.read = RecordReader(path)

    @contextlib.contextmanager
    def writing(self, *, durable: bool = False) -> Generator[None]:
        with self.reading(), transaction(self._connection, durable=durable):
            yield

    @contextlib.contextmanager
    def reading(self) -> Generator[None]:
        """SQLite goes on in a file that was deleted, as if nothing were lost; looking costs a microsecond."""
        with self._turn, translated(self._path):
            if identity_of(self._place) != self._file:
                raise StoreUnavailable(
                    f"{self._path} was deleted or replaced while it was open: put it back, or start again"
                )
            self.nodes.begin()
            yield

    def close(self) -> None:
        with self._turn, translated(self._path):
            self._connection.close()

    def do(self, statement: str, *values: Value) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def one(self, statement: str, *values: Value) -> Any:
        return self._connection.execute(statement, values).fetchone()

    # ---- runs ----------------------------------------------------------------------------------------------

    def find(self, run_id: str, caller: RunScope) -> StoredRun | None:
        # Ids come from a model: SQLite fails at half a surrogate pair, and takes a number for its digits.
        if not is_text(run_id):
            return None
        row = self.one(RUN + _OF_CALLER, run_id, caller.agent, caller.session, caller.agent_run)
        return None if row is None else self.read.run(row)

    def held(self, claim: Claim) -> StoredRun | None:
        """The run, if the claim is still valid. It ends with its node's lease, also if nobody has taken it
        over: others may have been told so."""
        if self.nodes.dead({claim.node}):
            return None
        row = self.one(
            RUN + " WHERE run_id = ? AND claimed_by = ? AND number = ?",
            claim.run_id,
            claim.node,
            claim.number,
        )
        return None if row is None else self.read.run(row)

    def holder(self, run: StoredRun) -> str | None:
        """The living node that has claimed it."""
        by = run.claimed_by
        return by if by is not None and not self.nodes.dead({by}) else None

    def over(self, run: StoredRun) -> Ending | None:
        """How a run is over that nobody has ended yet."""
        now, expires = self._clock(), run.label.expires_at_ms
        is_dead = run.claimed_by is not None and self.holder(run) is None
        how: How | None = None
        if run.claimed_by is None or (is_dead and not run.is_touched):
            how = "expired" if is_past(expires, self._limits, now) else None
        elif is_dead or is_stuck(expires, run.claimed_at_ms, self._limits, now):
            how = "interrupted"
        label = run.label
        if how is None:
            return None
        return Ending(label.run_id, label.scope, how, now, None, run.digest, self.view(run))

    def view(self, run: StoredRun) -> View:
        rows = self.do(CALLS, run.id).fetchall()
        calls = self.read.calls(rows, self.nodes.dead(row[1] for row in rows))
        state, answer = self.one("SELECT state, answer FROM bodies WHERE id = ?", run.id) or (None, None)
        holder = self.holder(run)
        return View(run.label, run.size_bytes, run.number, holder, state, calls, answer, run.digest)

    def insert(
        self,
        label: Label,
        size: int | None = None,
        request_id: str | None = None,
        digest: bytes | None = None,
    ) -> int:
        """A run with a snapshot of this size, or a reserved one; its row's id."""
        added = self.do(
            "INSERT INTO runs (run_id, agent, session, agent_run, tool_call, request_id, digest, build_id,"
            " created_at_ms, expires_at_ms, is_stored, size_bytes)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            label.run_id,
            *scope_values(label.scope),
            request_id,
            digest,
            label.build_id,
            label.created_at_ms,
            label.expires_at_ms,
            size is not None,
            size or 0,
        )
        assert added.lastrowid is not None
        return added.lastrowid

    def hand_out(self, run_id: str, node: str) -> Claim:
        row = self.one(
            "UPDATE runs SET number = number + 1, claimed_by = ?, claimed_at_ms = ?, is_touched = 0,"
            " changes = changes + 1 WHERE run_id = ? RETURNING number",
            node,
            self._clock(),
            run_id,
        )
        return Claim(run_id, node, self.read.number(row))

    def grow(self, run: int, size: int) -> None:
        """Something was recorded for the run, or dropped: other nodes hear of it."""
        self.do("UPDATE runs SET size_bytes = size_bytes + ?, changes = changes + 1 WHERE id = ?", size, run)

    def totals(self) -> Totals:
        return self.read.totals(self.one("SELECT runs, bytes FROM totals"))

    # ---- calls ---------------------------------------------------------------------------------------------

    def add_calls(self, run: int, calls: Iterable[Pending], node: str) -> None:
        self._connection.executemany(
            "INSERT INTO calls (run, call_id, held_by, idempotent, asking) VALUES (?, ?, ?, ?, ?)",
            [
                (run, call.call_id, node if call.is_held else None, call.idempotent, call.asking)
                for call in calls
            ],
        )

    def take_over(self, run: int, run_id: str, dead: Iterable[str], node: str) -> tuple[Hold, ...]:
        """Gives the unsettled calls of dead nodes to this one."""
        taken: list[Hold] = []
        for name in dead:
            rows = self.do(
                "UPDATE calls SET held_by = ?, take = take + 1, asking = NULL"
                " WHERE run = ? AND held_by = ? AND outcome IS NULL RETURNING call_id, take",
                node,
                run,
                name,
            ).fetchall()
            taken += [Hold(run_id, call_id, node, take) for call_id, take in self.read.numbers(rows)]
        return tuple(taken)

    def call(self, hold: Hold) -> tuple[int, int, int] | None:
        """Ids of the run and of the row of a call that is still held so, and the size of what it asked."""
        return self.one(
            "SELECT run, calls.rowid, coalesce(length(request), 0) + coalesce(length(decision), 0) FROM calls"
            " WHERE run = (SELECT id FROM runs WHERE run_id = ?) AND call_id = ? AND held_by = ? AND take = ?"
            " AND outcome IS NULL",
            hold.run_id,
            hold.call_id,
            hold.node,
            hold.take,
        )

    # ---- ends ----------------------------------------------------------------------------------------------

    def ending(self, run_id: str, caller: RunScope) -> Ending | None:
        if not is_text(run_id):
            return None
        who = (caller.agent, caller.session, caller.agent_run)
        row = self.one(ENDING + _OF_CALLER + " AND until_ms > ?", run_id, *who, self._clock())
        return None if row is None else self.read.ending(row)

    def end(self, run: StoredRun, how: How, result: bytes | None, keep_ms: int) -> Ending:
        now, label = self._clock(), run.label
        if result is not None and len(result) > self._limits.max_result_bytes:
            result = None
        self.do("DELETE FROM runs WHERE id = ?", run.id)
        if keep_ms > 0:
            self.do(
                "INSERT INTO endings (run_id, agent, session, agent_run, tool_call, request_id, digest, how,"
                " at_ms, until_ms, result) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                label.run_id,
                *scope_values(label.scope),
                run.request_id,
                run.digest,
                how,
                now,
                now + keep_ms,
                result,
            )
            self.bound_endings()
        return Ending(label.run_id, label.scope, how, now, result, run.digest)

    def bound_endings(self) -> None:
        """Drops the oldest while there are too many, or their results have too many bytes."""
        while True:
            kept = self.read.totals(self.one("SELECT endings, result_bytes FROM totals"))
            if kept.runs <= self._limits.max_tombstones and kept.bytes <= self._limits.max_result_bytes:
                return
            if not self.do("DELETE FROM endings WHERE id = (SELECT min(id) FROM endings)").rowcount:
                return  # the totals of a damaged file: there is nothing to drop

    def drop_old_endings(self) -> None:
        now = self._clock()
        latest = now + self._limits.longest_ttl_ms  # one that ends later was written in a wrong year
        self.do("DELETE FROM endings WHERE until_ms <= ? OR until_ms > ?", now, latest)

    def give_space_back(self) -> None:
        (free,) = self.one("PRAGMA freelist_count")
        if free > _SPARE_PAGES:
            # The pragma frees one page per step and has no columns: execute() would stop after the first.
            pages = min(free - _SPARE_PAGES, _VACUUM_PAGES)
            self._connection.executescript(f"PRAGMA incremental_vacuum({pages})")
