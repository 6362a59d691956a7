"""Looks at one run without waiting for it: what it does, what it waits for, and how long it is kept.

Nothing is claimed, started or changed, so that any number of callers may look at any time. What a run waits
for is known exactly where this engine makes its calls; of a run that is only in the store it is known as it
was when the run was suspended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from codemode_snapshots import RunMeta, RunScope, Tombstone
from codemode_snapshots.label import value_given
from msgspec import Struct

from codemode import clock
from codemode.contract.error_codes import ErrorCode
from codemode.contract.inputs import same_caller
from codemode.contract.results import CodeModeResult, Completed, Failed, Output, PendingCall, WaitReason
from codemode.contract.telemetry import Telemetry
from codemode.executor import ApprovalRequest
from codemode.runs.adopt import ended
from codemode.runs.engine_report import settled_of
from codemode.runs.frozen import Memory
from codemode.runs.in_flight import Work, describe_work, wait_reason
from codemode.runs.kept_results import KeptResults
from codemode.runs.known_runs import KnownRuns
from codemode.runs.meter import RunMeter, Tally
from codemode.runs.phases import RunState
from codemode.runs.run import Run
from codemode.runs.stored_runs import StoredRuns
from codemode.runs.trajectory_archive import TrajectoryArchive

_ATTEMPTS = 4  # a run may be resumed and suspended again while its snapshot is read


class RunDetails(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One run as it is now. What is not known, or not so, is None, 0 or empty, and not in the JSON.

    `status` and `code` are those of a result, and "running". `place` says who has the run: "here" is this
    engine, "elsewhere" another one that is open, "store" nobody: then `wait` takes it over. `calls` counts
    the ledger by status; `settled` the results that came since it was suspended. `output` is what no result
    has brought yet, or that of the kept result. `approvals` have the arguments: for people, not for models.
    """

    run_id: str
    agent: str
    session: str
    agent_run: str = ""
    status: Literal["running", "waiting", "completed", "failed"]
    place: Literal["here", "store", "elsewhere"]
    reason: WaitReason | None = None
    code: ErrorCode | None = None
    error: str = ""
    started_at_ms: int | None = None
    suspended_at_ms: int | None = None
    expires_at_ms: int | None = None
    bytes: int = 0
    settled: int = 0
    calls: dict[str, int] = {}
    pending_tool_calls: tuple[PendingCall, ...] = ()
    approvals: tuple[ApprovalRequest, ...] = ()
    output: tuple[Output, ...] = ()

    @property
    def age_ms(self) -> int | None:
        """Since its exec, by the wall clock."""
        return None if self.started_at_ms is None else int(clock.elapsed_ms(self.started_at_ms))

    def to_dict(self) -> dict[str, Any]:
        return msgspec.json.decode(msgspec.json.encode(self))


class RunLookout:
    """Makes the details of runs; one per engine."""

    def __init__(
        self, runs: KnownRuns, stored: StoredRuns, archive: TrajectoryArchive, kept: KeptResults
    ) -> None:
        self._runs = runs
        self._stored = stored
        self._archive = archive
        self._kept = kept

    async def look(self, run_id: str, caller: RunScope) -> RunDetails | None:
        """None for a caller outside the run's scope, as if there were no such run.

        Raises StoreUnavailable.
        """
        before, (found, memory) = self._phase(run_id), await self._read(run_id, caller)
        for _ in range(_ATTEMPTS):
            if self._phase(run_id) is before:
                return self._describe(run_id, caller, found, memory)
            before, (found, memory) = self._phase(run_id), await self._read(run_id, caller)
        return self._describe(run_id, caller, found, None)  # it changes all the time: without its ledger

    async def _read(self, run_id: str, caller: RunScope) -> tuple[RunMeta | Tombstone | None, Memory | None]:
        found = await self._stored.find(run_id)
        if isinstance(found, RunMeta) and same_caller(found.label.scope, caller):
            return found, await self._stored.peek(run_id, found.label.scope)
        return found, None

    def _phase(self, run_id: str) -> object:
        run = self._runs.get(run_id)
        return None if run is None else run.phase

    def _describe(
        self, run_id: str, caller: RunScope, found: RunMeta | Tombstone | None, memory: Memory | None
    ) -> RunDetails | None:
        run, kept = self._runs.get(run_id), self._kept.look(run_id, caller)
        if isinstance(kept, Completed | Failed):
            return self._of_result(run_id, caller, kept)
        if run is not None and not run.is_unopened:
            if not same_caller(run.scope, caller):
                return None
            if run.state in (RunState.ABORTED, RunState.EXPIRED):  # its clean-up is still under way
                return self._of_result(run_id, run.scope, ended(run.state.value))
            return _of_run(run, self._stored, found, memory, () if kept is None else kept.output)
        if isinstance(found, Tombstone) and same_caller(found.scope, caller):
            return self._of_result(run_id, found.scope, ended(found.ending))
        if isinstance(found, RunMeta) and same_caller(found.label.scope, caller):
            if found.label.expires_at_ms <= clock.wall_ms():
                return self._of_result(run_id, found.label.scope, ended("expired"))
            return _of_store(found, self._stored, memory)
        return None

    def _of_result(self, run_id: str, scope: RunScope, result: CodeModeResult) -> RunDetails:
        """Of a run that is over."""
        failure = result if isinstance(result, Failed) else None
        known = result.telemetry
        if not known.calls:
            known = Telemetry(calls=self._archive.ledger(run_id))
        return RunDetails(
            run_id=run_id,
            agent=scope.agent,
            session=scope.session,
            agent_run=value_given(scope.agent_run),
            status="completed" if failure is None else "failed",
            place="here",
            code=None if failure is None else failure.code,
            error="" if failure is None else failure.error,
            started_at_ms=self._archive.started_ms(run_id),
            calls=_count(known),
            output=result.output,
        )


def _of_run(
    run: Run,
    stored: StoredRuns,
    found: RunMeta | Tombstone | None,
    memory: Memory | None,
    unseen: tuple[Output, ...],
) -> RunDetails:
    """Of a run that runs here, or whose calls go on here."""
    meta = found if isinstance(found, RunMeta) else None
    meter = run.meter
    if meter is None and memory is not None:
        meter = run.look(memory, Tally())
    is_waiting = run.is_suspended
    works = tuple(run.in_flight.pending.values())
    packed = run.trace.look(())
    return RunDetails(
        run_id=run.id,
        agent=run.scope.agent,
        session=run.scope.session,
        agent_run=value_given(run.scope.agent_run),
        status="waiting" if is_waiting else "running",
        place="here",
        reason=wait_reason(works) if is_waiting else None,
        started_at_ms=None if packed is None else packed.state.started_ms,
        suspended_at_ms=meta.label.created_at_ms if meta is not None and is_waiting else None,
        expires_at_ms=meta.label.expires_at_ms if meta is not None and is_waiting else None,
        bytes=meta.size_bytes if meta is not None and is_waiting else 0,
        settled=settled_of(meta, stored, run) if meta is not None and is_waiting else 0,
        calls={} if meter is None else _count(meter.telemetry()),
        pending_tool_calls=describe_work(works),
        approvals=_approvals(works),
        output=unseen if is_waiting else tuple(run.active.output),
    )


def _of_store(meta: RunMeta, stored: StoredRuns, memory: Memory | None) -> RunDetails:
    """Of a run that another engine suspended, which is gone or still has it."""
    label = meta.label
    works = () if memory is None or meta.claimed_by is not None else tuple(memory.pending)
    return RunDetails(
        run_id=label.run_id,
        agent=label.scope.agent,
        session=label.scope.session,
        agent_run=value_given(label.scope.agent_run),
        status="waiting" if meta.claimed_by is None else "running",
        place="elsewhere" if stored.is_held(meta) else "store",
        reason=wait_reason(works) if meta.claimed_by is None and memory is not None else None,
        started_at_ms=None if memory is None or memory.trace is None else memory.trace.started_ms,
        suspended_at_ms=label.created_at_ms,
        expires_at_ms=label.expires_at_ms,
        bytes=meta.size_bytes,
        settled=meta.settled,
        calls={} if memory is None else _count(RunMeter.resume(Tally(), memory.meter).telemetry()),
        pending_tool_calls=describe_work(works),
        approvals=_approvals(works),
    )


def _count(telemetry: Telemetry) -> dict[str, int]:
    """By status, with those that a long ledger does not list."""
    found = Counter[str](call.status for call in telemetry.calls)
    for statuses in telemetry.more_calls.values():
        found.update(statuses)
    return dict(sorted(found.items()))


def _approvals(works: Sequence[Work]) -> tuple[ApprovalRequest, ...]:
    return tuple(work.approval for work in works if work.approval is not None)
