"""One leg of a run: a worker leased, the program started or resumed, driven until a result can be given.

The whole exec/wait loop is here: deliver what has settled, start what the program asks for, and when nothing
is left to deliver wait for news, until the program ends, yields, needs an approval, or the budget is spent
while it is idle. Then the guest is captured and the run suspended. Called by engine.py, in its caller's task.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from codemode_runtime import wire
from codemode_runtime.frames import Data, FrameRefused
from codemode_runtime.shapes import Limits, Settlement
from codemode_runtime.zygote_wire import Flavour
from codemode_snapshots import NotHeld, SnapshotError, StoreFull

from codemode.config import CodeModeConfig
from codemode.contract import events
from codemode.contract.error_codes import ErrorCode
from codemode.contract.events import EventHub
from codemode.contract.results import (
    CodeModeResult,
    Completed,
    Failed,
    JsonOutput,
    Output,
    TextOutput,
    Waiting,
    WaitReason,
    failed,
)
from codemode.contract.telemetry import LossyValue, utf8_bytes
from codemode.failures import (
    Explained,
    Program,
    explain_failure,
    explain_refusal,
    explain_stop,
    explain_timeout,
    hint_for_unawaited,
)
from codemode.runs.host_work import HostWork
from codemode.runs.meter import CAPS, RunMeter
from codemode.runs.run import Run, RunState, wall_ms
from codemode.runs.stored_runs import StoredRuns
from codemode.runs.trajectory_archive import Trajectories
from codemode.workers.errors import Aborted, SupervisorError
from codemode.workers.supervisor import Supervisor, second_opinion
from codemode.workers.worker import Worker

Opening = Callable[[Worker], Awaitable[wire.Outcome]]


@dataclass(frozen=True, slots=True)
class Services:
    """What every leg of an engine needs."""

    config: CodeModeConfig
    supervisor: Supervisor
    stored: StoredRuns
    work: HostWork
    hub: EventHub
    trajectories: Trajectories

    def end_outside_leg(self, run: Run, code: ErrorCode) -> None:
        """For a run that does not end in a leg, or in one that nobody follows to its end."""
        self.work.abort_calls(run)
        self.trajectories.keep(run)
        self.tell_end(run, code)

    def tell_end(self, run: Run, code: ErrorCode | None) -> None:
        """Once for each run, whoever ends it; None for one that completed."""
        if run.is_told:
            return
        run.is_told = True
        if self.hub.has_listeners:
            status = "completed" if code is None else "failed"
            self.hub.publish(events.Finished(run_id=run.id, at_ms=wall_ms(), status=status, code=code))


class Leg:
    """Made for one exec or one wait; `start` or `resume`, once."""

    def __init__(self, services: Services, run: Run, budget_ms: int) -> None:
        self._services = services
        self._run = run
        self._budget_ms = budget_ms
        self._deadline = 0.0
        self._restored_bytes = 0

    async def start(self) -> CodeModeResult:
        run = self._run
        return await self._lead(
            run.language,
            lambda worker: worker.start(
                run.program, run.language, self._limits(), self._budget_ms, run.environment
            ),
        )

    def send(self, worker: Worker, delta: Data, settlements: list[Settlement]) -> None:
        """Resumes in a worker that the caller has leased; any will do, since what is restored is compiled.

        `resume` then waits for it. Raises SupervisorError.
        """
        run = self._run
        self._deadline = asyncio.get_running_loop().time() + self._budget_ms / 1000
        self._restored_bytes = len(delta)
        worker.send_resume(
            delta, settlements, self._limits(), self._budget_ms, run.environment, run.exact_positions
        )
        self._publish(events.Resumed(run_id=run.id, at_ms=wall_ms(), settled=len(settlements)))

    async def resume(self, worker: Worker) -> CodeModeResult:
        self._run.trace.lease(worker.pid)
        try:
            return await self._drive(worker, await worker.outcome())
        except SupervisorError as error:
            return await self.fail(explain_worker(error))

    async def _lead(self, flavour: Flavour, opening: Opening) -> CodeModeResult:
        """Whatever happens ends in a result, and with the worker given back."""
        try:
            while True:
                with await self._lease(flavour) as worker:
                    # queueing and cold start do not count against the budget
                    self._deadline = asyncio.get_running_loop().time() + self._budget_ms / 1000
                    outcome = await opening(worker)
                    other = second_opinion(flavour, outcome)
                    if other is None:
                        return await self._drive(worker, outcome)
                flavour = other
        except SupervisorError as error:
            return await self.fail(explain_worker(error))

    async def _lease(self, flavour: Flavour) -> Worker:
        queued = time.perf_counter_ns()
        session = self._run.scope.session
        worker = await self._services.supervisor.lease(session=session, flavour=flavour)
        self._meter.spend("queue", (time.perf_counter_ns() - queued) // 1000)
        self._run.trace.lease(worker.pid)
        return worker

    async def _drive(self, worker: Worker, outcome: wire.Outcome) -> CodeModeResult:
        if not isinstance(outcome, wire.Idle):
            return await self._end(outcome)
        with self._run.alarm_at(self._deadline):
            return await self._drain(worker, outcome)

    async def _drain(self, worker: Worker, outcome: wire.Outcome) -> CodeModeResult:
        run = self._run
        while isinstance(outcome, wire.Idle):
            self._note(outcome)
            run.returned = outcome.returned
            for message in outcome.messages:
                match message:
                    case wire.Text() | wire.Json():
                        self._take_output(message)
                    case _:
                        self._begin(worker, message)
            reason = await self._until_deliverable()
            if reason is not None:
                return await self._suspend(worker, reason)
            outcome = await worker.deliver(run.take_settled())
        return await self._end(outcome)

    def _begin(self, worker: Worker, message: wire.Call | wire.Yield | wire.Timer | wire.Clear) -> None:
        try:
            self._services.work.begin(self._run, message)
        except FrameRefused as refused:
            raise worker.refuse(str(refused)) from None

    async def _until_deliverable(self) -> WaitReason | None:
        """None once there is something to deliver; else why the run has to be suspended now."""
        run = self._run
        while True:
            has_approval = any(work.approval is not None for work in run.pending.values())
            has_yield = not run.returned and any(work.method == "yield" for work in run.pending.values())
            if has_yield:
                return "approval" if has_approval else "yield"
            if run.settled:
                return None
            if has_approval:
                return "approval"
            if not await run.news(self._deadline):
                return "pending_tools"

    async def _end(self, outcome: wire.Outcome) -> CodeModeResult:
        """What a program sent with its end is output; calls that were not started yet are dropped."""
        run, config = self._run, self._services.config
        match outcome:
            case wire.Refused():
                return await self.fail(explain_refusal(outcome, self._program))
            case wire.RestoreRefused(code, message):
                return await self.fail(
                    Explained(code, f"The suspended program cannot be restored: {message}.")
                )
            case _:
                self._note(outcome)
        for message in outcome.messages:
            if isinstance(message, wire.Text | wire.Json):
                self._take_output(message)
        match outcome:
            case wire.Done(result=found):
                return await self._complete(found)
            case wire.Failed(failure=failure):
                available = run.environment.available
                return await self.fail(explain_failure(failure, self._program, available, config))
            case wire.Stopped(reason=reason):
                return await self.fail(explain_stop(reason, config))
            case wire.Interrupted():
                return await self.fail(explain_timeout(config))
            case wire.Idle():
                raise AssertionError("an idle guest has not ended")

    async def _complete(self, found: wire.Value) -> CodeModeResult:
        run, meter = self._run, self._meter
        await self._finish(RunState.COMPLETED)
        lossy = [LossyValue(item.path, item.kind) for item in found.lossy]
        hint = hint_for_unawaited(bytes(found.value), found.lossy)
        meter.transfer("value", len(found.value))
        meter.end_leg("completed")
        self._services.tell_end(run, None)
        telemetry = meter.telemetry(lossy, (hint,) if hint else ())
        return Completed(found.value, self._take_all_output(), telemetry)

    async def fail(self, explained: Explained) -> Failed:
        await self._finish(RunState.ABORTED if explained.code == "aborted" else RunState.FAILED)
        return self._failed(explained.code, explained.text)

    def _failed(self, code: ErrorCode, text: str) -> Failed:
        run = self._run
        self._meter.abort_pending()
        self._meter.end_leg(code)
        if code in CAPS:
            self._publish(events.LimitHit(run_id=run.id, at_ms=wall_ms(), code=code))
        self._services.tell_end(run, code)
        return failed(code, text, self._take_all_output(), self._meter.telemetry())

    async def _finish(self, state: RunState) -> None:
        """Every end deletes the snapshot and stops what still runs."""
        run = self._run
        run.move(state)
        self._services.work.abort_calls(run)
        await run.cancel_work()
        if run.claim is not None:
            run.claim = None
            self._services.stored.drop(run.id)
            self._meter.see_snapshot("dropped")

    async def _suspend(self, worker: Worker, reason: WaitReason) -> CodeModeResult:
        run, services = self._run, self._services
        config = services.config
        captured, delta = await worker.capture(config.max_snapshot_bytes)
        self._meter.spend("capture", captured.capture_us)
        self._meter.see_snapshot("taken", bytes=captured.bytes, us=captured.capture_us)
        if not delta:
            return await self.fail(self._too_large(captured.bytes))
        self._meter.end_leg("waiting")
        output = self._take_all_output()
        services.work.set_elapsed(run)
        run.trace.suspend(reason, output, captured.bytes, captured.capture_us)
        state = run.freeze()
        ttl_ms = config.snapshot_ttl_seconds * 1000
        build_id = services.supervisor.build_id
        began = time.perf_counter_ns()
        try:
            size, run.expires_ms = await services.stored.save(
                build_id, run.id, run.scope, ttl_ms, state, delta, run.claim
            )
        except SnapshotError as error:
            run.unfreeze()
            self._meter.undo_waiting()
            run.output[:0] = output
            return await self.fail(self._not_stored(error))
        run.stored_bytes, store_us = size, (time.perf_counter_ns() - began) // 1000
        self._meter.spend("store", store_us)
        self._meter.see_snapshot("stored", bytes=size, us=store_us)
        telemetry = self._meter.telemetry()
        run.claim = None
        run.move(RunState.WAITING)
        pending = services.work.pending_calls(run)
        if any(call.approval is not None for call in pending):
            reason = "approval"  # it may have been asked for while the guest was captured
        self._publish(events.Suspended(run_id=run.id, at_ms=wall_ms(), reason=reason, bytes=size))
        run.shrink()
        await services.work.record_settled(run)
        return Waiting(run.id, reason, pending, output, telemetry)

    def _not_stored(self, error: SnapshotError) -> Explained:
        match error:
            case StoreFull(limit="snapshot_bytes"):
                return self._too_large(error.wanted)
            case StoreFull():
                return Explained("snapshot_limit_exceeded", f"There is no room to suspend the run: {error}")
            case NotHeld():
                return Explained("aborted", "The run was cancelled by another engine.")
            case _:
                return Explained("internal_error", f"The run could not be stored: {error}")

    def _too_large(self, size: int) -> Explained:
        text = (
            f"Suspended here, the program would need {size} bytes; a snapshot may have "
            f"{self._services.config.max_snapshot_bytes}. Hold less data across slow calls."
        )
        return Explained("snapshot_limit_exceeded", text)

    @property
    def _program(self) -> Program:
        return Program(self._run.program, self._run.language, self._run.exact_positions)

    @property
    def _meter(self) -> RunMeter:
        return self._run.require_meter()

    def _limits(self) -> Limits:
        config = self._services.config
        return Limits(config.memory_limit_bytes, config.max_output_bytes, config.max_pending_tool_calls)

    def _note(self, outcome: wire.Idle[wire.GuestMessages] | wire.Outcome) -> None:
        if isinstance(outcome, wire.Refused | wire.RestoreRefused):
            return
        self._run.exact_positions = outcome.exact_positions
        meter, spent = self._meter, outcome.spent
        meter.spend("run", spent.run_us)
        if spent.prepare_us:
            meter.spend("prepare", spent.prepare_us)
        if spent.restore_us:
            meter.spend("restore", spent.restore_us)
            meter.see_snapshot("restored", bytes=self._restored_bytes, us=spent.restore_us)
            self._run.trace.restore(spent.restore_us)

    def _take_output(self, message: wire.Text | wire.Json) -> None:
        item: Output
        match message:
            case wire.Text(text, level):
                item = TextOutput(text, level)
                self._meter.transfer("output", utf8_bytes(text))
            case wire.Json(value):
                item = JsonOutput(value)
                self._meter.transfer("output", len(value))
        self._run.output.append(item)
        self._publish(events.OutputAdded(run_id=self._run.id, at_ms=wall_ms(), item=item))

    def _take_all_output(self) -> tuple[Output, ...]:
        taken, self._run.output = tuple(self._run.output), []
        return taken

    def _publish(self, event: events.Event) -> None:
        if self._services.hub.has_listeners:
            self._services.hub.publish(event)


def explain_worker(error: SupervisorError) -> Explained:
    """There was no worker for a leg, or it was lost in the middle."""
    if isinstance(error, Aborted):
        return Explained("aborted", f"The run was cancelled: {error}.")
    code: ErrorCode = "runtime_unavailable" if error.code == "runtime_unavailable" else "internal_error"
    return Explained(code, f"{error}.")
