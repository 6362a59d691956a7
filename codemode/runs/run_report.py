"""All that can be told of one run, for people who look at it: program, legs, calls, output, what it asks.

It is put together from what others keep: the run itself, its snapshot, its trajectory, its kept result, the
history. Looking changes nothing. Of a run that is over, the program and values are there where the host
records them; a live run has its program, whatever is recorded.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from codemode_snapshots import RunScope, View
from msgspec import Struct

from codemode.contract.results import CodeModeResult, Completed, Failed, Output
from codemode.contract.telemetry import CallRecord
from codemode.runs.finished_runs import FinishedRuns
from codemode.runs.kept_results import KeptResults
from codemode.runs.known_runs import KnownRuns
from codemode.runs.run_details import RunDetails, RunLookout
from codemode.runs.stored_runs import StoredRuns
from codemode.runs.trajectory_archive import TrajectoryArchive
from codemode.trajectory import Trajectory

_ERROR_PLACE = re.compile(r" \((\d{1,9}):(\d{1,9})\)(?:\n|$)")


class ErrorReport(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`message` is the text for the model, with its hints, while it is known; the place is in the program."""

    code: str
    message: str = ""
    line: int | None = None
    column: int | None = None


class RunReport(Struct, frozen=True, kw_only=True):
    """One run. `details` is None for a run of which only the history knows."""

    scope: RunScope
    trajectory: Trajectory
    details: RunDetails | None = None
    program: str | None = None
    error: ErrorReport | None = None
    ledger: tuple[CallRecord, ...] = ()
    output: tuple[Output, ...] = ()
    value: msgspec.Raw | None = None


class RunReporter:
    """Makes them; one per engine."""

    def __init__(
        self,
        runs: KnownRuns,
        stored: StoredRuns,
        archive: TrajectoryArchive,
        kept: KeptResults,
        lookout: RunLookout,
        past: FinishedRuns,
    ) -> None:
        self._runs = runs
        self._stored = stored
        self._archive = archive
        self._kept = kept
        self._lookout = lookout
        self._past = past

    async def owner(self, run_id: str) -> RunScope | None:
        """Whose run it is, for hosts that check by themselves who may see it. Raises StoreUnavailable."""
        run = self._runs.get(run_id)
        if run is not None:
            return run.scope
        kept = self._archive.scope_of(run_id)
        if kept is not None:
            return kept
        past = await self._past.scope_of(run_id)
        if past is not None:
            return past
        listed = await self._stored.runs()
        return next((one.label.scope for one in listed if one.label.run_id == run_id), None)

    async def report(self, run_id: str, caller: RunScope) -> RunReport | None:
        """None for a caller outside the run's scope. Raises StoreUnavailable."""
        details = await self._lookout.look(run_id, caller)
        trajectory = await self._archive.of_run(self._runs, run_id, caller)
        if trajectory is None or trajectory.is_partial:
            trajectory = await self._past.trajectory(run_id, caller) or trajectory
        if trajectory is None:
            return None
        kept = self._kept.look(run_id, caller)
        return RunReport(
            scope=caller,
            trajectory=trajectory,
            details=details,
            program=await self._program(run_id, caller, trajectory),
            error=_error(trajectory, kept, details),
            ledger=_ledger(trajectory) if kept is None else kept.telemetry.calls,
            output=() if details is None else details.output,
            value=kept.raw_value if isinstance(kept, Completed) else _recorded_value(trajectory),
        )

    async def _program(self, run_id: str, caller: RunScope, trajectory: Trajectory) -> str | None:
        run = self._runs.get(run_id)
        if run is not None and run.meter is not None:
            return run.active.program
        if trajectory.status in ("running", "waiting"):
            found = await self._stored.look(run_id, caller)
            memory = await self._stored.read(found) if isinstance(found, View) else None
            if memory is not None:
                return memory.program
        recorded: Any = (trajectory.calls[0].input or {}).get("value") if trajectory.calls else None
        return recorded if isinstance(recorded, str) else None


def _error(
    trajectory: Trajectory, kept: CodeModeResult | None, details: RunDetails | None
) -> ErrorReport | None:
    if isinstance(kept, Failed):
        place = _ERROR_PLACE.search(kept.error)
        line, column = (int(place[1]), int(place[2])) if place else (None, None)
        return ErrorReport(kept.code, kept.error, line, column)
    if details is not None and details.code:
        return ErrorReport(details.code, details.error)
    return ErrorReport(trajectory.code) if trajectory.code else None


def _ledger(trajectory: Trajectory) -> tuple[CallRecord, ...]:
    return tuple(
        CallRecord(
            call.id, call.tool, call.name, call.method, call.status, call.ms, call.bytes_in, call.bytes_out,
            call.failure,
        )
        for leg in trajectory.calls
        for call in leg.calls
    )  # fmt: skip


def _recorded_value(trajectory: Trajectory) -> msgspec.Raw | None:
    last = trajectory.calls[-1].value if trajectory.calls else None
    return msgspec.Raw(msgspec.json.encode(last["value"])) if last and "value" in last else None
