"""The run store in a PostgreSQL database, for engines on any number of machines.

Each step is one statement (postgres_statements.py). The database's clock decides about leases and lifetimes,
so nodes whose clocks are wrong do no harm. Touches, decisions and the end of a run that nobody has claimed
wait for the disk. A crash of the database may take the last moments of the rest, which makes a run absent or
interrupted and brings nothing back: a claim that was lost is none any more for the node that had it, and it
touches the run before it does what must not be repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence

from codemode_snapshots import postgres_statements as sql
from codemode_snapshots.bounds import StoreLimits, require_space
from codemode_snapshots.errors import KeyRefused, NotHeld, StoreFull, StoreUnavailable
from codemode_snapshots.label import NO_VALUE, RunScope, is_text
from codemode_snapshots.postgres_connections import Connections, Row
from codemode_snapshots.postgres_facts import PostgresFacts
from codemode_snapshots.postgres_feed import HintLine
from codemode_snapshots.postgres_past import PostgresPast
from codemode_snapshots.postgres_rows import (
    read_claim,
    read_decision,
    read_expired,
    read_listed,
    read_look,
    read_settled,
)
from codemode_snapshots.postgres_schema import require_version
from codemode_snapshots.postgres_totals import SoftTotals
from codemode_snapshots.postgres_unsure import UnsureAnswers
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

_BATCH = 500  # runs that one statement ends at most: it holds their rows meanwhile
_BATCHES_MAX = 20
_TRIES = 3  # for a row that others change in the same moment


class PostgresStore:
    """RunStore in a database, whose tables `codemode store migrate` has made."""

    is_durable = True

    def __init__(
        self,
        url: str,
        limits: StoreLimits | None = None,
        *,
        lease_ms: int = 15_000,
        connections: int = 4,
        wait_seconds: float = 5.0,
        prepared: bool = True,
        direct_url: str | None = None,
    ) -> None:
        """`prepared=False` and a `direct_url` past the pooler are for PgBouncer in transaction mode."""
        self.lease_ms = lease_ms
        self._limits = limits or StoreLimits()
        self._direct_url = direct_url or url
        self._connections = Connections(url, size=connections, wait_seconds=wait_seconds, prepared=prepared)
        self._totals = SoftTotals(self._connections)
        self.facts, self.past = PostgresFacts(self._connections), PostgresPast(self._connections)
        self._line: HintLine | None = None
        self._guard, self._is_closed = threading.Lock(), False
        self._unsure = UnsureAnswers(self._connections)
        try:
            require_version(self._connections)
        except BaseException:
            self._connections.close()
            raise

    @property
    def round_trips(self) -> int:
        """Statements sent so far, hints not counted."""
        return self._connections.round_trips

    # ---- nodes ---------------------------------------------------------------------------------------------

    def join(self, node: NodeInfo) -> None:
        values = {
            "node": node.name,
            "builds": list(node.builds),
            "key_ids": list(node.key_ids),
            "process": node.process,
            "address": node.address,
            "lease_ms": self.lease_ms,
        }
        has_key, current, entered = self._row(sql.JOIN, values) or (False, "?", False)
        if not has_key:
            raise KeyRefused(
                f"the nodes of this store use the key {current}, and this node has or seals with another;"
                " give it the same store_key, or make its key known with `codemode store migrate`"
            )
        if not entered:
            raise ValueError(f"the node {node.name!r} has joined before")

    def beat(self, node: str, totals: Totals, *, draining: bool = False) -> bool:
        for run_id in self._unsure.give_back(node):
            self._hint(run_id, None)
        values = {
            "node": node,
            "runs": totals.runs,
            "bytes": totals.bytes,
            "draining": draining,
            "lease_ms": self.lease_ms,
        }
        return self._row(sql.BEAT, values) is not None

    def leave(self, node: str) -> None:
        self._rows(sql.LEAVE, {"node": node})

    # ---- runs ----------------------------------------------------------------------------------------------

    def reserve(self, request: ExecRequest, run_id: str, node: str, ttl_ms: int) -> Claim | View | Ending:
        values = {
            **_caller(request.scope),
            "tool_call": request.scope.tool_call,
            "request_id": request.request_id,
            "digest": request.digest,
            "build_id": NO_VALUE,
            "run_id": run_id,
            "node": node,
            "ttl_ms": ttl_ms,
        }
        require_space(self._totals.now(), self._limits, part_bytes=0, new_runs=1)
        for _ in range(_TRIES):
            if self._row(sql.RESERVE, values) is not None:
                return Claim(run_id, node, 1)
            left = self._row(sql.RESERVE_LEFT, values)
            if left is not None:
                self._hint(left[0], node)
                return Claim(left[0], node, left[1])
            known = self._row(sql.REQUESTED, values)
            found = None if known is None else self.look(known[0], request.scope)
            if found is not None:
                return found
            self._rows(sql.FORGET_REQUEST, values)  # its ending was kept for its time, and that is over
        raise StoreUnavailable("the same request is sent, ended and sent again in this moment; try again")

    def save(
        self, snapshot: Snapshot, calls: Sequence[Pending], node: str, *, claim: Claim | None = None
    ) -> None:
        label, size = snapshot.label, snapshot.size_bytes
        values = {
            **_caller(label.scope),
            "tool_call": label.scope.tool_call,
            "run_id": label.run_id,
            "build_id": label.build_id,
            "created_at_ms": label.created_at_ms,
            "expires_at_ms": label.expires_at_ms,
            "ttl_ms": label.expires_at_ms - label.created_at_ms,
            "size_bytes": size,
            "state": snapshot.state,
            "delta": snapshot.delta,
            "answer": snapshot.answer,
            "node": node,
            "call_ids": [call.call_id for call in calls],
            "idempotent": [call.idempotent for call in calls],
            "is_held": [call.is_held for call in calls],
            "asking": [call.asking for call in calls],
        }
        if claim is None:
            require_space(self._totals.now(), self._limits, part_bytes=size, new_runs=1)
            if self._row(sql.SAVE_NEW_WITH_CALLS if calls else sql.SAVE_NEW, values) is None:
                raise NotHeld(label.run_id)
            self._totals.add(1, size)
        else:
            self._save_again(claim, values, size)
        self._hint(label.run_id, node)

    def _save_again(self, claim: Claim, values: Mapping[str, object], size: int) -> None:
        if claim.run_id != values["run_id"]:
            raise NotHeld(claim.run_id)
        totals = self._totals.now()
        require_space(totals, self._limits, part_bytes=size, replaced_bytes=size)
        room = self._limits.max_total_bytes - totals.bytes
        row = self._row(
            sql.SAVE_CLAIMED,
            {**values, "claimer": claim.node, "number": claim.number, "room_bytes": room},
        )
        if row is None:
            raise NotHeld(claim.run_id)
        before, is_written, dropped = row[:3]
        if not is_written and size - (before or 0) > max(0, room):
            raise StoreFull("total_bytes", self._limits.max_total_bytes, totals.bytes + size - (before or 0))
        if not is_written:
            raise NotHeld(claim.run_id)
        self._totals.add(before is None, size - (before or 0) - dropped)

    def look(self, run_id: str, caller: RunScope) -> View | Ending | None:
        if not is_text(run_id):
            return None
        row = self._row(sql.LOOK, {**self._asked(caller), "run_id": run_id})
        return None if row is None else read_look(row)

    def claim(
        self, run_id: str, caller: RunScope, builds: Collection[str], node: str
    ) -> Claimed | NotClaimed | Ending:
        if not is_text(run_id):
            return NotClaimed("unknown")
        values = {**self._asked(caller), "run_id": run_id, "node": node, "builds": list(builds)}
        for _ in range(_TRIES):
            with self._unsure.asking(node, run_id) as again:
                row = self._row(sql.CLAIM, {**values, "again": again})
            found = None if row is None else read_claim(row, node)
            if isinstance(found, Claimed):
                self._hint(run_id, node)
                return found
            if found is None:
                return NotClaimed("unknown")
            if isinstance(found, Ending):
                return found
            if found.holder is not None or found.state is None:
                return NotClaimed("busy")
            if found.label.build_id not in builds:
                return NotClaimed("wrong_build", found.label.build_id)
            # it could be had when we looked, and has changed since: look again
        return NotClaimed("busy")

    def touch(self, claim: Claim) -> bool:
        return self._row(sql.TOUCH, _claimed(claim)) is not None

    def collect(self, claim: Claim, calls: Collection[str]) -> tuple[Settled, ...]:
        if not calls:
            return ()
        return read_settled(self._rows(sql.COLLECT, {**_claimed(claim), "call_ids": list(calls)}))

    def release(self, claim: Claim) -> bool:
        is_released = self._row(sql.RELEASE, _claimed(claim)) is not None
        if is_released:
            self._hint(claim.run_id, claim.node)
        return is_released

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
        if result is not None and len(result) > self._limits.max_result_bytes:
            result = None
        values: dict[str, object] = {"run_id": run_id, "how": how, "result": result, "keep_ms": keep_ms}
        if claim is not None:
            row = self._row(sql.FINISH_CLAIMED, {**values, **_claimed(claim)})
        elif caller is not None and is_text(run_id):
            row = self._row(sql.FINISH, {**values, **_caller(caller)})
        else:
            row = None
        if row is None:
            return False
        self._totals.add(-(row[0] is not None), -(row[0] or 0) - row[1])
        self._hint(run_id, None if claim is None else claim.node)
        return True

    # ---- calls ---------------------------------------------------------------------------------------------

    def settle(self, hold: Hold, outcome: bytes) -> bool:
        require_space(self._totals.now(), self._limits, part_bytes=len(outcome))
        if self._row(sql.SETTLE, {**_held(hold), "outcome": outcome}) is None:
            return False
        self._totals.add(0, len(outcome))
        self._hint(hold.run_id, hold.node)
        return True

    def ask(self, hold: Hold, approval_id: str, request: bytes, *, is_held: bool) -> bool:
        require_space(self._totals.now(), self._limits, part_bytes=len(request))
        values = {**_held(hold), "approval_id": approval_id, "request": request, "is_held": is_held}
        row = self._row(sql.ASK, values)
        if row is None:
            return False
        self._totals.add(0, row[0])
        self._hint(hold.run_id, hold.node)
        return True

    def decide(
        self, run_id: str, caller: RunScope, approval_id: str, decision: bytes, node: str
    ) -> DecidedHere | DecidedElsewhere | None:
        if not is_text(run_id) or not is_text(approval_id):
            return None
        require_space(self._totals.now(), self._limits, part_bytes=len(decision))
        values = {
            **self._asked(caller),
            "run_id": run_id,
            "approval_id": approval_id,
            "decision": decision,
            "node": node,
        }
        with self._unsure.asking(node, run_id, approval_id) as again:
            row = self._row(sql.DECIDE, {**values, "again": again})
        if row is None:
            return None
        decided, grown = read_decision(row, decision)
        self._totals.add(0, grown)
        self._hint(run_id, node)
        return decided

    def answers(self, run_id: str, node: str) -> tuple[tuple[str, bytes], ...]:
        rows = self._rows(sql.ANSWERS, {"run_id": run_id, "node": node})
        return tuple((call_id, decision) for call_id, decision in rows)

    # ---- upkeep --------------------------------------------------------------------------------------------

    def expire(self) -> list[Ending]:
        limits = self._limits
        values = {"stuck_ms": limits.stuck_claim_ms, "keep_ms": limits.tombstone_ttl_ms, "most": _BATCH}
        ended: list[Ending] = []
        for _ in range(_BATCHES_MAX):
            rows = self._rows(sql.EXPIRE, values)
            for row in rows:
                self._totals.add(-(row[8] is not None), -(row[8] or 0) - row[9])
                if (ending := read_expired(row)) is not None:
                    ended.append(ending)
                    self._hint(ending.run_id, None)
            if len(rows) < _BATCH:
                break
        self._rows(sql.DROP_ENDINGS, {"most": limits.max_tombstones, "bytes": limits.max_result_bytes})
        self._rows(sql.DROP_NODES, {})
        return ended

    def numbers(self, run_ids: Collection[str]) -> dict[str, int]:
        return dict(self._rows(sql.NUMBERS, {"run_ids": list(run_ids)})) if run_ids else {}

    def list_runs(self, *, agent: str | None = None, session: str | None = None) -> list[Listed]:
        given = {name: text for name, text in (("agent", agent), ("session", session)) if text is not None}
        if not all(map(is_text, given.values())):
            return []
        conditions = "".join(f" AND r.{name} = %({name})s" for name in given)
        return [read_listed(row) for row in self._rows(sql.LIST.format(conditions=conditions), given)]

    def totals(self) -> Totals:
        return self._totals.now()

    def feed(self, node: str, changed: Changed) -> Feed:
        return self._hint_line().feed(node, changed)

    def close(self) -> None:
        with self._guard:
            self._is_closed = True
            line, self._line = self._line, None
        if line is not None:
            line.close()
        self._connections.close()

    # ---- inside --------------------------------------------------------------------------------------------

    def _rows(self, statement: str, values: Mapping[str, object]) -> list[Row]:
        return self._connections.rows(statement, values)

    def _row(self, statement: str, values: Mapping[str, object]) -> Row | None:
        return self._connections.row(statement, values)

    def _hint(self, run_id: str, by: str | None) -> None:
        self._hint_line().tell((run_id,), by)

    def _hint_line(self) -> HintLine:
        """Begins with the first who needs it."""
        with self._guard:
            if self._is_closed:
                raise StoreUnavailable("the store is closed")
            if self._line is None:
                self._line = HintLine(self._direct_url)
            return self._line

    def _asked(self, caller: RunScope) -> dict[str, object]:
        return {**_caller(caller), "stuck_ms": self._limits.stuck_claim_ms}


def _caller(scope: RunScope) -> dict[str, object]:
    return {"agent": scope.agent, "session": scope.session, "agent_run": scope.agent_run}


def _claimed(claim: Claim) -> dict[str, object]:
    return {"run_id": claim.run_id, "node": claim.node, "number": claim.number}


def _held(hold: Hold) -> dict[str, object]:
    return {"run_id": hold.run_id, "call_id": hold.call_id, "node": hold.node, "take": hold.take}
