"""The runs that this process knows: finding one for a caller, leading a leg of it, ending it, purging what is
old."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from typing import Any

from codemode_snapshots import RunMeta, Scope, StoreUnavailable, Tombstone
from codemode_snapshots.store import Ending

from codemode.admission import Admission
from codemode.contract import CodeModeResult, Failed, failed
from codemode.inputs import busy_run, same_caller, unknown_run
from codemode.lead import Lead, to_the_end
from codemode.leg import Services
from codemode.meter import RunMeter, Tally
from codemode.resume import ended
from codemode.runs import Run, RunState
from codemode.tools import Tool

_log = logging.getLogger("codemode.engine")


class LiveRuns:
    """Running ones, and suspended ones whose calls go on here. Others are only in the store."""

    def __init__(self, services: Services, admission: Admission, tally: Tally) -> None:
        self._services = services
        self._suspensions = services.suspensions
        self._admission = admission
        self._tally = tally
        self._by_id: dict[str, Run] = {}
        self.is_closed = False

    def add(self, run: Run) -> None:
        self._by_id[run.id] = run

    def drop(self, run: Run) -> None:
        self._by_id.pop(run.id, None)

    def get(self, run_id: str) -> Run | None:
        return self._by_id.get(run_id)

    def all(self) -> list[Run]:
        return list(self._by_id.values())

    async def close(self, reason: str) -> None:
        """Ends all of them, as `leave` says; from here on Tool Search begins no more."""
        self.is_closed = True
        for run in self.all():
            await self.leave(run, reason)

    async def find(self, run_id: str, caller: Scope, own: tuple[Tool, ...] = ()) -> Run | Failed:
        """The suspended run, here or in the store. To anybody outside its scope it does not exist.

        `own` are the run's own tools, for one that another process left: tools are no part of a snapshot.
        """
        run = self._by_id.get(run_id)
        if run is not None:
            if not same_caller(run.scope, caller):
                raise unknown_run()
            if run.leg is not None or run.state is not RunState.WAITING:
                raise busy_run()
            return run
        try:
            found = await self._suspensions.find(run_id)
        except StoreUnavailable as error:
            return failed("internal_error", f"The store cannot be read: {error}")
        if found is None or not same_caller(
            found.scope if isinstance(found, Tombstone) else found.label.scope, caller
        ):
            raise unknown_run()
        if isinstance(found, Tombstone):
            return ended(found.ending)
        await self._admission.prepare()
        if run_id in self._by_id:
            raise busy_run()
        environment = self._admission.environment((), found.label.scope.agent, None, None)
        # what it may see is settled when it is thawed and says for whom it runs
        adopted = Run(run_id, found.label.scope, environment, RunMeter(self._tally))
        adopted.meter = None
        adopted.state = RunState.WAITING
        adopted.expires_ms = found.label.expires_at_ms
        adopted.is_adopted = True
        adopted.own_tools = own
        self._services.trajectories.adopt(adopted)
        self._by_id[run_id] = adopted
        return adopted

    async def lead(self, run: Run, leg: Coroutine[Any, Any, CodeModeResult]) -> CodeModeResult:
        """Runs a leg so that an abort can end it; a cancelled caller aborts the run."""
        lead = run.leg = Lead()
        try:
            return await leg
        except asyncio.CancelledError:
            if not run.is_left:
                reason = run.aborted or "the caller was cancelled"
                await to_the_end(self.abandon(run, reason, leave="aborted"))
            if run.aborted is not None and lead.is_only_stopped:
                return _aborted(run)
            raise
        except Exception:
            _log.exception("a leg of run %s failed", run.id)
            await self.abandon(run, "the engine failed")
            return failed("internal_error", "The engine failed while it ran the program.")
        finally:
            run.leg = None
            if run.has_ended or run.is_foreign:
                self.drop(run)
            lead.end()

    async def abort(self, run: Run, reason: str) -> None:
        run.aborted = reason
        if run.leg is not None:
            await run.leg.stop()
        await self.abandon(run, reason, leave="aborted")

    async def leave(self, run: Run, reason: str) -> None:
        """The engine ends. A suspended run stays for the next one, also if somebody waits for its news; what
        computes is aborted, and so is everything where nothing lasts."""
        if run.state is RunState.RUNNING or (run.leg is not None and not run.is_listening):
            await self.abort(run, reason)
            return
        run.aborted, run.is_left = reason, True
        if run.leg is not None:
            await run.leg.stop()
        self._by_id.pop(run.id, None)
        await run.cancel_work()

    async def abort_one(self, run_id: str, caller: Scope) -> bool:
        """Here, or in the store. False where the caller has no such run."""
        run = self._by_id.get(run_id)
        if run is not None:
            if not same_caller(run.scope, caller):
                return False
            await self.abort(run, "somebody aborted it")
            return True
        found = await self._suspensions.find(run_id)
        if not isinstance(found, RunMeta) or not same_caller(found.label.scope, caller):
            return False
        return await self._suspensions.end(run_id, leave="aborted")

    async def abort_session(self, session: str, agent: str) -> int:
        ended = 0
        for run in self.all():
            if (run.scope.session, run.scope.agent) == (session, agent):
                await self.abort(run, "its session was aborted")
                ended += 1
        for meta in await self._suspensions.runs(session):
            if meta.label.scope.agent == agent:
                ended += await self._suspensions.end(meta.label.run_id, leave="aborted")
        return ended

    async def abandon(self, run: Run, reason: str, leave: Ending | None = None) -> None:
        """The run is over in this process: its work is stopped, its snapshot deleted."""
        if not run.has_ended:
            _log.debug("run %s is abandoned: %s", run.id, reason)
            run.move(RunState.ABORTED)
            self._services.tell_end(run, "aborted" if leave else "internal_error")
        self._by_id.pop(run.id, None)
        await run.cancel_work()
        with contextlib.suppress(StoreUnavailable):
            await self._suspensions.end(run.id, leave=leave)

    async def expire_for_ever(self) -> None:
        pause = max(0.25, min(30.0, self._services.config.snapshot_ttl_seconds / 4))
        while True:
            await asyncio.sleep(pause)
            await self.expire()

    async def expire(self) -> int:
        """Purges what is past its time. How many runs ended."""
        try:
            ended = await self._suspensions.expire()
        except StoreUnavailable as error:
            _log.warning("expired runs could not be purged: %s", error)
            return 0
        for stone in ended:
            run = self._by_id.pop(stone.run_id, None)
            if run is not None and run.state is RunState.WAITING:
                run.move(RunState.EXPIRED)
                self._services.tell_end(run, "snapshot_expired")
                await run.cancel_work()
                run.wake()
        return len(ended)


def _aborted(run: Run) -> Failed:
    kept = "The engine was closed while nothing ran. The run is kept: wait for it once more later."
    text = kept if run.is_left else f"The run was cancelled: {run.aborted}."
    if run.meter is None:
        return failed("aborted", text)
    run.meter.abort_pending()
    run.meter.end_leg("aborted")
    return failed("aborted", text, tuple(run.output), run.meter.telemetry())
