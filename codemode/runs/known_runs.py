"""The runs that this process knows: finds one for a caller, leads its legs, ends it, purges old ones."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import msgspec
from codemode_snapshots import Claim, Ending, How, RunScope, StoreUnavailable

from codemode.contract.error_codes import ErrorCode
from codemode.contract.inputs import busy_run, same_caller, unknown_run
from codemode.contract.results import NOTHING_KNOWN, CodeModeResult, Completed, Failed, failed
from codemode.contract.telemetry import CallRecord, Telemetry
from codemode.runs.admission import Admission
from codemode.runs.adopt import ended
from codemode.runs.caller_task import finish_despite_cancel
from codemode.runs.leg import Services
from codemode.runs.phases import RunState
from codemode.runs.run import Run
from codemode.tools import Tool
from codemode.trajectory.export import ledger

_log = logging.getLogger("codemode.engine")
_CLOSED = "The engine was closed while nothing ran"
LOST_LEASE = "its engine lost its lease on the store"


class KnownRuns:
    """Holds the running runs, and the suspended ones whose calls go on here; one per engine."""

    def __init__(self, services: Services, admission: Admission) -> None:
        self._services = services
        self._stored = services.stored
        self._recorder = services.recorder
        self._admission = admission
        self._by_id: dict[str, Run] = {}
        self._undeleted: dict[str, Claim | None] = {}  # ended runs that the store could not delete yet
        self.is_closed = False

    def add(self, run: Run) -> None:
        self._by_id[run.id] = run

    def drop(self, run: Run) -> None:
        if run.id not in self._undeleted:
            self._by_id.pop(run.id, None)
            self._stored.unwatch(run.id)

    def get(self, run_id: str) -> Run | None:
        return self._by_id.get(run_id)

    def all(self) -> list[Run]:
        return list(self._by_id.values())

    async def close(self, reason: str) -> None:
        """Ends every run as `leave` does; from now on Tool Search begins no run."""
        self.is_closed = True
        # running runs come last: a worker they free must not go to a run that is only to be left
        for run in sorted(self.all(), key=lambda run: run.state is RunState.RUNNING):
            await self.leave(run, reason)
        await self._services.work.kept_shapes.close()

    async def find(self, run_id: str, caller: RunScope, own: tuple[Tool, ...] = ()) -> Run | CodeModeResult:
        """The suspended run, for a wait. Raises InputRefused if it is not the caller's, or is busy."""
        try:
            run = await self.look_up(run_id, caller, own)
        except StoreUnavailable as error:
            return failed("internal_error", f"The store cannot be read: {error}")
        if isinstance(run, Run) and (run.caller_task is not None or run.state is not RunState.WAITING):
            raise busy_run()
        return run

    async def look_up(
        self, run_id: str, caller: RunScope, own: tuple[Tool, ...] = ()
    ) -> Run | CodeModeResult:
        """The run, here or in the store; or the result of one that has ended, as far as it is kept. For a
        caller outside its scope it does not exist.

        `own` are the run's own tools, for a run that another process left: a snapshot holds no tools. Raises
        InputRefused and StoreUnavailable.
        """
        known = self._known(run_id, caller)
        if known is not None:
            return known
        found = await self._stored.look(run_id, caller)
        if found is None:
            raise unknown_run()
        if isinstance(found, Ending):
            return self._stored.result_of(found) or await self._told(found)
        await self._admission.prepare()
        known = self._known(run_id, caller)  # another caller may have been quicker
        if known is not None:
            return known
        if self.is_closed:
            return failed("aborted", "The engine is closed.")
        scope = found.label.scope
        adopted = Run.adopted(
            run_id,
            scope,
            # until it is opened: for whom its tools were resolved is in the snapshot
            self._admission.environment((), scope.agent, None, None, None, None),
            own,
            found.label.expires_at_ms,
            self._recorder.archive.trace_of(run_id),
        )
        self._by_id[run_id] = adopted
        return adopted

    async def _told(self, ending: Ending) -> Failed:
        """How a run ended, with what it has done as far as that is known."""
        memory = await self._stored.read(ending.was)
        result = ended(ending.how)
        return self._ended(ending.run_id, result) if memory is None else _with_ledger(result, memory.calls())

    def _known(self, run_id: str, caller: RunScope) -> Run | Failed | None:
        run = self._by_id.get(run_id)
        if run is None:
            return None
        if not same_caller(run.scope, caller):
            raise unknown_run()
        match run.state:
            case RunState.ABORTED | RunState.EXPIRED:  # its clean-up is still under way
                return self._ended(run_id, ended(run.state.value))
            case _:
                return run

    def _ended(self, run_id: str, result: Failed) -> Failed:
        """Adds to the result of a run that is over what it has done, as far as that is known here."""
        return _with_ledger(result, self._recorder.archive.ledger(run_id))

    async def lead(self, run: Run, leg: Coroutine[Any, Any, CodeModeResult]) -> CodeModeResult:
        """Runs a leg so that an abort can end it; cancelling it aborts the run, unless the run only waits and
        the caller leaves it (waits.py)."""
        task = run.begin_lead()
        try:
            return self._complete(run, await leg)
        except asyncio.CancelledError:
            if task.keeps:
                raise
            if not run.is_left:
                reason = run.stop_reason or "the caller was cancelled"
                await finish_despite_cancel(self.abandon(run, reason))
            if run.stop_reason is not None and task.is_only_stopped:
                return self._complete(run, _aborted(run))
            self._recorder.leg_cut_short(run)
            raise
        except Exception:
            _log.exception("a leg of run %s failed", run.id)
            await finish_despite_cancel(self.abandon(run, "the engine failed", "internal_error"))
            broken = _cut_short(run, "internal_error", "The engine failed while it ran the program.")
            return self._complete(run, broken)
        finally:
            if run.has_ended or (run.is_adoptable and not run.in_flight.is_busy):
                self.drop(run)
            else:
                self._stored.watch(run.id, soon=False)
            run.end_lead(task)

    def _complete(self, run: Run, result: CodeModeResult) -> CodeModeResult:
        """Counts a wait that came to no leg, and adds to its result what the run has done."""
        if not isinstance(result, Failed) or result.telemetry is not NOTHING_KNOWN or run.meter is not None:
            return result
        self._recorder.wait_without_leg(result.code)
        return _with_ledger(result, ledger(run.trace.look(()), run.late, is_over=run.has_ended))

    async def abort(self, run: Run, reason: str, *, by_claim: bool = False) -> None:
        """Ends the run, whoever holds it by now; or, `by_claim`, only if that is this engine."""
        run.stop(reason)
        if run.caller_task is not None:
            await run.caller_task.stop()
        await self.abandon(run, reason, by_claim=by_claim)

    async def conclude(self, run: Run, result: CodeModeResult) -> CodeModeResult:
        """Ends a claimed run in the store, and keeps its result there for any engine that is asked again. Its
        caller gets the result only then: an answer that was sent can be sent again. If the run is not this
        engine's any more, what came of it here does not count, and the caller is told what the store says."""
        claim = run.take_claim()
        how: How = "completed" if isinstance(result, Completed) else "failed"
        try:
            if claim is not None and not await self._stored.finish(
                claim, run.scope, how, result, is_kept=run.was_requested
            ):
                run.lose()
            if run.is_lost:
                return await self._told_elsewhere(run, result)
            await self._services.exports.keep(run, result)
        except StoreUnavailable as error:
            _log.warning("the result of run %s could not be kept: %s", run.id, error)
        return result

    async def _told_elsewhere(self, run: Run, result: CodeModeResult) -> CodeModeResult:
        """What has become of a run that another engine went on with, or ended."""
        found = await self._stored.look(run.id, run.scope)
        if isinstance(found, Ending):
            return self._stored.result_of(found) or await self._told(found)
        text = "Another engine went on with the run: wait for it once more."
        return result if found is None else failed("aborted", text, (), result.telemetry)

    async def leave(self, run: Run, reason: str) -> None:
        """For a closing engine. A suspended run stays for the next engine, even if a caller waits for its
        news. A run that computes is aborted, and so is a wait if the store does not last."""
        can_leave = run.caller_task is None or (run.is_listening and self._stored.is_durable)
        if run.state is RunState.RUNNING or not can_leave:
            await self.abort(run, reason, by_claim=True)
            return
        run.stop(reason, keeps=True)
        if run.caller_task is not None:
            await run.caller_task.stop()
        self._by_id.pop(run.id, None)
        await run.in_flight.cancel()

    async def abort_one(self, run_id: str, caller: RunScope) -> bool:
        """Aborts a run here or in the store. False if the caller has no such run."""
        run = self._by_id.get(run_id)
        if run is not None:
            if not same_caller(run.scope, caller):
                return False
            await self.abort(run, "somebody aborted it")
            return True
        return self._stored.is_open and await self._stored.end(run_id, caller, "aborted")

    async def abort_session(self, session: str, agent: str) -> int:
        ended = 0
        for run in self.all():
            if (run.scope.session, run.scope.agent) == (session, agent):
                await self.abort(run, "its session was aborted")
                ended += 1
        for listed in await self._stored.runs(session):
            if listed.label.scope.agent == agent:
                ended += await self._stored.end(listed.label.run_id, listed.label.scope, "aborted")
        return ended

    async def abandon(
        self, run: Run, reason: str, code: ErrorCode = "aborted", *, by_claim: bool = True
    ) -> None:
        """Ends a run in this process: stops its work and deletes its snapshot.

        The run stays known until both are done, so that no caller takes it out of the store meanwhile. With
        `by_claim` a run that another engine has taken over stays: this one may have been taken for dead.
        """
        is_saved = run.is_suspended or run.number >= 0 or bool(run.in_flight.rows)
        if not run.has_ended:
            _log.debug("run %s is abandoned: %s", run.id, reason)
            run.end(RunState.ABORTED)
        self._end_outside_leg(run, code)
        run.in_flight.stop()  # at once, because the store may take long
        claim = run.take_claim()
        if claim is not None or (is_saved and not (by_claim and run.is_lost)):
            await self._forget(run, claim if by_claim else None, is_kept=code == "aborted")
        await run.in_flight.cancel()
        self.drop(run)

    async def _forget(self, run: Run, claim: Claim | None, *, is_kept: bool = True) -> None:
        """Deletes the snapshot. If that fails, `forget_again` tries it; until then the run is known as
        ended."""
        try:
            if await self._stored.end(run.id, run.scope, "aborted", claim=claim, is_kept=is_kept):
                self._recorder.snapshot_dropped(None)
            elif claim is not None:
                run.lose()
            self._undeleted.pop(run.id, None)
        except StoreUnavailable as error:
            _log.warning("the snapshot of run %s could not be deleted: %s", run.id, error)
            self._undeleted[run.id] = claim

    async def forget_again(self) -> None:
        """Deletes what the store could not delete when it was asked to."""
        for run in [run for run in self.all() if run.id in self._undeleted]:
            await self._forget(run, self._undeleted[run.id])
            self.drop(run)

    async def end_here(self, run: Run, how: How) -> None:
        if how in ("completed", "failed"):  # another engine has told its end
            run.end(RunState.FAILED)
            self._services.work.abort_calls(run)
        else:
            run.end(RunState.EXPIRED if how == "expired" else RunState.ABORTED)
            self._end_outside_leg(run, "snapshot_expired" if how == "expired" else "aborted")
        self.drop(run)
        await run.in_flight.cancel()
        run.in_flight.wake()

    def _end_outside_leg(self, run: Run, code: ErrorCode) -> None:
        self._services.work.abort_calls(run)
        self._recorder.ended_outside_leg(run, code)


def _aborted(run: Run) -> Failed:
    text = f"The run was cancelled: {run.stop_reason}."
    if run.is_left:
        why = "This engine lost its lease on the store" if run.stop_reason == LOST_LEASE else _CLOSED
        text = f"{why}. The run is kept: wait for it once more later."
    return _cut_short(run, "aborted", text)


def _cut_short(run: Run, code: ErrorCode, text: str) -> Failed:
    """The result of a leg that was cut short, with its output and calls so far."""
    if run.meter is None:
        return failed(code, text)
    run.meter.abort_pending()
    run.meter.end_leg(code)
    return failed(code, text, tuple(run.active.output), run.meter.telemetry())


def _with_ledger(result: Failed, calls: tuple[CallRecord, ...]) -> Failed:
    return msgspec.structs.replace(result, telemetry=Telemetry(calls=calls)) if calls else result
