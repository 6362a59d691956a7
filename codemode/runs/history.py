"""A run's past: its guest as it was before it went on, kept so that a fork can begin there (`checkpoints`).

A checkpoint is taken when a suspended run goes on, with what is delivered to it then, or with "awaits" each
time that something is delivered. It is stored as a run is, under a scope that no caller can have, as long as
the run could wait; the last ones of a run are kept, and no more bytes of them than one snapshot may have.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from codemode_runtime.frames import Data
from codemode_runtime.shapes import Settlement
from codemode_snapshots import EnvelopeRefused, Listed, RunScope, SnapshotError, View
from msgspec import Struct
from msgspec.structs import asdict, replace

from codemode.config import CodeModeConfig
from codemode.contract.scope import ENGINES_OWN
from codemode.runs.claimed_run import ClaimedRun
from codemode.runs.frozen import Memory, encode_memory, memory_of, open_memory
from codemode.runs.run import Run
from codemode.runs.stored_runs import StoredRuns
from codemode.workers.supervisor import Supervisor
from codemode.workers.worker import Worker

_log = logging.getLogger("codemode.engine")
MAX_CHECKPOINTS = 20  # of one run
_PAST = f"{ENGINES_OWN}past:"


class Checkpoint(Struct, frozen=True, rename="camel"):
    """One moment of a run. `at` names it for `fork`; `answered` are the calls that were answered then,
    `pending` those that were still in flight, each id with its tool's name."""

    at: int
    kept_at_ms: int
    bytes: int
    answered: dict[str, str]
    pending: dict[str, str]
    calls: int  # in the ledger so far

    def to_dict(self) -> dict[str, Any]:
        return {"keptAtMs" if key == "kept_at_ms" else key: value for key, value in asdict(self).items()}


class History:
    """Keeps the checkpoints of runs; one per engine."""

    def __init__(self, config: CodeModeConfig, supervisor: Supervisor, stored: StoredRuns) -> None:
        self._config = config
        self._supervisor = supervisor
        self._stored = stored

    @property
    def is_on(self) -> bool:
        return self._config.checkpoints != "none"

    @property
    def at_awaits(self) -> bool:
        return self._config.checkpoints == "awaits"

    async def capture(self, run: Run, worker: Worker) -> None:
        """Of an idle guest that is about to be given what has settled."""
        most = self._config.max_snapshot_bytes
        _, delta = await worker.capture(most)
        if delta:
            await self.keep(run, run.in_flight.settled, delta)

    async def keep(self, run: Run, settled: Sequence[Settlement], delta: Data) -> None:
        """What cannot be kept is not worth failing a run for: its history then has a gap."""
        if not self._stored.is_roomy():
            return
        answered = [(one.id, one.rejected, bytes(one.json)) for one in settled]
        pending = [
            work for work in run.in_flight.pending.values() if all(work.id != one.id for one in settled)
        ]
        number = run.active.count_checkpoint()
        memory = replace(
            memory_of(run),
            settled=answered,
            pending=[work.for_snapshot() for work in pending],
            checkpoints=number,
        )
        scope, ttl_ms = _scope(run.id, run.scope), self._config.snapshot_ttl_seconds * 1000
        try:
            await self._stored.save(
                run.build or self._supervisor.build_id,
                f"{run.id}.{number}",
                scope,
                ttl_ms,
                encode_memory(memory),
                delta,
                None,
            )
            await self._prune(run.id, run.scope, number)
        except SnapshotError as error:
            _log.debug("checkpoint %d of run %s is not kept: %s", number, run.id, error)

    async def _prune(self, run_id: str, scope: RunScope, number: int) -> None:
        if number < 2:
            return
        kept, size = await self._listed(run_id, scope), 0
        for at, one in enumerate(reversed(kept)):
            size += one.size_bytes
            if at and (at >= MAX_CHECKPOINTS or size > self._config.max_snapshot_bytes):
                await self._stored.end(one.label.run_id, one.label.scope, "aborted", is_kept=False)

    async def _listed(self, run_id: str, scope: RunScope) -> list[Listed]:
        own = _scope(run_id, scope)
        found = await self._stored.listed(scope.agent, scope.session)
        return sorted(
            (one for one in found if one.label.scope == own), key=lambda one: _number(one.label.run_id)
        )

    async def look(self, run_id: str, caller: RunScope) -> list[Checkpoint]:
        """The oldest first. Nothing of a run that is not the caller's."""
        found = list[Checkpoint]()
        for one in await self._listed(run_id, caller):
            view = await self._stored.look(one.label.run_id, one.label.scope)
            memory = await self._stored.read(view)
            if isinstance(view, View) and memory is not None:
                found.append(_checkpoint(_number(one.label.run_id), view, memory))
        return found

    async def read(self, run_id: str, at: int, caller: RunScope) -> tuple[str, Memory, Data] | None:
        """The build whose guest it is, its state and its delta."""
        for one in await self._listed(run_id, caller):
            if _number(one.label.run_id) != at:
                continue
            try:
                claimed = await self._stored.claim(self._supervisor.builds, one.label.run_id, one.label.scope)
            except EnvelopeRefused:
                return None
            if not isinstance(claimed, ClaimedRun):
                return None
            await self._stored.release(claimed.claim)
            return claimed.build_id, await open_memory(claimed.state), claimed.delta
        return None


def _scope(run_id: str, run: RunScope) -> RunScope:
    return RunScope(run.agent, run.session, f"{_PAST}{run.agent_run}"[:1000], run_id)


def _number(checkpoint_id: str) -> int:
    return int(checkpoint_id.rpartition(".")[2])


def _checkpoint(number: int, view: View, memory: Memory) -> Checkpoint:
    names = {record.id: record.name for record in memory.calls()}
    answered = {str(id): names[str(id)] for id, _, _ in memory.settled if str(id) in names}
    pending = {str(work.id): work.name for work in memory.pending if work.is_call}
    return Checkpoint(number, view.label.created_at_ms, view.size_bytes, answered, pending, len(names))
