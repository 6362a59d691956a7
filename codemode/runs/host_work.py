"""The host work of runs: starts and settles what programs ask for.

Look-ups in the catalog are answered at once, but a large catalog is searched in a thread. Calls go to the one
executor. The event loop settles timers, and the caller's return settles yields. Each ends as a Settlement in
the run's queue, in the order in which they happen.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any

import msgspec
from codemode_runtime import wire
from codemode_runtime.frames import FrameRefused
from codemode_runtime.parts import measure, refusal_of_passing, rough_weight
from codemode_runtime.shapes import MAX_TIMERS, Settlement

from codemode import clock
from codemode.catalog.searches import Searches
from codemode.config import CodeModeConfig
from codemode.contract.telemetry import CallStatus
from codemode.executor import (
    BROKEN,
    ApprovalRequest,
    CallFailed,
    Calling,
    CallOk,
    CallRequest,
    CallResult,
    Decided,
    Decision,
    NeedsApproval,
)
from codemode.gate.lane import LARGE_BYTES, is_large, lane
from codemode.gate.pending import PendingBytes
from codemode.runs.arguments import clipped, decoded, no_room, not_decoded, small_arguments
from codemode.runs.call_records import CallRecords
from codemode.runs.contents import hash_large, is_large_content
from codemode.runs.delivered import delivered_of
from codemode.runs.kept_shapes import KeptShapes
from codemode.runs.lookups import VIA, Lookups
from codemode.runs.outcomes import read_outcome
from codemode.runs.phases import RunState
from codemode.runs.questions import Questions
from codemode.runs.recorder import Recorder
from codemode.runs.run import Run
from codemode.runs.stored_runs import StoredRuns
from codemode.runs.work import Work, is_question
from codemode.runs.work_tools import tool_of

_log = logging.getLogger("codemode.nested")
_encode = msgspec.json.encode
_INTERRUPTED = CallFailed(
    "interrupted",
    "InterruptedError",
    "the engine was restarted while this call was running; it may or may not have taken effect",
)
# Turns a call as the program wrote it into one that the host knows.
Translate = Callable[[Run, wire.Call], wire.Call]
Then = Callable[[Run, Work, list[Any]], None]


class HostWork:
    """Starts and settles the work of an engine's runs; holds no run itself.

    `translate` reads calls that are written in another way than code mode's. With `may_wait` False a call
    that needs an approval later is refused, because its run cannot be suspended.
    """

    def __init__(
        self,
        config: CodeModeConfig,
        recorder: Recorder,
        stored: StoredRuns,
        questions: Questions,
        *,
        pending: PendingBytes,
        searches: Searches,
        shapes: KeptShapes,
        translate: Translate | None = None,
        may_wait: bool = True,
    ) -> None:
        self.pending = pending
        self.searches = searches
        self.kept_shapes = shapes
        self.shapes = shapes.shapes
        self._config = config
        self._recorder = recorder
        self._stored = stored
        self.records = CallRecords(stored)
        self._questions = questions
        self._translate = translate
        self._may_wait = may_wait
        self._lookups = Lookups(config, searches, self.shapes, self._finish, self._spawn)

    def begin(self, run: Run, message: wire.Call | wire.Yield | wire.Timer | wire.Clear) -> None:
        """Takes one message of an idle guest. Raises FrameRefused for one that no guest of ours sends."""
        flight = run.in_flight
        if not isinstance(message, wire.Clear):
            if not run.active.meter.is_new(message.id):
                raise FrameRefused("the program used an id twice")  # idempotency keys and the ledger use ids
            # guests keep these bounds themselves; the checks are for a worker that lies
            most = self._config.max_pending_tool_calls + self._config.max_queued_tool_calls
            if len(flight.pending) >= 2 * MAX_TIMERS + most:
                raise FrameRefused("the program has more timers than it may")
        match message:
            case wire.Call():
                running = self._config.max_pending_tool_calls
                in_line = bool(flight.line) or (
                    len(flight.pending) >= running and flight.count_of_calls >= running
                )
                if in_line and len(flight.line) >= self._config.max_queued_tool_calls:
                    raise FrameRefused("the program has more calls under way than it may")
                call = message if self._translate is None else self._translate(run, message)
                work = Work(
                    call.id, call.method, clock.wall_ms(), clipped(call.target), args=bytes(call.args)
                )
                flight.add(work)
                refused = self._keep(run, work, rough_weight(work.args))
                if in_line and refused is None:
                    work.identify(tool_of(run, work.method, work.target))
                    flight.put_in_line(work)
                else:
                    self._begin_call(run, work, refused)
            case wire.Timer(id, ms):
                if len(flight.timers) >= MAX_TIMERS:
                    raise FrameRefused("the program has more timers than it may")
                now = clock.wall_ms()
                work = Work(id, "timer", now, due_ms=now + ms)
                flight.add(work)
                self.arm_timer(run, work)
            case wire.Yield(id, reason):
                flight.add(Work(id, "yield", clock.wall_ms(), reason=reason or ""))
            case wire.Clear(id):
                flight.clear(id)

    def start_line(self, run: Run) -> None:
        """Starts calls that wait in line, as many as there is room for. None while a store that others
        use has the run: its snapshot says that they were not started, and another engine would start them."""
        flight = run.in_flight
        if flight.line_stands or (run.state is RunState.WAITING and not self._stored.is_private):
            return
        with flight.hold_line():  # calls may end at once, any number of them
            while flight.free and (work := flight.next_in_line()) is not None:
                self._begin_call(run, work, None)

    def arm_timer(self, run: Run, work: Work) -> None:
        timers = run.in_flight.timers

        def ring() -> None:
            timers.pop(work.id, None)
            run.settle(Settlement(work.id))

        # the time may lie in the past: after a restart, overdue timers ring in the order they were due
        loop = asyncio.get_running_loop()
        timers[work.id] = loop.call_at(loop.time() + (work.due_ms - clock.wall_ms()) / 1000, ring)

    def start_again(self, run: Run, work: Work) -> None:
        """Starts an idempotent call again after a restart, with the key it had before."""
        self._launch(run, work, small_arguments(work.args))

    def decide(self, run: Run, work: Work, approval: ApprovalRequest, decision: Decision) -> None:
        """Continues a call that waited for approval, or refuses it."""
        self._recorder.approval_decided(run, work, approval, decision.approved)
        if not is_question(approval):
            asked = work.asked or _encode([approval.arguments])  # a version before kept them in the approval
            start = partial(self._start_decided, approval, decision, work.id not in run.in_flight.inherited)
            self._with_arguments(run, work, small_arguments(asked), start, asked)
        elif not self._questions.answer(approval.id, decision):  # the call died with its engine
            (self.start_again if work.idempotent else self.interrupt)(run, work)

    def interrupt(self, run: Run, work: Work) -> None:
        """Settles a call whose engine died; whether it took effect is not known."""
        self._finish(run, work, _INTERRUPTED)

    def settle_recorded(self, run: Run, work: Work, outcome: bytes) -> None:
        """Settles a call with the outcome that another engine had recorded."""
        before = run.contents.bytes
        settlement = read_outcome(work.id, outcome, run.contents)
        if run.contents.bytes > before:  # the store had room for it, and so must we
            run.in_flight.keep_content(run.contents.bytes, self.pending, run.scope.session)
        self._close(run, work, "error" if settlement.rejected else "ok", settlement)

    def abort_calls(self, run: Run) -> None:
        """Records all pending calls as aborted when the run is over; `InFlight.cancel` then stops them."""
        for work in run.in_flight.take_pending():
            if work.is_call and not work.queued:
                self._recorder.call_aborted(run, work)

    def count_inherited(self, run: Run, recorded: Iterable[tuple[int, int]]) -> str | None:
        """Counts what a run that was taken over keeps; says why that is too much. `recorded` are the calls
        whose results the store has, and their bytes."""
        return run.in_flight.keep_inherited(recorded, self.pending, run.scope.session)

    # ---- calls ---------------------------------------------------------------------------------------------

    def _keep(self, run: Run, work: Work, size: int) -> CallFailed | None:
        """Counts what the call keeps in memory; the failure of a call for which there is no room."""
        refusal = run.in_flight.keep(work.id, size, self.pending, run.scope.session)
        return None if refusal is None else no_room(refusal)

    def _begin_call(self, run: Run, work: Work, refused: CallFailed | None) -> None:
        work.identify(tool_of(run, work.method, work.target))
        arguments = small_arguments(work.args)
        self._recorder.call_started(run, work, [] if isinstance(arguments, CallFailed) else arguments)
        if refused is not None:
            work.drop_arguments()
            self._finish(run, work, refused)
            return
        match work.method:
            case "search":
                self._with_arguments(run, work, arguments, self._lookups.search, work.args)
            case "describe":
                self._lookups.describe(run, work)
            case _:
                self._launch(run, work, arguments)

    def _with_arguments(
        self, run: Run, work: Work, arguments: list[Any] | CallFailed | None, then: Then, args: bytes
    ) -> None:
        """Goes on with the arguments: at once, or, where they are large, after the lane has decoded them."""
        if arguments is None:
            self._spawn(run, work, self._decode_large(run, work, then, args), "arguments")
        elif isinstance(arguments, CallFailed):
            self._finish(run, work, arguments)
        else:
            then(run, work, arguments)

    async def _decode_large(self, run: Run, work: Work, then: Then, args: bytes) -> None:
        session = run.scope.session
        measured = await lane().run(partial(measure, args), session)
        arguments: list[Any] | CallFailed | None = None
        if measured.refusal is not None:
            arguments = not_decoded(f"JSON {measured.refusal}")
        elif work.id in run.in_flight.pending:
            arguments = self._keep(run, work, work.kept_bytes + measured.weight)
        if arguments is None:
            arguments = await lane().run(partial(decoded, args), session)
        if work.id not in run.in_flight.pending:
            return  # the run has ended meanwhile
        if isinstance(arguments, CallFailed):
            self._finish(run, work, arguments)
        else:
            then(run, work, arguments)

    def _spawn(self, run: Run, work: Work, step: Coroutine[Any, Any, None], name: str) -> None:
        """Runs a part of a call in a task of its own. A failure of ours ends the call."""

        async def guarded() -> None:
            try:
                await step
            except Exception:
                _log.exception("the %s of a call failed", name)
                run.in_flight.tasks.pop(work.id, None)
                self._finish(run, work, BROKEN)
            finally:
                if run.in_flight.tasks.get(work.id) is task:
                    del run.in_flight.tasks[work.id]

        task = run.in_flight.tasks[work.id] = asyncio.create_task(guarded(), name=f"codemode {name}")

    def _launch(self, run: Run, work: Work, arguments: list[Any] | CallFailed | None) -> None:
        if work.method != "namespace" and not work.tool:
            self._start(run, work, [], None)  # nobody takes them: there is no such tool
        else:
            self._with_arguments(run, work, arguments, self._start, work.args)

    def _start_decided(
        self, asked: ApprovalRequest, decision: Decision, here: bool, run: Run, work: Work, given: list[Any]
    ) -> None:
        """What was approved is run, and the arguments of then are not needed again."""
        whole = msgspec.structs.replace(asked, arguments=given[0])
        self._start(run, work, given, Decided(whole, decision, here))

    def _start(self, run: Run, work: Work, arguments: list[Any], decided: Decided | None = None) -> None:
        target, given = work.target, arguments[0] if arguments else None
        if work.method == "namespace" and decided is None:
            if run.environment.scopes is None:
                self._lookups.unknown(run, work)
                return
            resolved = run.environment.scopes.resolve(work.target, arguments)
            if isinstance(resolved, CallFailed):
                self._finish(run, work, resolved)
                return
            target, given = resolved
        request = CallRequest(
            work.tool if work.method == "namespace" else target,
            given,
            call_id=str(work.id),
            idempotency_key=f"{run.id}:{work.id}",
            fence=run.in_flight.takes.get(work.id, 1),
            context=run.call_context(),
            via=VIA.get(work.method, "tools"),
            variables=self._recorder.variables(run, work),
            json_bytes=0 if work.method == "namespace" else len(work.args),  # there the integration made them
            is_large=is_large(work.asked or work.args),
        )
        calling = run.environment.executor.start(request, partial(self._end, run, work), decided)
        run.in_flight.calls.append(calling)

    def _end(self, run: Run, work: Work, calling: Calling, result: CallResult) -> None:
        run.in_flight.calls.remove(calling)
        if isinstance(result, NeedsApproval) and self._may_wait:
            if run.state is RunState.WAITING and work.id in run.in_flight.takes:
                self._spawn(run, work, self._ask_late(run, work, result.approval), "question")
            else:
                self._ask(run, work, result.approval)
        elif isinstance(result, NeedsApproval):
            asked = result.approval
            told = f"{asked.tool} needs an approval that nobody has given: {asked.summary}"
            self._finish(run, work, CallFailed("denied", "ApprovalNeeded", told, {"approval": asked.id}))
        else:
            self._finish(run, work, result)

    def _ask(self, run: Run, work: Work, approval: ApprovalRequest) -> None:
        asking = run.in_flight.pending.get(work.id, work)  # a run that was read anew has its works anew
        asking.ask(approval)
        self._keep(run, asking, asking.kept_bytes)  # less than while they were decoded
        run.in_flight.asked_here(work.id)
        self._recorder.approval_asked(run, asking, approval)
        run.in_flight.wake()

    async def _ask_late(self, run: Run, work: Work, approval: ApprovalRequest) -> None:
        """The run is suspended: the question is stored before anybody hears of it, because decisions on it
        are made in the store."""
        if await self.records.asked(run, work, approval, is_held=False):
            self._ask(run, work, approval)
        else:
            told = f"{approval.tool} needs an approval, which could not be asked for: {approval.summary}"
            self._finish(run, work, CallFailed("denied", "ApprovalNeeded", told, {"approval": approval.id}))

    def _finish(self, run: Run, work: Work, result: CallOk | CallFailed) -> None:
        data = result.json
        if len(data) > LARGE_BYTES or (isinstance(result, CallOk) and is_large_content(result.contents)):
            self._spawn(run, work, self._finish_large(run, work, result, data), "result")
        else:
            self._settle(run, work, result, data, refusal_of_passing(data))

    async def _finish_large(self, run: Run, work: Work, result: CallOk | CallFailed, data: bytes) -> None:
        refusal = await lane().run(partial(refusal_of_passing, data), run.scope.session)
        if isinstance(result, CallOk):
            await hash_large(result.contents, self._config.max_content_bytes)
        self._settle(run, work, result, data, refusal)

    def _settle(self, run: Run, work: Work, given: CallOk | CallFailed, data: bytes, no: str | None) -> None:
        result = delivered_of(run, work, given, no, self._config, self.pending)
        data = data if result is given else result.json
        if work.tool and result.status == "ok" and (tool := run.environment.catalog.get(work.tool)):
            self.searches.memory.called(run.id, work.tool)
            if work.method != "describe":
                self.shapes.note(run.scope.agent, tool, data)
        settlement = Settlement(work.id, data, isinstance(result, CallFailed))
        self._close(run, work, result.status, settlement, result.meta)

    def _close(
        self,
        run: Run,
        work: Work,
        status: CallStatus,
        settlement: Settlement,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self._recorder.call_finished(run, work, status, settlement, meta)
        run.settle(settlement)
        if run.in_flight.line:
            run.in_flight.free += 1
            self.start_line(run)
        if run.in_flight.unrecorded and (run.is_stored or run.is_adoptable):
            tasks = run.in_flight.tasks
            recording = asyncio.create_task(self._record_late(run), name=f"codemode record {run.id}")
            tasks[-work.id] = recording
            recording.add_done_callback(lambda _: tasks.pop(-work.id, None))

    async def _record_late(self, run: Run) -> None:
        # shielded: a closing engine would lose a settlement that is half recorded
        await asyncio.shield(asyncio.ensure_future(self.records.settled(run)))
