"""The store that lives and dies with its process: a dict of runs and a dict of tombstones.

It keeps envelopes by reference, so a suspended run costs its envelope and some hundred bytes. SqliteStore
passes the same tests; the two differ only in what a crash leaves.
"""

from collections.abc import Callable, Iterable

import msgspec

from codemode_snapshots.errors import NotHeld
from codemode_snapshots.journal import Recorded
from codemode_snapshots.label import Label
from codemode_snapshots.owner import NOBODY, Owner
from codemode_snapshots.retention import is_expired, plan_endings, plan_tombstones, require_room
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


class _Run(msgspec.Struct):
    label: Label
    envelope: bytes
    saved_by: Owner
    claimed_by: Owner | None = None
    claimed_at_ms: int | None = None
    claims: int = 0
    settlements: tuple[Recorded, ...] = ()  # in order of arrival
    delivered: int = 0  # how many of them the present claim has seen; meaningless without a claim


class MemoryStore:
    """SnapshotStore without a disk."""

    is_durable = False

    def __init__(self, limits: StoreLimits | None = None) -> None:
        self._limits = limits or StoreLimits()
        self._runs: dict[str, _Run] = {}
        self._tombstones: dict[str, Tombstone] = {}
        self._total_bytes = 0

    def save(self, snapshot: Snapshot, owner: Owner, *, claim: Claim | None = None) -> None:
        run_id = snapshot.label.run_id
        size = len(snapshot.envelope)
        if claim is None:
            if run_id in self._runs or run_id in self._tombstones:
                raise NotHeld(run_id)
            require_room(self.totals(), self._limits, part_bytes=size, new_runs=1)
            self._runs[run_id] = _Run(snapshot.label, snapshot.envelope, owner)
            self._total_bytes += size
            return
        run = self._held(claim)
        if (run_id, snapshot.label.scope) != (run.label.run_id, run.label.scope):
            raise NotHeld(run_id)
        replaced = len(run.envelope) + _payload_bytes(run.settlements[: run.delivered])
        require_room(self.totals(), self._limits, part_bytes=size, replaced_bytes=replaced)
        run.label, run.envelope, run.saved_by = snapshot.label, snapshot.envelope, owner
        run.settlements = run.settlements[run.delivered :]
        self._total_bytes += size - replaced
        _unclaim(run)

    def claim(
        self, run_id: str, owner: Owner, *, now_ms: int, saved_by: Owner | None = None
    ) -> Claimed | NotClaimed:
        run = self._find(run_id)
        if run is None:
            stone = self._stone(run_id)
            return NotClaimed("unknown", None) if stone is None else NotClaimed(stone.ending, stone.scope)
        if run.claimed_by is not None or saved_by not in (None, run.saved_by):
            return NotClaimed("busy", run.label.scope)
        if is_expired(run.label.expires_at_ms, self._limits, now_ms):
            return NotClaimed("expired", run.label.scope)
        run.claimed_by, run.claimed_at_ms = owner, now_ms
        run.claims += 1
        run.delivered = len(run.settlements)
        in_order = tuple(sorted(run.settlements, key=lambda settlement: settlement.seq))
        return Claimed(Claim(run_id, owner, run.claims), Snapshot(run.label, run.envelope), in_order)

    def peek(self, run_id: str) -> Snapshot | None:
        run = self._find(run_id)
        return None if run is None else Snapshot(run.label, run.envelope)

    def release(self, claim: Claim) -> None:
        _unclaim(self._held(claim))

    def delete(self, run_id: str, *, now_ms: int, leave: Ending | None = None) -> bool:
        run = self._find(run_id)
        if run is None:
            return False
        if leave is None:
            self._remove(run_id)
        else:
            self._end([Tombstone(run_id, run.label.scope, leave, now_ms)], now_ms)
        return True

    def lookup(self, run_id: str) -> RunMeta | Tombstone | None:
        run = self._find(run_id)
        return self._stone(run_id) if run is None else _meta(run)

    def list_runs(self, *, agent: str | None = None, session: str | None = None) -> list[RunMeta]:
        metas = [
            _meta(run)
            for run in self._runs.values()
            if agent in (None, run.label.scope.agent) and session in (None, run.label.scope.session)
        ]
        return sorted(metas, key=lambda meta: (meta.label.created_at_ms, meta.label.run_id))

    def ids_of(self, owner: Owner) -> set[str]:
        return {run_id for run_id, run in self._runs.items() if run.saved_by == owner}

    def disown(self, owner: Owner) -> None:
        for run in self._runs.values():
            if run.saved_by == owner and run.claimed_by is None:
                run.saved_by = NOBODY

    def totals(self) -> Totals:
        return Totals(len(self._runs), self._total_bytes)

    def record_settlement(self, run_id: str, settlement: Recorded) -> bool:
        run = self._find(run_id)
        if run is None:
            return False
        if any(
            (kept.kind, kept.call_id) == (settlement.kind, settlement.call_id) for kept in run.settlements
        ):
            return False
        require_room(self.totals(), self._limits, part_bytes=len(settlement.payload))
        run.settlements = (*run.settlements, settlement)
        self._total_bytes += len(settlement.payload)
        return True

    def expire(self, now_ms: int) -> list[Tombstone]:
        return self._end(plan_endings(map(_meta, self._runs.values()), self._limits, now_ms), now_ms)

    def recover(self, now_ms: int, is_alive: Callable[[Owner], bool]) -> list[Tombstone]:
        orphans = [
            Tombstone(run_id, run.label.scope, "interrupted", now_ms)
            for run_id, run in self._runs.items()
            if run.claimed_by is not None and not is_alive(run.claimed_by)
        ]
        return self._end(orphans, now_ms)

    def close(self) -> None:
        self._runs.clear()
        self._tombstones.clear()
        self._total_bytes = 0

    def _find(self, run_id: object) -> _Run | None:
        return self._runs.get(run_id) if isinstance(run_id, str) else None  # a list would raise TypeError

    def _stone(self, run_id: object) -> Tombstone | None:
        return self._tombstones.get(run_id) if isinstance(run_id, str) else None

    def _held(self, claim: Claim) -> _Run:
        run = self._runs.get(claim.run_id)
        if run is None or run.claimed_by is None or claim != Claim(claim.run_id, run.claimed_by, run.claims):
            raise NotHeld(claim.run_id)
        return run

    def _remove(self, run_id: str) -> None:
        run = self._runs.pop(run_id)
        self._total_bytes -= len(run.envelope) + _payload_bytes(run.settlements)

    def _end(self, stones: Iterable[Tombstone], now_ms: int) -> list[Tombstone]:
        ended = list(stones)
        for stone in ended:
            self._remove(stone.run_id)
            self._tombstones[stone.run_id] = stone
        for run_id in plan_tombstones(self._tombstones.values(), self._limits, now_ms):
            del self._tombstones[run_id]
        return ended


def _unclaim(run: _Run) -> None:
    run.claimed_by = run.claimed_at_ms = None


def _meta(run: _Run) -> RunMeta:
    return RunMeta(
        run.label,
        len(run.envelope),
        run.saved_by,
        run.claimed_by,
        run.claimed_at_ms,
        _results(run.settlements),
    )


def _results(settlements: Iterable[Recorded]) -> int:
    return sum(settlement.kind == "call" for settlement in settlements)


def _payload_bytes(settlements: Iterable[Recorded]) -> int:
    return sum(len(settlement.payload) for settlement in settlements)
