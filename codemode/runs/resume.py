"""Resumes a suspended run: waits for news, leases a worker, claims the snapshot, restores it there.

A suspended run belongs to nobody, so the wait for it is the same wherever its calls run: look, wait for a
hint or for what settles here, claim (adopt.py). A run that cannot go on gets a failed result.
"""

from __future__ import annotations

import asyncio

from codemode_runtime import wire
from codemode_snapshots import View

from codemode import clock
from codemode.contract.explained import Explained
from codemode.contract.inputs import busy_run
from codemode.contract.results import CodeModeResult, Failed, Waiting, failed
from codemode.runs.adopt import Adopter
from codemode.runs.caller_task import finish_despite_cancel
from codemode.runs.claimed_run import ClaimedRun
from codemode.runs.frozen import Memory, open_memory
from codemode.runs.leg import Leg, Services
from codemode.runs.opening import tenant_of
from codemode.runs.run import Run
from codemode.workers.errors import SupervisorError
from codemode.workers.worker import Worker

_LOOK_S = 1.0  # a hint may be lost, and an engine that dies gives none


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
        ready = await self._until_ready(run, deadline)
        if not isinstance(ready, ClaimedRun | None):
            return ready
        self._stored.watch(run.id, soon=bool(run.in_flight.elsewhere))
        return await Leg(self._services, run).lead(Resume(self._adopter, ready, deadline))

    async def _until_ready(self, run: Run, deadline: float) -> ClaimedRun | CodeModeResult | None:
        """Waits until the program can go on. None: it can, and is claimed once there is a worker for it."""
        flight, view = run.in_flight, None
        if run.is_suspended:
            flight.give_back_yields()
        while not (run.is_suspended and flight.settled):
            if view is None or not self._stored.is_private:
                self._stored.watch(run.id, soon=True)
                found = await self._look(run)
                if not isinstance(found, View):
                    return found
                view = found
                flight.give_back_yields()
                if any(call.is_orphaned for call in view.calls):
                    opened = await self._adopter.open(run)
                    if not isinstance(opened, ClaimedRun) or flight.settled:
                        return opened
                    if (unkept := await self._adopter.put_back(run, opened)) is not None:
                        return unkept
                elif any(
                    call.settled is not None and int(call.call_id) in flight.pending for call in view.calls
                ):
                    return None
            if not flight.settled and not await self._news(run, deadline):
                return await self._still_waiting(run, view)
        return None

    async def _look(self, run: Run) -> View | CodeModeResult:
        """Nothing is lost if the wait ends meanwhile."""
        run.listen(True)
        try:
            return await self._adopter.look_in(run)
        finally:
            run.listen(False)

    async def _news(self, run: Run, deadline: float) -> bool:
        """Waits until something settles, or another engine has changed the run; False if nothing happens, or
        if a caller has to hear of a question first. That is not news for the program."""
        flight, loop = run.in_flight, asyncio.get_running_loop()
        if run.caller_task is not None and run.caller_task.is_alone:
            return False
        # what others do for the run can end without a hint
        is_alone = self._stored.is_private or not (flight.elsewhere or flight.has_approval)
        until = deadline if is_alone else min(deadline, loop.time() + _LOOK_S)
        run.listen(True)
        try:
            with flight.alarm_at(until):
                while not flight.settled and not flight.take_hint():
                    if flight.has_new_question or run.has_ended:
                        return False
                    if not await flight.news() and not flight.is_hinted:
                        return loop.time() < deadline
        finally:
            run.listen(False)
        return True

    async def _still_waiting(self, run: Run, view: View) -> CodeModeResult:
        """The result when nothing settled in time. Only reads the snapshot, for the ledger: without a claim
        the run is not lost if the engine dies now."""
        memory = None if run.has_ended else await self._stored.read(view)
        if memory is None or clock.wall_ms() >= run.expires_ms:
            opened = await self._adopter.open(run)  # tells what has become of it
            if not isinstance(opened, ClaimedRun):
                return opened
            memory = await open_memory(opened.state)
            if (unkept := await self._adopter.put_back(run, opened)) is not None:
                return unkept
        return self._waiting(run, memory)

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

    `opened` is given if calls had to be taken over from a dead engine: the run is claimed and open already.
    """

    def __init__(self, adopter: Adopter, opened: ClaimedRun | None, deadline: float) -> None:
        self._adopter = adopter
        self._opened = opened
        self._deadline = deadline
        self._build = ""

    async def lease(self, leg: Leg) -> Worker:
        """Leases before the claim: if there is no worker the run stays as it was. An engine that closes
        meanwhile leaves the run in the store, because nothing of it runs yet."""
        run, services = leg.run, leg.services
        run.listen(True)
        try:
            supervisor = services.supervisor
            # without its image any worker will do: the claim says that it cannot be restored here
            self._build = run.build if run.build in supervisor.builds else supervisor.build_id
            return await supervisor.lease(session=run.scope.session, tenant=tenant_of(run), build=self._build)
        except asyncio.CancelledError:
            task = run.caller_task
            if self._opened is not None and (run.is_left or (task is not None and task.keeps)):
                await finish_despite_cancel(self._adopter.put_back(run, self._opened))
            raise
        finally:
            run.listen(False)

    async def no_worker(self, leg: Leg, why: Explained) -> Failed:
        if (
            self._opened is not None
            and (unkept := await self._adopter.put_back(leg.run, self._opened)) is not None
        ):
            return unkept
        return failed(why.code, why.text)

    async def begin(self, leg: Leg, worker: Worker, queue_us: int) -> wire.Outcome | CodeModeResult:
        run, services, opened = leg.run, leg.services, self._opened
        if opened is None:
            if not services.stored.is_durable:  # a file takes longer to open than the worker to wake
                worker.attend()
            found = await self._adopter.open(run)
            if not isinstance(found, ClaimedRun):
                return found
            opened = found
            run.in_flight.give_back_yields()
            # another engine went on with it meanwhile
            if not run.in_flight.settled or opened.build_id != self._build:
                unkept = await self._adopter.put_back(run, opened)
                return failed("invalid_input", str(busy_run())) if unkept is None else unkept
        # one budget for waiting and running; queueing for a worker does not count
        left_ms = int((self._deadline - asyncio.get_running_loop().time()) * 1000) + queue_us // 1000
        budget_ms = max(left_ms, leg.least_ms)
        settled = run.in_flight.take_settled()
        run.hold(opened.claim)
        leg.set_budget(budget_ms, len(opened.delta))
        lost: SupervisorError | None = None
        tape = services.exports.go_on()
        try:
            worker.record(tape)
            worker.send_resume(opened.delta, settled, leg.limits, budget_ms, run.environment, leg.late_ms)
        except SupervisorError as error:
            lost = error
        # this happens while the worker restores the program
        memory = None if run.is_adoptable else await open_memory(opened.state)
        run.resume(memory, services.recorder.tally)
        if run.active.taped:
            run.active.record(tape)
        else:  # nothing of it was recorded before
            worker.record(None)
        services.recorder.resumed(run, len(settled))
        services.recorder.leased(run, worker.pid, queue_us)
        if lost is not None:
            raise lost
        if services.history.is_on:
            await services.history.keep(run, settled, opened.delta)
        return await worker.outcome()
