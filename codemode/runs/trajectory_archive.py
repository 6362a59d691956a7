"""Keeps trajectories, and shows them to callers in the run's scope: of runs that run, are suspended, or ended
lately.

It keeps a bounded number and bytes in memory. The trajectory of a suspended run that this engine has never
resumed is read from its snapshot without a claim: nothing of the run is run, and it stays as it is.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple, Protocol

from codemode_snapshots import Ending, How, RunScope, View
from msgspec import Struct

from codemode import clock
from codemode.config import EngineSettings
from codemode.contract.inputs import same_caller
from codemode.contract.results import CodeModeResult
from codemode.contract.telemetry import CallEnd, CallRecord
from codemode.runs.finished_runs import FinishedRuns
from codemode.runs.phases import RunState
from codemode.runs.run import Run
from codemode.runs.stored_runs import StoredRuns
from codemode.trajectory.export import build, ledger
from codemode.trajectory.recording import Recording
from codemode.trajectory.shapes import VERSION, RunStatus, SessionTrajectory, Trajectory
from codemode.trajectory.trace import Trace

MAX_ENDED = 256
MAX_BYTES = 8 << 20
_STATUS: dict[How, RunStatus] = {
    "completed": "completed",
    "failed": "failed",
    "expired": "expired",
    "interrupted": "aborted",
    "aborted": "aborted",
}
_MAX_RUNS = 256  # in one session's trajectory: the latest


class _Kept(Struct, frozen=True):
    scope: RunScope
    status: RunStatus
    trace: Trace
    size: int
    late: tuple[CallEnd, ...] = ()

    @property
    def has_ended(self) -> bool:
        return self.status != "waiting"


class _Ended(NamedTuple):
    run: Run
    result: CodeModeResult | None  # None if it did not end in a leg
    at_ms: int


class RunFinder(Protocol):
    """Finds the runs that the engine knows now; see known_runs.py."""

    def get(self, run_id: str) -> Run | None: ...
    def all(self) -> list[Run]: ...


class TrajectoryArchive:
    """Keeps the traces of an engine's runs and builds trajectories from them."""

    def __init__(self, stored: StoredRuns, recording: Recording, settings: EngineSettings) -> None:
        self.past = FinishedRuns(stored, settings, self._note_ends)  # told of every run that is over
        self._stored = stored
        self.recording = recording
        self._ended: dict[str, _Kept] = {}  # oldest first, as is `_suspended`
        self._suspended: dict[str, _Kept] = {}
        self._bytes = 0
        self._unnoted: dict[str, _Ended] = {}

    def new_trace(self, run_id: str) -> Trace:
        return Trace(run_id, self.recording)

    def trace_of(self, run_id: str) -> Trace:
        """The trace for a run out of the store: kept here already, or empty until its state is opened."""
        kept = self._get(run_id)
        return self.new_trace(run_id) if kept is None else kept.trace

    def end_leg(self, run: Run, result: CodeModeResult) -> None:
        if run.has_ended:
            self._note_soon(run, result)
            return
        run.trace.end_leg(result, clock.wall_ms())
        if not run.is_adoptable:  # an adoptable run belongs to another engine
            self.keep(run)

    def keep(self, run: Run) -> None:
        """Call when a run is suspended or ends; calling again replaces the entry."""
        if run.has_ended:
            self._note_soon(run, None)
        else:
            self._put(run)

    def _note_soon(self, run: Run, result: CodeModeResult | None) -> None:
        """Notes the end in the loop's next turn, so that the result need not wait; or earlier if asked."""
        if not self._unnoted:
            asyncio.get_running_loop().call_soon(self._note_ends)
        known = self._unnoted.get(run.id)
        self._unnoted[run.id] = _Ended(run, result, clock.wall_ms() if known is None else known.at_ms)

    def _note_ends(self) -> None:
        while self._unnoted:
            run, result, at_ms = self._unnoted.pop(next(iter(self._unnoted)))
            if result is not None:
                run.trace.end_leg(result, at_ms)
            run.trace.end(at_ms)
            run.trace.pack(() if run.meter is None else run.meter.calls)
            self._put(run)
            self.past.note(run.id, run.scope, run.state.value, run.trace, run.late)

    async def of_run(self, runs: RunFinder, run_id: str, caller: RunScope) -> Trajectory | None:
        """None for a caller outside the run's scope, as if there were no such run."""
        self._note_ends()
        if runs.get(run_id) is None and self._get(run_id) is None:
            await self._read(runs, run_id, caller)
        run, kept = runs.get(run_id), self._get(run_id)
        if run is not None:
            return _of(run) if same_caller(run.scope, caller) else None
        if kept is None or not same_caller(kept.scope, caller):
            return None
        status = kept.status
        if status == "waiting":  # another engine may have ended it in the store
            found = await self._stored.look(run_id, caller)
            if isinstance(found, Ending):
                status = _STATUS[found.how]
        return build(run_id, kept.scope, status, kept.trace.look(()), kept.late)

    def ledger(self, run_id: str) -> tuple[CallRecord, ...]:
        """The calls of a run that is over, as far as they are known here. The caller checks the scope."""
        self._note_ends()
        kept = self._get(run_id)
        return () if kept is None else ledger(kept.trace.look(()), kept.late)

    def started_ms(self, run_id: str) -> int | None:
        self._note_ends()
        kept = self._get(run_id)
        packed = None if kept is None else kept.trace.look(())
        return None if packed is None else packed.state.started_ms

    def scope_of(self, run_id: str) -> RunScope | None:
        self._note_ends()
        kept = self._get(run_id)
        return None if kept is None else kept.scope

    async def of_session(self, runs: RunFinder, owner: RunScope) -> SessionTrajectory:
        """All runs of the agent in this session, of every agent run."""
        self._note_ends()
        scopes = {run_id: kept.scope for run_id, kept in (self._ended | self._suspended).items()}
        for listed in await self._stored.runs(owner.session):
            scopes.setdefault(listed.label.run_id, listed.label.scope)
        scopes |= {run.id: run.scope for run in runs.all()}
        mine = [
            (run_id, scope)
            for run_id, scope in scopes.items()
            if (scope.session, scope.agent) == (owner.session, owner.agent)
        ]
        found = [await self.of_run(runs, run_id, scope) for run_id, scope in mine[-_MAX_RUNS:]]
        known = [run for run in found if run is not None]
        # within one millisecond they stay as listed above: what ended, what waits, what runs
        known.sort(key=lambda run: run.started_at_ms)
        return SessionTrajectory(version=VERSION, agent=owner.agent, session=owner.session, runs=tuple(known))

    async def sessions_of(self, runs: RunFinder, agent: str) -> list[str]:
        """The names of the agent's sessions that have a run here or in the store, each once."""
        self._note_ends()
        scopes = [kept.scope for kept in (self._ended | self._suspended).values()]
        scopes += [run.scope for run in runs.all()]
        scopes += [listed.label.scope for listed in await self._stored.runs(None)]
        return sorted({scope.session for scope in scopes if scope.agent == agent})

    async def _read(self, runs: RunFinder, run_id: str, caller: RunScope) -> None:
        """Reads the trace of a run that another engine suspended, without claiming it."""
        found = await self._stored.look(run_id, caller)
        memory = await self._stored.read(found)
        if (
            not isinstance(found, View)
            or memory is None
            or runs.get(run_id) is not None
            or self._get(run_id) is not None
        ):
            return
        trace = self.new_trace(run_id)
        trace.thaw(memory.trace)
        trace.pack(memory.calls())
        if trace.size:
            self._add(run_id, _Kept(found.label.scope, RunState.WAITING.value, trace, trace.size))

    def _put(self, run: Run) -> None:
        self._add(run.id, _Kept(run.scope, run.state.value, run.trace, run.trace.size, run.late))

    def _add(self, run_id: str, kept: _Kept) -> None:
        self._drop(run_id)
        (self._ended if kept.has_ended else self._suspended)[run_id] = kept
        self._bytes += kept.size
        while len(self._ended) > MAX_ENDED or self._bytes > MAX_BYTES:
            oldest = next(iter(self._ended or self._suspended))
            (self._ended.get(oldest) or self._suspended[oldest]).trace.forget()
            self._drop(oldest)

    def _drop(self, run_id: str) -> None:
        found = self._ended.pop(run_id, None) or self._suspended.pop(run_id, None)
        if found is not None:
            self._bytes -= found.size

    def _get(self, run_id: str) -> _Kept | None:
        return self._ended.get(run_id) or self._suspended.get(run_id)


def _of(run: Run) -> Trajectory:
    calls = () if run.meter is None else run.meter.calls
    return build(run.id, run.scope, run.state.value, run.trace.look(calls), run.late)
