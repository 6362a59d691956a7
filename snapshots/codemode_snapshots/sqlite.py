"""The durable run store of one machine: one SQLite file, shared by any number of processes.

If a process dies (kill -9 included), nothing is lost that a method returned. A power loss may take the last
commits; as no engine is alive then, that can only make a run absent, or put it back to where it was last
suspended. Three steps wait for the disk, because losing them would repeat or bring back something: a touch
(what must not be repeated comes next), an end without a claim (the run was aborted), and a decision (a person
would be asked again about a call that may have run).
"""

import os
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

from codemode_snapshots.bounds import StoreLimits, require_space
from codemode_snapshots.errors import NotHeld
from codemode_snapshots.label import NO_VALUE, Label, RunScope, is_text
from codemode_snapshots.memory_rows import wall_ms
from codemode_snapshots.records import (
    Claim,
    Claimed,
    DecidedElsewhere,
    DecidedHere,
    Ending,
    ExecRequest,
    Hold,
    How,
    Listed,
    NodeInfo,
    NotClaimed,
    Pending,
    Settled,
    Snapshot,
    Totals,
    View,
)
from codemode_snapshots.run_store import Changed, Feed
from codemode_snapshots.sqlite_facts import SqliteFacts
from codemode_snapshots.sqlite_feed import SqliteFeed
from codemode_snapshots.sqlite_past import SqlitePast
from codemode_snapshots.sqlite_records import CALLS, ENDING, OUTCOMES, RUN, StoredRun
from codemode_snapshots.sqlite_tables import Tables

LEASE_MS = 15_000
_MAX_NAMES = 500  # in one statement
_OF_REQUEST = " WHERE agent = ? AND session = ? AND agent_run = ? AND request_id = ?"
_FORGET_REQUEST = "DELETE FROM endings" + _OF_REQUEST  # noqa: S608 - constants
_LISTED = (
    RUN.replace(  # noqa: S608 - constants
        " FROM runs",
        ", (SELECT count(settled) FROM calls WHERE run = runs.id),"
        " (SELECT count(asking) FROM calls WHERE run = runs.id AND settled IS NULL) FROM runs",
    )
    + " WHERE is_stored AND agent = coalesce(?, agent) AND session = coalesce(?, session)"
    " ORDER BY created_at_ms, run_id"
)
_NUMBERS = "SELECT run_id, number FROM runs WHERE run_id IN "
_CHANGES = "SELECT run_id, changes FROM runs WHERE run_id IN "


class SqliteStore:
    """RunStore in a file."""

    is_durable = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        limits: StoreLimits | None = None,
        clock: Callable[[], int] | None = None,
        lease_ms: int = LEASE_MS,
    ) -> None:
        """`clock` gives unix milliseconds, for the times of runs; leases have a clock of their own."""
        self.lease_ms = lease_ms
        self._limits = limits or StoreLimits()
        self._clock = clock or wall_ms
        self._tables = Tables(Path(path), self._limits, self._clock, lease_ms)
        self.facts = SqliteFacts(self._tables)
        self.past = SqlitePast(self._tables)

    # ---- nodes ---------------------------------------------------------------------------------------------

    def join(self, node: NodeInfo) -> None:
        with self._tables.writing():
            self._tables.nodes.join(node)

    def beat(self, node: str, totals: Totals, *, draining: bool = False) -> bool:  # noqa: ARG002 - counted
        with self._tables.writing():
            return self._tables.nodes.beat(node, draining=draining)

    def leave(self, node: str) -> None:
        with self._tables.writing():
            self._tables.nodes.leave(node)

    # ---- runs ----------------------------------------------------------------------------------------------

    def reserve(self, request: ExecRequest, run_id: str, node: str, ttl_ms: int) -> Claim | View | Ending:
        scope = request.scope
        key = (scope.agent, scope.session, scope.agent_run, request.request_id)
        with self._tables.writing():
            row = self._tables.one(RUN + _OF_REQUEST, *key)
            if row is None:
                kept = self._tables.one(ENDING + _OF_REQUEST + " AND until_ms > ?", *key, self._clock())
                if kept is not None:
                    return self._tables.read.ending(kept)
                self._tables.do(_FORGET_REQUEST, *key)  # past its time
                require_space(self._tables.totals(), self._limits, part_bytes=0, new_runs=1)
                now = self._clock()
                label = Label(NO_VALUE, run_id, scope, now, now + ttl_ms)
                self._tables.insert(label, request_id=request.request_id, digest=request.digest)
                return self._tables.hand_out(run_id, node)
            run = self._tables.read.run(row)
            if (over := self._tables.over(run)) is not None:
                return over
            if run.is_stored or self._tables.holder(run) is not None:
                return self._tables.view(run)
            return self._tables.hand_out(run.label.run_id, node)

    def save(
        self, snapshot: Snapshot, calls: Sequence[Pending], node: str, *, claim: Claim | None = None
    ) -> None:
        label, size = snapshot.label, snapshot.size_bytes
        with self._tables.writing():
            if claim is None:
                is_known = self._tables.one("SELECT 1 FROM runs WHERE run_id = ?", label.run_id)
                if is_known or self._tables.one("SELECT 1 FROM endings WHERE run_id = ?", label.run_id):
                    raise NotHeld(label.run_id)
                require_space(self._tables.totals(), self._limits, part_bytes=size, new_runs=1)
                run = self._tables.insert(label, size)
                self._tables.do(
                    "INSERT INTO bodies VALUES (?, ?, ?, ?)",
                    run,
                    snapshot.state,
                    snapshot.answer,
                    snapshot.delta,
                )
                self._tables.add_calls(run, calls, node)
                return
            held = self._tables.held(claim)
            if held is None or (label.run_id, label.scope) != (claim.run_id, held.label.scope):
                raise NotHeld(label.run_id)
            self._replace(held, snapshot, calls, node)

    def _replace(self, held: StoredRun, snapshot: Snapshot, calls: Sequence[Pending], node: str) -> None:
        label, size = snapshot.label, snapshot.size_bytes
        wanted = {call.call_id for call in calls}
        rows = self._tables.read.numbers(
            self._tables.do(
                "SELECT call_id, coalesce(length(request), 0) + coalesce(length(decision), 0)"
                " + coalesce(length(outcome), 0) FROM calls WHERE run = ?",
                held.id,
            )
        )
        kept_bytes = sum(part for call_id, part in rows if call_id in wanted)
        replaced = held.size_bytes - kept_bytes
        require_space(self._tables.totals(), self._limits, part_bytes=size, replaced_bytes=replaced)
        known = {call_id for call_id, _ in rows}
        for call_id in known - wanted:
            self._tables.do("DELETE FROM calls WHERE run = ? AND call_id = ?", held.id, call_id)
        self._tables.add_calls(held.id, [call for call in calls if call.call_id not in known], node)
        self._tables.do(
            "INSERT OR REPLACE INTO bodies VALUES (?, ?, ?, ?)",
            held.id,
            snapshot.state,
            snapshot.answer,
            snapshot.delta,
        )
        self._tables.do(
            "UPDATE runs SET build_id = ?, created_at_ms = ?, expires_at_ms = ?, is_stored = 1,"
            " size_bytes = ?, claimed_by = NULL, is_touched = 0, changes = changes + 1 WHERE id = ?",
            label.build_id,
            label.created_at_ms,
            label.expires_at_ms,
            size + kept_bytes,
            held.id,
        )

    def look(self, run_id: str, caller: RunScope) -> View | Ending | None:
        with self._tables.reading():
            run = self._tables.find(run_id, caller)
            if run is None:
                return self._tables.ending(run_id, caller)
            return self._tables.over(run) or self._tables.view(run)

    def claim(
        self, run_id: str, caller: RunScope, builds: Collection[str], node: str
    ) -> Claimed | NotClaimed | Ending:
        with self._tables.writing():
            run = self._tables.find(run_id, caller)
            if run is None:
                return self._tables.ending(run_id, caller) or NotClaimed("unknown")
            if (over := self._tables.over(run)) is not None:
                return over
            if not run.is_stored or self._tables.holder(run) is not None:
                return NotClaimed("busy")
            if run.label.build_id not in builds:
                return NotClaimed("wrong_build", run.label.build_id)
            claim = self._tables.hand_out(run_id, node)
            rows = self._tables.do("SELECT held_by FROM calls WHERE run = ?", run.id)
            holders = self._tables.read.holders(rows)
            dead = self._tables.nodes.dead(holders - {node})
            taken = self._tables.take_over(run.id, run_id, dead, node)
            calls = self._tables.read.calls(self._tables.do(CALLS, run.id), dead) if holders else ()
            settled = self._tables.read.outcomes(self._tables.do(OUTCOMES, run.id)) if holders else ()
            body = self._tables.one("SELECT state, delta, answer FROM bodies WHERE id = ?", run.id)
            return Claimed(claim, self._tables.read.snapshot(run.label, body), calls, settled, taken)

    def touch(self, claim: Claim) -> bool:
        with self._tables.writing(durable=True):
            run = self._tables.held(claim)
            if run is None:
                return False
            self._tables.do("UPDATE runs SET is_touched = 1 WHERE id = ?", run.id)
            return True

    def collect(self, claim: Claim, calls: Collection[str]) -> tuple[Settled, ...]:
        with self._tables.reading():
            run = self._tables.held(claim)
            if run is None:
                return ()
            ready = self._tables.read.outcomes(self._tables.do(OUTCOMES, run.id))
            return tuple(one for one in ready if one.call_id in calls)

    def release(self, claim: Claim) -> bool:
        with self._tables.writing():
            run = self._tables.held(claim)
            if run is None:
                return False
            if run.is_stored:
                self._tables.do(
                    "UPDATE runs SET claimed_by = NULL, is_touched = 0, changes = changes + 1 WHERE id = ?",
                    run.id,
                )
            else:
                self._tables.do("DELETE FROM runs WHERE id = ?", run.id)
            return True

    def finish(
        self,
        run_id: str,
        how: How,
        *,
        caller: RunScope | None = None,
        claim: Claim | None = None,
        result: bytes | None = None,
        keep_ms: int,
    ) -> bool:
        with self._tables.writing(durable=claim is None):
            run = None if claim is None else self._tables.held(claim)
            if claim is None and caller is not None:
                run = self._tables.find(run_id, caller)
            if run is None:
                return False
            self._tables.end(run, how, result, keep_ms)
            return True

    # ---- calls ---------------------------------------------------------------------------------------------

    def settle(self, hold: Hold, outcome: bytes) -> bool:
        with self._tables.writing():
            found = self._tables.call(hold)
            if found is None:
                return False
            run, row, _ = found
            require_space(self._tables.totals(), self._limits, part_bytes=len(outcome))
            self._tables.do("UPDATE totals SET settled = settled + 1")
            self._tables.do(
                "UPDATE calls SET outcome = ?, asking = NULL, settled = (SELECT settled FROM totals)"
                " WHERE rowid = ?",
                outcome,
                row,
            )
            self._tables.grow(run, len(outcome))
            return True

    def ask(self, hold: Hold, approval_id: str, request: bytes, *, is_held: bool) -> bool:
        with self._tables.writing():
            found = self._tables.call(hold)
            if found is None:
                return False
            run, row, old = found
            require_space(self._tables.totals(), self._limits, part_bytes=len(request), replaced_bytes=old)
            self._tables.do(
                "UPDATE calls SET asking = ?, request = ?, decision = NULL, held_by = ? WHERE rowid = ?",
                approval_id,
                request,
                hold.node if is_held else None,
                row,
            )
            self._tables.grow(run, len(request) - old)
            return True

    def decide(
        self, run_id: str, caller: RunScope, approval_id: str, decision: bytes, node: str
    ) -> DecidedHere | DecidedElsewhere | None:
        if not is_text(approval_id):
            return None
        with self._tables.writing(durable=True):
            run = self._tables.find(run_id, caller)
            if run is None or self._tables.over(run) is not None:
                return None
            row = self._tables.one(
                "SELECT rowid, call_id, held_by, take FROM calls WHERE run = ? AND asking = ?",
                run.id,
                approval_id,
            )
            if row is None:
                return None
            require_space(self._tables.totals(), self._limits, part_bytes=len(decision))
            id, call_id, holder, take = self._tables.read.asked(row)
            if holder is None or self._tables.nodes.dead({holder}):
                holder, take = None, take + 1
            hold = Hold(run_id, call_id, holder or node, take)
            self._tables.do(
                "UPDATE calls SET asking = NULL, decision = ?, held_by = ?, take = ? WHERE rowid = ?",
                decision,
                hold.node,
                take,
                id,
            )
            self._tables.grow(run.id, len(decision))
            if holder is not None:
                return DecidedElsewhere(hold)
            again = self._tables.find(run_id, caller)
            assert again is not None
            return DecidedHere(hold, self._tables.view(again))

    def answers(self, run_id: str, node: str) -> tuple[tuple[str, bytes], ...]:
        with self._tables.reading():
            rows = self._tables.do(
                "SELECT call_id, decision FROM calls WHERE run = (SELECT id FROM runs WHERE run_id = ?)"
                " AND held_by = ? AND outcome IS NULL AND decision IS NOT NULL ORDER BY rowid",
                run_id,
                node,
            )
            return self._tables.read.decisions(rows)

    # ---- upkeep --------------------------------------------------------------------------------------------

    def expire(self) -> list[Ending]:
        now = self._clock()
        tables, ended = self._tables, list[Ending]()
        with tables.writing():
            rows = tables.do(
                RUN + " WHERE claimed_by IS NOT NULL OR expires_at_ms <= ? OR expires_at_ms > ? ORDER BY id",
                now,
                now + self._limits.longest_ttl_ms,
            ).fetchall()
            for run in map(tables.read.run, rows):
                over = tables.over(run)
                if over is not None:
                    ended.append(tables.end(run, over.how, None, self._limits.tombstone_ttl_ms))
                elif not run.is_stored and tables.holder(run) is None:
                    tables.do("DELETE FROM runs WHERE id = ?", run.id)
            tables.drop_old_endings()
            tables.nodes.forget_dead()
        with tables.reading():
            tables.give_space_back()
        return ended

    def numbers(self, run_ids: Collection[str]) -> dict[str, int]:
        return self._column(_NUMBERS, run_ids)

    def list_runs(self, *, agent: str | None = None, session: str | None = None) -> list[Listed]:
        if not all(given is None or is_text(given) for given in (agent, session)):
            return []
        tables = self._tables
        with tables.reading():
            rows = tables.do(_LISTED, agent, session).fetchall()
            runs = [(tables.read.run(row[:-2]), int(row[-2]), int(row[-1])) for row in rows]
            dead = tables.nodes.dead(run.claimed_by for run, *_ in runs)
        return [
            run.listed(None if run.claimed_by in dead else run.claimed_by, *counts) for run, *counts in runs
        ]

    def totals(self) -> Totals:
        with self._tables.reading():
            return self._tables.totals()

    def feed(self, node: str, changed: Changed) -> Feed:  # noqa: ARG002 - not its own
        return SqliteFeed(self._data_version, partial(self._column, _CHANGES), changed)

    def close(self) -> None:
        self._tables.close()

    def _data_version(self) -> int:
        """Another number after each change that another connection has made."""
        with self._tables.reading():
            return int(self._tables.one("PRAGMA data_version")[0])

    def _column(self, query: str, run_ids: Collection[str]) -> dict[str, int]:
        wanted, found = [run_id for run_id in run_ids if is_text(run_id)], dict[str, int]()
        with self._tables.reading():
            for start in range(0, len(wanted), _MAX_NAMES):
                names = wanted[start : start + _MAX_NAMES]
                rows = self._tables.do(query + f"({', '.join('?' * len(names))})", *names)
                found.update(self._tables.read.numbers(rows))
        return found
