"""Looks at one run without waiting for it: what it does, what it waits for, and how long it is kept.

Nothing is claimed, started or changed, so that any number of callers may look at any time. What a run waits
for is known exactly where this engine makes its calls; of a run that is only in the store it is known as it
was when the run was suspended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import msgspec
from codemode_snapshots import Ending, RunScope, View
from codemode_snapshots.label import value_given
from msgspec import Struct

from codemode import clock
from codemode.contract.error_codes import ErrorCode
from codemode.contract.inputs import same_caller
from codemode.contract.results import CodeModeResult, Completed, Failed, Output, PendingCall, WaitReason
from codemode.contract.telemetry import Telemetry
from codemode.executor import ApprovalRequest
from codemode.gate.lane import is_large, lane
from codemode.runs.adopt import ended
from codemode.runs.arguments import decoded
from codemode.runs.engine_report import settled_of
from codemode.runs.frozen import Memory
from codemode.runs.in_flight import describe_work, wait_reason
from codemode.runs.kept_results import KeptResults
from codemode.runs.known_runs import KnownRuns
from codemode.runs.meter import RunMeter, Tally
from codemode.runs.phases import RunState
from codemode.runs.run import Run
from codemode.runs.stored_runs import StoredRuns
from codemode.runs.trajectory_archive import TrajectoryArchive
from codemode.runs.work import Work

_ATTEMPTS = 4  # a run may be resumed and suspended again while its snapshot is read


class RunDetails(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One run as it is now. What is not known, or not so, is None, 0 or empty, and not in the JSON.

    `status` and `code` are those of a result, and "running". `place` says who has the run: "here" is this
    engine, "elsewhere" others that are open and go on with it or run its calls, "store" nobody. `calls`
    counts the ledger by status; `settled` the results that came since it was suspended. `output` is what no
    result has brought yet, or that of the kept result. `approvals` have the arguments: for people, not for
    models. `asked` are the ids of all approvals that were asked for so far, in order, open or decided.
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
    asked: tuple[str, ...] = ()
    output: tuple[Output, ...] = ()

    @property
    def age_ms(self) -> int | None:
        """Since its exec, by the wall clock."""
        return None if self.started_at_ms is None else int(clock.elapsed_ms(self.started_at_ms))

    def to_dict(self) -> dict[str, Any]:
        return msgspec.json.decode(msgspec.json.encode(self))


_Ask = tuple[ApprovalRequest, bytes]  # an approval and the JSON of its arguments, if it is apart
_Told = tuple[RunDetails, tuple[_Ask, ...]]


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
                return await _whole(self._describe(run_id, caller, found, memory))
            before, (found, memory) = self._phase(run_id), await self._read(run_id, caller)
        return await _whole(
            self._describe(run_id, caller, found, None)
        )  # it changes all the time: without its ledger

    async def _read(self, run_id: str, caller: RunScope) -> tuple[View | Ending | None, Memory | None]:
        found = await self._stored.look(run_id, caller)
        return found, await self._stored.read(found)

    def _phase(self, run_id: str) -> object:
        run = self._runs.get(run_id)
        return None if run is None else run.phase

    def _describe(
        self, run_id: str, caller: RunScope, found: View | Ending | None, memory: Memory | None
    ) -> _Told | None:
        run, kept = self._runs.get(run_id), self._kept.look(run_id, caller)
        if isinstance(kept, Completed | Failed):
            return self._of_result(run_id, caller, kept), ()
        if run is not None and not run.is_unopened and not _is_stale(run, found):
            if not same_caller(run.scope, caller):
                return None
            if run.state in (RunState.ABORTED, RunState.EXPIRED):  # its clean-up is still under way
                return self._of_result(run_id, run.scope, ended(run.state.value)), ()
            return _of_run(run, self._stored, found, memory, () if kept is None else kept.output)
        if isinstance(found, Ending):
            result = self._stored.result_of(found) or ended(found.how)
            return self._of_result(run_id, found.scope, result), ()
        return None if found is None else _of_store(found, memory)

    def _of_result(self, run_id: str, scope: RunScope, result: CodeModeResult) -> RunDetails:
        """What is told of a run that is over."""
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


def _is_stale(run: Run, found: View | Ending | None) -> bool:
    """Whether another engine went on with a run that was suspended here."""
    is_over = isinstance(found, Ending) and not run.has_ended
    return run.is_suspended and (is_over or (isinstance(found, View) and found.number != run.number))


def _of_run(
    run: Run,
    stored: StoredRuns,
    found: View | Ending | None,
    memory: Memory | None,
    unseen: tuple[Output, ...],
) -> _Told:
    """Of a run that runs here, or whose calls go on here."""
    view = found if isinstance(found, View) else None
    meter = run.meter
    if meter is None and memory is not None:
        meter = run.look(memory, Tally())
    is_waiting = run.is_suspended
    works = tuple(run.in_flight.pending.values())
    packed = run.trace.look(())
    details = RunDetails(
        run_id=run.id,
        agent=run.scope.agent,
        session=run.scope.session,
        agent_run=value_given(run.scope.agent_run),
        status="waiting" if is_waiting else "running",
        place="here",
        reason=wait_reason(works) if is_waiting else None,
        started_at_ms=None if packed is None else packed.state.started_ms,
        suspended_at_ms=view.label.created_at_ms if view is not None and is_waiting else None,
        expires_at_ms=view.label.expires_at_ms if view is not None and is_waiting else None,
        bytes=view.size_bytes if view is not None and is_waiting else 0,
        settled=settled_of(_settled(view), stored, run) if view is not None and is_waiting else 0,
        calls={} if meter is None else _count(meter.telemetry()),
        pending_tool_calls=describe_work(works),
        asked=tuple(run.in_flight.asked) or (() if memory is None else memory.asked),
        output=unseen if is_waiting else tuple(run.active.output),
    )
    return details, _asks(works)


def _of_store(view: View, memory: Memory | None) -> _Told:
    """Of a run that another engine suspended, or goes on with."""
    label, is_waiting = view.label, view.holder is None
    works = () if memory is None or not is_waiting else _awaited(memory, view)
    is_elsewhere = not is_waiting or any(
        call.held_by is not None and call.settled is None and not call.is_orphaned for call in view.calls
    )
    details = RunDetails(
        run_id=label.run_id,
        agent=label.scope.agent,
        session=label.scope.session,
        agent_run=value_given(label.scope.agent_run),
        status="waiting" if is_waiting else "running",
        place="elsewhere" if is_elsewhere else "store",
        reason=wait_reason(works) if is_waiting and memory is not None else None,
        started_at_ms=None if memory is None or memory.trace is None else memory.trace.started_ms,
        suspended_at_ms=label.created_at_ms,
        expires_at_ms=label.expires_at_ms,
        bytes=view.size_bytes,
        settled=_settled(view),
        calls={} if memory is None else _count(RunMeter.resume(Tally(), memory.meter).telemetry()),
        pending_tool_calls=describe_work(works),
        asked=() if memory is None else memory.asked,
    )
    return details, _asks(works)


def _awaited(memory: Memory, view: View) -> tuple[Work, ...]:
    """What the run waits for by now; a call that was decided on does not ask any more."""
    rows = {int(call.call_id): call for call in view.calls}
    waits = [work for work in memory.pending if work.id not in rows or rows[work.id].settled is None]
    for work in waits:
        if work.id in rows and rows[work.id].asking is None:
            work.take_approval()
    return tuple(waits)


def _settled(view: View) -> int:
    return sum(call.settled is not None for call in view.calls)


def _count(telemetry: Telemetry) -> dict[str, int]:
    """By status, with those that a long ledger does not list."""
    found = Counter[str](call.status for call in telemetry.calls)
    for statuses in telemetry.more_calls.values():
        found.update(statuses)
    return dict(sorted(found.items()))


def _asks(works: Sequence[Work]) -> tuple[_Ask, ...]:
    return tuple((work.approval, work.asked) for work in works if work.approval is not None)


async def _whole(told: _Told | None) -> RunDetails | None:
    """With the arguments of approvals, which are kept as bytes: large ones are decoded in the lane, one at a
    time."""
    if told is None:
        return None
    details, asks = told
    found: list[ApprovalRequest] = []
    for approval, asked in asks:
        if asked:
            decode = partial(decoded, asked)
            given = await lane().run(decode, details.session) if is_large(asked) else decode()
            assert isinstance(given, list), "it was encoded here"
            approval = msgspec.structs.replace(approval, arguments=given[0])
        found.append(approval)
    return msgspec.structs.replace(details, approvals=tuple(found)) if found else details
