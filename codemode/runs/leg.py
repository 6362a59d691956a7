"""One leg of a run: leases a worker, starts or resumes the program and drives it until there is a result.

The whole exec/wait loop is here: it delivers what has settled, starts what the program asks for, and waits
for news when nothing is left to deliver, until the program ends, yields, needs an approval, or is idle when
the budget is spent. Unless the program has ended, the leg then captures the guest and suspends the run. A leg
runs in its caller's task; that of a wait may move to another (movable.py), so nothing here depends on which.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from codemode_runtime import wire
from codemode_runtime.frames import FrameRefused
from codemode_runtime.shapes import Limits
from codemode_snapshots import SnapshotError
from msgspec import Struct
from msgspec.structs import replace

from codemode.config import CodeModeConfig
from codemode.contract.explained import Explained
from codemode.contract.results import (
    CodeModeResult,
    Completed,
    Failed,
    Waiting,
    WaitReason,
    failed,
)
from codemode.contract.telemetry import CallError, LossyValue
from codemode.runs.dispatch import Dispatch
from codemode.runs.exports import Exports
from codemode.runs.history import History
from codemode.runs.host_work import HostWork
from codemode.runs.leg_failures import explain_unstored, explain_worker, too_large, too_many_calls
from codemode.runs.opening import LegPolicy, Opening
from codemode.runs.parking import Parked, Unpark
from codemode.runs.phases import RunState
from codemode.runs.recorder import Recorder
from codemode.runs.run import Run
from codemode.runs.stored_runs import StoredRuns
from codemode.runs.worlds import OTHER_BUILD, UNCHANGED, Worlds
from codemode.workers.errors import SupervisorError
from codemode.workers.supervisor import Supervisor
from codemode.workers.worker import Worker

if TYPE_CHECKING:  # 4 ms of import, for programs that fail
    from codemode.failures import Program


class Services(Struct, frozen=True):
    """What every leg of an engine needs."""

    config: CodeModeConfig
    supervisor: Supervisor
    stored: StoredRuns
    work: HostWork
    recorder: Recorder
    worlds: Worlds
    history: History
    exports: Exports


_SUSPENDS = LegPolicy()
_LEAST_BUDGET_MS = 100
_IN_A_TURN = 500  # messages of one batch that are taken in one turn of the loop


class Leg:
    """One exec or one wait; call `lead` once."""

    def __init__(self, services: Services, run: Run, policy: LegPolicy = _SUSPENDS) -> None:
        self.services = services
        self.run = run
        self._policy = policy
        self._recorder = services.recorder
        self._budget_ms = 0
        self._deadline = 0.0
        self._restored_bytes = 0
        self._computed = 0.0  # seconds
        self._waited = 0.0
        self._may_park = True
        self._dispatch = Dispatch(services.stored, run)

    async def lead(self, opening: Opening) -> CodeModeResult:
        """Always ends with a result, and with the worker released."""
        result = await self._hold_worker(opening)
        while isinstance(result, Parked):
            ended = await self._wait_parked(result)
            result = await self._hold_worker(Unpark(result)) if ended is None else ended
        return result

    async def _hold_worker(self, opening: Opening) -> CodeModeResult | Parked:
        queued = time.perf_counter_ns()
        try:
            worker = await opening.lease(self)
        except SupervisorError as error:
            return await opening.no_worker(self, explain_worker(error))
        queue_us = (time.perf_counter_ns() - queued) // 1000
        with worker:
            try:
                began = time.perf_counter()
                outcome = await opening.begin(self, worker, queue_us)
                self._computed += time.perf_counter() - began
                if isinstance(outcome, Completed | Waiting | Failed):
                    return outcome
                return await self._drive(worker, outcome)
            except SupervisorError as error:
                return await self.fail(explain_worker(error))

    # ---- for openings --------------------------------------------------------------------------------------

    def set_budget(self, budget_ms: int, restored_bytes: int = 0) -> None:
        """The leg's time begins now."""
        self._budget_ms = budget_ms
        self._deadline = asyncio.get_running_loop().time() + budget_ms / 1000
        self._restored_bytes = restored_bytes

    def go_on(self, queue_us: int) -> int:
        """Milliseconds that are left after a pause; what the leg queued for in it does not count."""
        self._deadline += queue_us / 1e6
        self._restored_bytes = 0
        return int((self._deadline - asyncio.get_running_loop().time()) * 1000)

    @property
    def late_ms(self) -> int:
        """How long a program may compute with what a tool answered at the end of the budget."""
        return self.services.config.timeout_ms // 4

    @property
    def least_ms(self) -> int:
        """The shortest budget of a leg that goes on, beside `late_ms`: restoring takes a moment too."""
        return max(0, _LEAST_BUDGET_MS - self.late_ms)

    @property
    def limits(self) -> Limits:
        config = self.services.config
        calls = config.max_pending_tool_calls + config.max_queued_tool_calls
        return Limits(config.memory_limit_bytes, config.max_output_bytes, calls)

    # ---- the loop ------------------------------------------------------------------------------------------

    async def _drive(self, worker: Worker, outcome: wire.Outcome) -> CodeModeResult | Parked:
        if not isinstance(outcome, wire.Idle):
            return await self._end(worker, outcome)
        with self.run.in_flight.alarm_at(self._deadline):
            return await self._drain(worker, outcome)

    async def _drain(self, worker: Worker, outcome: wire.Outcome) -> CodeModeResult | Parked:
        run, loop = self.run, asyncio.get_running_loop()
        while isinstance(outcome, wire.Idle):
            self._recorder.computed(run, outcome.spent, self._restored_bytes)
            run.active.note_idle(outcome.returned)
            if run.claim is not None and (lost := await self._dispatch.refusal(outcome.messages)) is not None:
                return await self.fail(lost)
            if not self._may_call(outcome.messages):
                return await self.fail(too_many_calls(self.services.config.max_tool_calls))
            if outcome.returned:
                self._note_unawaited(outcome.messages)
            self.services.work.start_line(run)
            for at, message in enumerate(outcome.messages, 1):
                match message:
                    case wire.Text() | wire.Json() | wire.ContentShown() | wire.Ignored():
                        self._recorder.output_added(run, message)
                    case _:
                        self._begin(worker, message)
                if not at % _IN_A_TURN:
                    await asyncio.sleep(0)  # thousands of timers are a tenth of a second
            idle = loop.time()
            reason = await self._until_deliverable(worker)
            began = loop.time()
            self._waited += began - idle
            if isinstance(reason, Parked):
                return reason
            if reason is not None:
                return await self._suspend(worker, reason)
            if self.services.history.at_awaits and self._policy.may_suspend:
                await self.services.history.capture(run, worker)
            outcome = await worker.deliver(run.in_flight.take_settled())
            self._computed += loop.time() - began
        return await self._end(worker, outcome)

    def _may_call(self, messages: wire.GuestMessages) -> bool:
        """Counts the calls of a batch; False if the run makes more of them than it may."""
        calls = sum(1 for message in messages if type(message) is wire.Call)
        return self.run.active.meter.count_calls(calls) <= self.services.config.max_tool_calls

    def _note_unawaited(self, messages: wire.GuestMessages) -> None:
        """The program has returned; what it still calls, or has not heard of, it did not wait for."""
        pending = [work.id for work in self.run.in_flight.pending.values() if work.is_call]
        new = [message.id for message in messages if isinstance(message, wire.Call)]
        self.run.active.meter.note_unawaited([*pending, *new])

    def _begin(self, worker: Worker, message: wire.Call | wire.Yield | wire.Timer | wire.Clear) -> None:
        try:
            self.services.work.begin(self.run, message)
        except FrameRefused as refused:
            raise worker.refuse(str(refused)) from None

    async def _until_deliverable(self, worker: Worker | None) -> WaitReason | Parked | None:
        """Returns None once there is something to deliver, else why the run has to be suspended now; or the
        guest, if the worker is needed elsewhere. `worker` is None for a leg that has let go of it."""
        run, flight = self.run, self.run.in_flight
        gives_a_turn = bool(flight.calls)
        while True:
            if flight.pending and flight.has_yield and not run.active.returned:
                return "approval" if flight.has_approval else "yield"
            if flight.settled:
                return None
            if flight.has_approval:
                return "approval"
            if gives_a_turn:  # a quick tool ends in the loop's next turn, so nothing is set up to wait for it
                gives_a_turn = False
                await asyncio.sleep(0)
                continue
            if worker is None or not self._may_park:
                is_news = await flight.news()
            else:
                with self.services.supervisor.idle(worker, flight.wake) as idle:
                    is_news = await flight.news()
                if idle.is_asked and (parked := await self._park(worker)) is not None:
                    return parked
            if not is_news:
                return "pending_tools"

    # ---- another leg needs the worker ----------------------------------------------------------------------

    async def _park(self, worker: Worker) -> Parked | None:
        """Captures the guest, so that its worker can go; None if the guest has to stay where it is."""
        config, flight = self.services.config, self.run.in_flight
        try:
            if flight.settled:
                return None
            captured, delta = await worker.capture(config.max_snapshot_bytes)
            everybody, session = self.services.work.pending, self.run.scope.session
            self._may_park = bool(delta) and flight.keep_parked(len(delta), everybody, session)
            if not self._may_park or flight.settled:
                flight.give_parked()
                return None
        finally:
            self.services.supervisor.idlers.let_go()
        self._recorder.parked(self.run, captured.bytes, captured.capture_us)
        return Parked(captured, delta, worker.output_left)

    async def _wait_parked(self, parked: Parked) -> CodeModeResult | None:
        """Waits without a worker; None once there is something to deliver."""
        idle = time.perf_counter()
        with self.run.in_flight.alarm_at(self._deadline):
            reason = await self._until_deliverable(None)
        self._waited += time.perf_counter() - idle
        if reason is None:
            return None
        assert not isinstance(reason, Parked)
        return await self._suspend(parked, reason)

    # ---- the program ended ---------------------------------------------------------------------------------

    async def _end(self, worker: Worker, outcome: wire.Outcome) -> CodeModeResult:
        """Takes the output that came with the end; drops calls that were not started yet."""
        if not isinstance(outcome, wire.Refused | wire.RestoreRefused):
            self._note(outcome)
            for message in outcome.messages:
                if isinstance(message, wire.GuestOutput | wire.Ignored):
                    self._recorder.output_added(self.run, message)
        if isinstance(outcome, wire.Done):
            return await self._complete(outcome.result, await self._keep_world(worker))
        call = str(outcome.failure.call) if isinstance(outcome, wire.Threw) else ""
        error = self.run.active.meter.error_of(call)
        return await self.fail(self._explain(outcome, error), call if error else None)

    def _explain(self, outcome: wire.Outcome, error: CallError | None) -> Explained:
        """`error` is that of the call whose failure ended the program."""
        # 4 ms of import, which only programs that fail need
        from codemode.failures import explain_failure, explain_refusal, explain_stop, explain_timeout

        config = self.services.config
        match outcome:
            case wire.Refused():
                return explain_refusal(outcome, self._program, self.run.environment.available)
            case wire.RestoreRefused(code, message) if self.run.active.world and not self._restored_bytes:
                return Explained(code, f"The session's variables cannot be restored: {message}. Reset them.")
            case wire.RestoreRefused(code, message):
                return Explained(code, f"The suspended program cannot be restored: {message}.")
            case wire.Threw(failure=failure):
                available = self.run.environment.available
                return explain_failure(failure, self._program, available, config, error)
            case wire.Stopped(reason=reason):
                return explain_stop(reason, config)
            case wire.Interrupted():
                return explain_timeout(config.timeout_ms, self._computed, self._waited)
            case wire.Idle() | wire.Done():
                raise AssertionError("this guest has not failed")

    async def _keep_world(self, worker: Worker) -> tuple[str, ...]:
        """Leaves what the program declared to the session's next one; notes on what is not kept."""
        run = self.run
        if run.active.world is None:
            return ()
        if run.build not in ("", self.services.supervisor.build_id):
            return (OTHER_BUILD,)
        try:
            return await self.services.worlds.keep(run.id, run.scope, run.active.world, worker)
        except SupervisorError as error:
            return (f"What this program declared is not kept: {error}.",)

    async def _complete(self, found: wire.Value, notes: tuple[str, ...]) -> CodeModeResult:
        await self._finish(RunState.COMPLETED)
        lossy = [LossyValue(item.path, item.kind) for item in found.lossy]
        hints = (*notes, *(self._hints(found) if found.lossy or found.last_line is not None else ()))
        telemetry = self._recorder.leg_completed(self.run, len(found.value), lossy, hints)
        return Completed(found.value, self.run.active.take_output(), telemetry)

    async def fail(self, explained: Explained, failed_call: str | None = None) -> Failed:
        code, text = explained.code, explained.text
        if code == "timeout" and self._policy.tell_timeout is not None:
            text = self._policy.tell_timeout(self.run, self._budget_ms)
        await self._finish(RunState.ABORTED if code == "aborted" else RunState.FAILED)
        telemetry = self._recorder.leg_failed(self.run, code, failed_call)
        result = failed(code, text, self.run.active.take_output(), telemetry)
        return result if self.run.active.world is None else replace(result, notes=(UNCHANGED,))

    async def _finish(self, how: RunState) -> None:
        run = self.run  # who leads the leg tells the store of the end, with the result
        run.end(how)
        if run.in_flight.pending:
            self.services.work.abort_calls(run)
        await run.in_flight.cancel()
        if run.claim is not None:
            self._recorder.snapshot_dropped(run)

    # ---- the program waits ---------------------------------------------------------------------------------

    async def _suspend(self, guest: Worker | Parked, reason: WaitReason) -> CodeModeResult:
        if not self._policy.may_suspend:
            return await self.fail(Explained("timeout", ""))
        run, services, recorder = self.run, self.services, self._recorder
        config = services.config
        waited_for = run.in_flight.describe()  # all of it may settle while the guest is captured and stored
        if isinstance(guest, Parked):
            captured, delta = guest.captured, guest.delta
            run.in_flight.give_parked()  # the store counts it from now on
        else:
            captured, delta = await guest.capture(config.max_snapshot_bytes)
        recorder.captured(run, captured.bytes, captured.capture_us)
        if not delta:
            return await self.fail(too_large(captured.bytes, config.max_snapshot_bytes))
        output = run.active.take_output()
        recorder.freezing(run, reason, output, captured.bytes, captured.capture_us)
        state, calls, began = run.freeze(), run.in_flight.stored_calls(), time.perf_counter_ns()
        told, meter = run.in_flight.describe() or waited_for, run.active.meter
        answer = Waiting(run.id, reason, told, output, meter.telemetry()) if run.was_requested else None
        ttl_ms, build_id = config.snapshot_ttl_seconds * 1000, run.build or services.supervisor.build_id
        try:
            size, expires_ms = await services.stored.save(
                build_id, run.id, run.scope, ttl_ms, state, delta, run.claim, calls, answer
            )
        except SnapshotError as error:
            run.unfreeze()
            recorder.not_stored(run)
            run.active.put_back_output(output)
            return await self.fail(explain_unstored(error, config.max_snapshot_bytes))
        if run.active.world is not None:
            await services.worlds.hold(run.id, run.scope, run.active.world)
        telemetry = recorder.stored(run, size, (time.perf_counter_ns() - began) // 1000)
        pending = run.in_flight.describe() or told
        if run.in_flight.has_approval:
            reason = "approval"  # a call may have asked for it while the guest was captured
        recorder.suspended(run, reason, size)
        run.stored(size, expires_ms, build_id)
        await services.work.records.settled(run)
        return Waiting(run.id, reason, pending, output, telemetry)

    @property
    def _program(self) -> Program:
        from codemode.failures import Program

        active = self.run.active
        return Program(active.program, active.language)

    def _hints(self, found: wire.Value) -> tuple[str, ...]:
        from codemode.failures import hint_for_nothing, hint_for_unawaited

        hints = [hint_for_unawaited(bytes(found.value), found.lossy)]
        if found.last_line is not None and not self.run.active.output and not self._only_declares:
            hints.append(hint_for_nothing(self.run.active.program, found.last_line, found.last_column))
        return tuple(hint for hint in hints if hint)

    @property
    def _only_declares(self) -> bool:
        """Whether the program may have been there for what it declares in its session's world."""
        from codemode.failures.expressions import declared_names

        return self.run.active.world is not None and bool(declared_names(self.run.active.program))

    def _note(self, outcome: wire.Outcome) -> None:
        if not isinstance(outcome, wire.Refused | wire.RestoreRefused):
            self._recorder.computed(self.run, outcome.spent, self._restored_bytes)
