"""The runs that this process knows: finds one for a caller, leads its legs, ends it, purges old ones."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import msgspec
from codemode_snapshots import RunMeta, RunScope, StoreUnavailable, Tombstone
from codemode_snapshots.store import Ending

from codemode.contract.error_codes import ErrorCode
from codemode.contract.inputs import busy_run, same_caller, unknown_run
from codemode.contract.results import NOTHING_KNOWN, CodeModeResult, Failed, failed
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


class KnownRuns:
    """Holds the running runs, and the suspended ones whose calls go on here; one per engine."""

    def __init__(self, services: Services, admission: Admission) -> None:
        self._services = services
        self._stored = services.stored
        self._recorder = services.recorder
        self._admission = admission
        self._by_id: dict[str, Run] = {}
        self._undeleted: set[str] = set()  # ended runs that the store could not delete, as it did not answer
        self.is_closed = False

    def add(self, run: Run) -> None:
        self._by_id[run.id] = run

    def drop(self, run: Run) -> None:
        if run.id not in self._undeleted:
            self._by_id.pop(run.id, None)

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

    async def find(self, run_id: str, caller: RunScope, own: tuple[Tool, ...] = ()) -> Run | Failed:
        """The suspended run, for a wait. Raises InputRefused if it is not the caller's, or is busy."""
        try:
            run = await self.look_up(run_id, caller, own)
        except StoreUnavailable as error:
            return failed("internal_error", f"The store cannot be read: {error}")
        if isinstance(run, Run) and (run.caller_task is not None or run.state is not RunState.WAITING):
            raise busy_run()
        return run

    async def look_up(self, run_id: str, caller: RunScope, own: tuple[Tool, ...] = ()) -> Run | Failed:
        """The run, here or in the store. For a caller outside its scope it does not exist.

        `own` are the run's own tools, for a run that another process left: a snapshot holds no tools. Raises
        InputRefused and StoreUnavailable.
        """
        known = self._known(run_id, caller)
        if known is not None:
            return known
        found = await self._stored.find(run_id)
        if found is None or not same_caller(
            found.scope if isinstance(found, Tombstone) else found.label.scope, caller
        ):
            raise unknown_run()
        if isinstance(found, Tombstone):
            return self._ended(run_id, ended(found.ending))
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
        with run.led() as task:
            try:
                return self._complete(run, await leg)
            except asyncio.CancelledError:
                if task.keeps:
                    raise
                if not run.is_left:
                    reason = run.stop_reason or "the caller was cancelled"
                    await finish_despite_cancel(self.abandon(run, reason, leave="aborted"))
                if run.stop_reason is not None and task.is_only_stopped:
                    return self._complete(run, _aborted(run))
                raise
            except Exception:
                _log.exception("a leg of run %s failed", run.id)
                await finish_despite_cancel(self.abandon(run, "the engine failed"))
                broken = _cut_short(run, "internal_error", "The engine failed while it ran the program.")
                return self._complete(run, broken)
            finally:
                if run.has_ended or run.is_adoptable:
                    self.drop(run)

    def _complete(self, run: Run, result: CodeModeResult) -> CodeModeResult:
        """Counts a wait that came to no leg, and adds to its result what the run has done."""
        if not isinstance(result, Failed) or result.telemetry is not NOTHING_KNOWN or run.meter is not None:
            return result
        self._recorder.wait_without_leg(result.code)
        return _with_ledger(result, ledger(run.trace.look(()), run.late, is_over=run.has_ended))

    async def abort(self, run: Run, reason: str) -> None:
        run.stop(reason)
        if run.caller_task is not None:
            await run.caller_task.stop()
        await self.abandon(run, reason, leave="aborted")

    async def leave(self, run: Run, reason: str) -> None:
        """For a closing engine. A suspended run stays for the next engine, even if a caller waits for its
        news. A run that computes is aborted, and so is a wait if the store does not last."""
        can_leave = run.caller_task is None or (run.is_listening and self._stored.is_durable)
        if run.state is RunState.RUNNING or not can_leave:
            await self.abort(run, reason)
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
        found = await self._stored.find(run_id)
        if not isinstance(found, RunMeta) or not same_caller(found.label.scope, caller):
            return False
        return await self._stored.end(run_id, leave="aborted")

    async def abort_session(self, session: str, agent: str) -> int:
        ended = 0
        for run in self.all():
            if (run.scope.session, run.scope.agent) == (session, agent):
                await self.abort(run, "its session was aborted")
                ended += 1
        for meta in await self._stored.runs(session):
            if meta.label.scope.agent == agent:
                ended += await self._stored.end(meta.label.run_id, leave="aborted")
        return ended

    async def abandon(self, run: Run, reason: str, leave: Ending | None = None) -> None:
        """Ends a run in this process: stops its work and deletes its snapshot.

        The run stays known until both are done, so that no caller takes it out of the store meanwhile.
        """
        if not run.has_ended:
            _log.debug("run %s is abandoned: %s", run.id, reason)
            run.end(RunState.ABORTED)
        self._end_outside_leg(run, "aborted" if leave else "internal_error")
        run.in_flight.stop()  # at once, because the store may take long
        await self._forget(run, leave)
        await run.in_flight.cancel()
        self.drop(run)

    async def _forget(self, run: Run, leave: Ending | None) -> None:
        """Deletes the snapshot. If that fails, `expire` tries again; until then the run is known as ended."""
        try:
            if await self._stored.end(run.id, leave=leave):
                self._recorder.snapshot_dropped(None)
            self._undeleted.discard(run.id)
        except StoreUnavailable as error:
            _log.warning("the snapshot of run %s could not be deleted: %s", run.id, error)
            self._undeleted.add(run.id)

    async def expire_for_ever(self) -> None:
        pause = max(0.25, min(30.0, self._services.config.snapshot_ttl_seconds / 4))
        while True:
            await asyncio.sleep(pause)
            await self.expire()

    async def expire(self) -> int:
        """Purges runs past their time and returns how many ended."""
        suspended = [run for run in self.all() if run.state is RunState.WAITING and not run.is_unopened]
        try:
            for stone in await self._stored.recover():
                _log.warning("run %s was being resumed when its engine died; it is gone", stone.run_id)
            gone = {stone.run_id for stone in await self._stored.expire()}
            left = await self._stored.own_runs()
        except StoreUnavailable as error:
            _log.warning("expired runs could not be purged: %s", error)
            return 0
        self._recorder.snapshots_expired(len(gone))
        for run in suspended:
            # no longer in the store and not in a leg here: another engine aborted or purged it
            is_lost = left is not None and run.id not in left and run.caller_task is None
            if run.state is RunState.WAITING and (run.id in gone or is_lost):
                await self._expire_one(run)
        for run in [run for run in self.all() if run.id in self._undeleted]:
            await self._forget(run, "aborted")
            self.drop(run)
        return len(gone)

    async def _expire_one(self, run: Run) -> None:
        run.end(RunState.EXPIRED)
        self._end_outside_leg(run, "snapshot_expired")
        self.drop(run)
        await run.in_flight.cancel()
        run.in_flight.wake()

    def _end_outside_leg(self, run: Run, code: ErrorCode) -> None:
        self._services.work.abort_calls(run)
        self._recorder.ended_outside_leg(run, code)


def _aborted(run: Run) -> Failed:
    kept = "The engine was closed while nothing ran. The run is kept: wait for it once more later."
    text = kept if run.is_left else f"The run was cancelled: {run.stop_reason}."
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
