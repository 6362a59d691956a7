"""The durable store: one SQLite file, shared by any number of processes.

If the process dies (kill -9 included), nothing is lost that a method returned. A power loss may take the last
commits; that can only make a run absent or interrupted. Three steps wait for the disk, because losing them
would bring something back: a claim (the run would be resumed twice), the end of a run that is not claimed (it
was aborted), and a decision (a person would be asked again about a call that may have run).
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

from codemode_snapshots.errors import NotHeld, StoreUnavailable
from codemode_snapshots.journal import Recorded
from codemode_snapshots.label import is_text
from codemode_snapshots.owner import NOBODY, Owner
from codemode_snapshots.retention import is_expired, live_until, plan_endings, plan_tombstones, require_room
from codemode_snapshots.sqlite_file import identity_of, open_database, transaction, translated
from codemode_snapshots.sqlite_rows import (
    SELECT_RUNS,
    SELECT_STONES,
    decode_envelope,
    decode_run,
    decode_settlement,
    decode_stone,
    decode_totals,
    scope_values,
)
from codemode_snapshots.store import (
    Claim,
    Claimed,
    Ending,
    NotClaimed,
    RunMeta,
    Snapshot,
    StoreLimits,
    Tombstone,
    Totals,
)

_SPARE_PAGES = 1024  # kept free for the next saves
_VACUUM_PAGES = 4096  # given back at most per purge, to bound its time


class SqliteStore:
    """SnapshotStore in a file."""

    def __init__(self, path: str | os.PathLike[str], limits: StoreLimits | None = None) -> None:
        self._path = Path(path)
        self._place = self._path.absolute()  # the process may go to another folder
        self._limits = limits or StoreLimits()
        self._connection = open_database(self._path)
        self._file = identity_of(self._place)

    def save(self, snapshot: Snapshot, owner: Owner, *, claim: Claim | None = None) -> None:
        with self._writing():
            if claim is None:
                self._insert(snapshot, owner)
            else:
                self._replace(snapshot, owner, claim)

    def claim(
        self, run_id: str, owner: Owner, *, now_ms: int, saved_by: Owner | None = None
    ) -> Claimed | NotClaimed:
        with self._writing(durable=True):
            match self._find(run_id):
                case None:
                    return NotClaimed("unknown", None)
                case Tombstone() as stone:
                    return NotClaimed(stone.ending, stone.scope)
                case meta:
                    pass
            if meta.claimed_by is not None or saved_by not in (None, meta.saved_by):
                return NotClaimed("busy", meta.label.scope)
            if is_expired(meta.label.expires_at_ms, self._limits, now_ms):
                return NotClaimed("expired", meta.label.scope)
            run, number = self._one("SELECT id, claims + 1 FROM runs WHERE run_id = ?", run_id)
            # Settlement ids only grow while the run lives, so the highest one now separates those delivered
            # with this claim from later ones.
            self._do(
                "UPDATE runs SET claims = ?, claimed_by = ?, claimed_at_ms = ?, delivered ="
                " (SELECT coalesce(max(id), 0) FROM settlements WHERE run = runs.id) WHERE id = ?",
                number,
                owner.encode(),
                now_ms,
                run,
            )
            envelope = decode_envelope(self._path, self._one("SELECT envelope FROM bodies WHERE id = ?", run))
            rows = self._do(
                "SELECT seq, kind, call_id, payload FROM settlements WHERE run = ? ORDER BY seq, id", run
            )
            settlements = tuple(decode_settlement(self._path, row) for row in rows)
            return Claimed(Claim(run_id, owner, number), Snapshot(meta.label, envelope), settlements)

    def peek(self, run_id: str) -> Snapshot | None:
        with self._using():
            meta = self._find(run_id)
            if not isinstance(meta, RunMeta):
                return None
            # the run may be saved again between the two reads; the label is then the older one
            row = self._do(
                "SELECT envelope FROM bodies WHERE id = (SELECT id FROM runs WHERE run_id = ?)", run_id
            ).fetchone()
            return None if row is None else Snapshot(meta.label, decode_envelope(self._path, row))

    def release(self, claim: Claim) -> None:
        with self._writing():
            self._require_held(claim)
            self._unclaim(claim.run_id)

    def delete(self, run_id: str, *, now_ms: int, leave: Ending | None = None) -> bool:
        seen = self.lookup(run_id)
        if not isinstance(seen, RunMeta):
            return False
        with self._writing(durable=seen.claimed_by is None):
            if leave is not None and isinstance(self._find(run_id), RunMeta):
                self._end([Tombstone(run_id, seen.label.scope, leave, now_ms)], now_ms)
                return True
            return self._do("DELETE FROM runs WHERE run_id = ?", run_id).rowcount > 0

    def lookup(self, run_id: str) -> RunMeta | Tombstone | None:
        with self._using():
            return self._find(run_id)

    def list_runs(self, *, agent: str | None = None, session: str | None = None) -> list[RunMeta]:
        if not all(given is None or is_text(given) for given in (agent, session)):
            return []
        query = (
            SELECT_RUNS + " WHERE agent = coalesce(?, agent) AND session = coalesce(?, session)"
            " ORDER BY created_at_ms, run_id"
        )
        with self._using():
            return [decode_run(self._path, row) for row in self._do(query, agent, session)]

    def ids_of(self, owner: Owner) -> set[str]:
        with self._using():
            rows = self._do("SELECT run_id FROM runs WHERE saved_by = ?", owner.encode())
            return {run_id for (run_id,) in rows}

    def disown(self, owner: Owner) -> None:
        with self._writing():
            self._do(
                "UPDATE runs SET saved_by = ? WHERE saved_by = ? AND claimed_by IS NULL",
                NOBODY.encode(),
                owner.encode(),
            )

    def totals(self) -> Totals:
        with self._using():
            return self._totals()

    def record_settlement(self, run_id: str, settlement: Recorded) -> bool:
        # Ids come from a model: SQLite fails at half a surrogate pair, and takes a number for its digits.
        if not is_text(run_id):
            return False
        key = (settlement.kind, settlement.call_id)
        with self._writing(durable=settlement.kind == "decision"):
            row = self._one("SELECT id FROM runs WHERE run_id = ?", run_id)
            if row is None:
                return False
            if self._one(
                "SELECT 1 FROM settlements WHERE run = ? AND kind = ? AND call_id = ?", row[0], *key
            ):
                return False
            require_room(self._totals(), self._limits, part_bytes=len(settlement.payload))
            self._do(
                "INSERT INTO settlements (run, kind, call_id, seq, payload) VALUES (?, ?, ?, ?, ?)",
                row[0],
                *key,
                settlement.seq,
                settlement.payload,
            )
            return True

    def expire(self, now_ms: int) -> list[Tombstone]:
        after, latest = live_until(self._limits, now_ms)
        with self._writing():
            rows = self._do(
                SELECT_RUNS + " WHERE expires_at_ms <= ? OR expires_at_ms > ? ORDER BY id", after, latest
            )
            runs = [decode_run(self._path, row) for row in rows]
            ended = self._end(plan_endings(runs, self._limits, now_ms), now_ms)
        with self._using():
            self._give_space_back()
        return ended

    def recover(self, now_ms: int, is_alive: Callable[[Owner], bool]) -> list[Tombstone]:
        # Asked outside the transaction: a dead owner never lives again, so the answer stays true inside it.
        with self._using():
            rows = self._do(SELECT_RUNS + " WHERE claimed_by IS NOT NULL ORDER BY id").fetchall()
        claimed = [decode_run(self._path, row) for row in rows]
        dead = {owner for owner in {run.claimed_by for run in claimed} if owner and not is_alive(owner)}
        with self._writing():
            stones = [
                Tombstone(run.label.run_id, run.label.scope, "interrupted", now_ms)
                for run in claimed
                if run.claimed_by in dead and isinstance(self._find(run.label.run_id), RunMeta)
            ]
            return self._end(stones, now_ms)

    def close(self) -> None:
        with translated(self._path):
            self._connection.close()

    def _insert(self, snapshot: Snapshot, owner: Owner) -> None:
        label = snapshot.label
        if self._find(label.run_id) is not None:
            raise NotHeld(label.run_id)
        size = len(snapshot.envelope)
        require_room(self._totals(), self._limits, part_bytes=size, new_runs=1)
        run = self._do(
            "INSERT INTO runs (run_id, agent, session, agent_run, tool_call, build_id, created_at_ms,"
            " expires_at_ms, size_bytes, saved_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            label.run_id,
            *scope_values(label.scope),
            label.build_id,
            label.created_at_ms,
            label.expires_at_ms,
            size,
            owner.encode(),
        ).lastrowid
        self._do("INSERT INTO bodies VALUES (?, ?)", run, snapshot.envelope)

    def _replace(self, snapshot: Snapshot, owner: Owner, claim: Claim) -> None:
        label = snapshot.label
        meta = self._require_held(claim)
        if (label.run_id, label.scope) != (meta.label.run_id, meta.label.scope):
            raise NotHeld(label.run_id)
        run, delivered, old_bytes = self._one(
            "SELECT id, delivered, size_bytes + (SELECT coalesce(sum(length(payload)), 0) FROM settlements"
            " WHERE run = runs.id AND id <= delivered) FROM runs WHERE run_id = ?",
            label.run_id,
        )
        size = len(snapshot.envelope)
        require_room(self._totals(), self._limits, part_bytes=size, replaced_bytes=old_bytes)
        self._do("DELETE FROM settlements WHERE run = ? AND id <= ?", run, delivered)
        self._do("UPDATE bodies SET envelope = ? WHERE id = ?", snapshot.envelope, run)
        self._do(
            "UPDATE runs SET build_id = ?, created_at_ms = ?, expires_at_ms = ?, size_bytes = ?, saved_by = ?"
            " WHERE id = ?",
            label.build_id,
            label.created_at_ms,
            label.expires_at_ms,
            size,
            owner.encode(),
            run,
        )
        self._unclaim(label.run_id)

    def _require_held(self, claim: Claim) -> RunMeta:
        meta = self._find(claim.run_id)
        if not isinstance(meta, RunMeta) or meta.claimed_by != claim.owner:
            raise NotHeld(claim.run_id)
        if self._one("SELECT claims FROM runs WHERE run_id = ?", claim.run_id) != (claim.number,):
            raise NotHeld(claim.run_id)
        return meta

    def _unclaim(self, run_id: str) -> None:
        self._do("UPDATE runs SET claimed_by = NULL, claimed_at_ms = NULL WHERE run_id = ?", run_id)

    def _end(self, stones: Iterable[Tombstone], now_ms: int) -> list[Tombstone]:
        ended = list(stones)
        for stone in ended:
            self._do("DELETE FROM runs WHERE run_id = ?", stone.run_id)
            values = (stone.run_id, *scope_values(stone.scope), stone.ending, stone.at_ms)
            self._do("INSERT INTO tombstones VALUES (?, ?, ?, ?, ?, ?, ?)", *values)
        rows = self._do(SELECT_STONES).fetchall()
        for run_id in plan_tombstones((decode_stone(self._path, row) for row in rows), self._limits, now_ms):
            self._do("DELETE FROM tombstones WHERE run_id = ?", run_id)
        return ended

    def _give_space_back(self) -> None:
        (free,) = self._one("PRAGMA freelist_count")
        if free > _SPARE_PAGES:
            # The pragma frees one page per step and has no columns: execute() would stop after the first.
            pages = min(free - _SPARE_PAGES, _VACUUM_PAGES)
            self._connection.executescript(f"PRAGMA incremental_vacuum({pages})")

    def _find(self, run_id: str) -> RunMeta | Tombstone | None:
        if not is_text(run_id):
            return None
        row = self._one(SELECT_RUNS + " WHERE run_id = ?", run_id)
        if row is not None:
            return decode_run(self._path, row)
        row = self._one(SELECT_STONES + " WHERE run_id = ?", run_id)
        return None if row is None else decode_stone(self._path, row)

    def _totals(self) -> Totals:
        return decode_totals(self._path, self._one("SELECT snapshots, total_bytes FROM totals"))

    @contextlib.contextmanager
    def _writing(self, *, durable: bool = False) -> Generator[None]:
        with self._using(), transaction(self._connection, durable=durable):
            yield

    @contextlib.contextmanager
    def _using(self) -> Generator[None]:
        """SQLite goes on in a file that was deleted, as if nothing were lost; looking costs a microsecond."""
        if identity_of(self._place) != self._file:
            raise StoreUnavailable(
                f"{self._path} was deleted or replaced while it was open: put it back, or start again"
            )
        with translated(self._path):
            yield

    def _do(self, statement: str, *values: str | int | bytes | None) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def _one(self, statement: str, *values: str | int | bytes | None) -> Any:
        return self._do(statement, *values).fetchone()
