"""Resumes a suspended run: waits for news, leases a worker, claims the snapshot, restores it there.

The calls of a run that this engine suspended are still running here; a run that a dead engine left is adopted
first (adopt.py). A run that cannot go on gets a failed result.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from codemode_runtime import wire
from codemode_snapshots import SnapshotError, StoreUnavailable

from codemode import clock
from codemode.contract.explained import Explained
from codemode.contract.results import CodeModeResult, Failed, Waiting, failed
from codemode.runs.adopt import Adopter
from codemode.runs.caller_task import finish_despite_cancel
from codemode.runs.frozen import Memory, open_memory
from codemode.runs.leg import Leg, Services
from codemode.runs.run import Run
from codemode.runs.stored_runs import ClaimedRun
from codemode.workers.errors import SupervisorError
from codemode.workers.worker import Worker

_log = logging.getLogger("codemode.engine")


class Resumer:
    """Carries out `wait`; one per engine."""

    def __init__(self, services: Services, adopter: Adopter) -> None:
        self._services = services
        self._stored = services.stored
        self._recorder = services.recorder
        self._adopter = adopter

    async def wait(self, run: Run) -> CodeModeResult:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._services.config.timeout_ms / 1000
        opened: ClaimedRun | Failed | None = None
        if run.adoption is not None:
            opened = await self._adopter.take_over(run)
            if isinstance(opened, Failed):
                return opened
        run.in_flight.give_back_yields()
        if not run.in_flight.settled:
            if opened is not None and (unkept := await self._adopter.keep(run, opened)) is not None:
                return unkept
            if not await self._news(run, deadline):
                return await self._still_waiting(run)
            opened = None
        return await Leg(self._services, run).lead(Resume(self._adopter, opened, deadline))

    async def _news(self, run: Run, deadline: float) -> bool:
        """Waits until something settles; False if nothing does. A question is not news for the program."""
        flight = run.in_flight
        if run.caller_task is not None and run.caller_task.is_alone:
            return bool(flight.settled)
        with run.listening(), flight.alarm_at(deadline):
            while not flight.settled:
                if not await flight.news(deadline) or run.has_ended:
                    return False
        return True

    async def _still_waiting(self, run: Run) -> CodeModeResult:
        """The result when nothing settled in time. Only reads the snapshot, for the ledger: without a claim
        the run is not lost if the engine dies now."""
        memory = None if run.has_ended else await self._peek(run)
        if memory is None or clock.wall_ms() >= run.expires_ms:
            opened = await self._adopter.open(run)  # tells what has become of it
            if isinstance(opened, Failed):
                return opened
            memory = await open_memory(opened.state)
            try:
                await self._stored.release(opened.claim)
            except SnapshotError as error:
                run.hold(opened.claim)  # the next wait releases it first
                _log.warning("run %s could not be put back: %s", run.id, error)
        return self._waiting(run, memory)

    async def _peek(self, run: Run) -> Memory | None:
        with contextlib.suppress(StoreUnavailable):
            return await self._stored.peek(run.id, run.scope)
        return None

    def _waiting(self, run: Run, memory: Memory) -> Waiting:
        self._recorder.waited_in_vain(run)
        meter = run.look(memory, self._recorder.tally)
        self._recorder.set_elapsed(run, meter)
        telemetry, pending = meter.telemetry(), run.in_flight.describe()
        run.trace.thaw(memory.trace)
        run.trace.pack(meter.calls)
        reason = "approval" if run.in_flight.has_approval else "pending_tools"
        return Waiting(run.id, reason, pending, (), telemetry)


class Resume:
    """An opening: restores a suspended run in a fresh guest. Any worker will do: its program is compiled.

    `opened` is given if the run was taken over from another engine; it is then claimed and open already.
    """

    def __init__(self, adopter: Adopter, opened: ClaimedRun | None, deadline: float) -> None:
        self._adopter = adopter
        self._opened = opened
        self._deadline = deadline

    async def lease(self, leg: Leg) -> Worker:
        """Leases before the claim: if there is no worker the run stays as it was. An engine that closes
        meanwhile leaves the run in the store, because nothing of it runs yet."""
        run, services = leg.run, leg.services
        with run.listening():
            try:
                return await services.supervisor.lease(session=run.scope.session)
            except asyncio.CancelledError:
                task = run.caller_task
                if self._opened is not None and (run.is_left or (task is not None and task.keeps)):
                    await finish_despite_cancel(self._adopter.keep(run, self._opened))
                raise

    async def no_worker(self, leg: Leg, why: Explained) -> Failed:
        if (
            self._opened is not None
            and (unkept := await self._adopter.keep(leg.run, self._opened)) is not None
        ):
            return unkept
        return failed(why.code, why.text)

    async def begin(self, leg: Leg, worker: Worker, queue_us: int) -> wire.Outcome | Failed:
        run, services, opened = leg.run, leg.services, self._opened
        if opened is None:
            if not services.stored.is_durable:  # a file takes longer to open than the worker to wake
                worker.attend()
            opened = await self._adopter.open(run)
            if isinstance(opened, Failed):
                return opened
        # one budget for waiting and running; queueing for a worker does not count
        left_ms = int((self._deadline - asyncio.get_running_loop().time()) * 1000) + queue_us // 1000
        budget_ms = max(left_ms, leg.least_ms)
        settled = run.in_flight.take_settled()
        run.hold(opened.claim)
        leg.set_budget(budget_ms, len(opened.delta))
        lost: SupervisorError | None = None
        try:
            worker.send_resume(opened.delta, settled, leg.limits, budget_ms, run.environment, leg.late_ms)
        except SupervisorError as error:
            lost = error
        # this happens while the worker restores the program
        memory = None if self._opened is not None else await open_memory(opened.state)
        run.resume(memory, services.recorder.tally)
        services.recorder.resumed(run, len(settled))
        services.recorder.leased(run, worker.pid, queue_us)
        if lost is not None:
            raise lost
        return await worker.outcome()
