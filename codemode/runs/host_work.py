"""The host work of runs: starts and settles what programs ask for.

Look-ups in the catalog are answered at once, but a large catalog is searched in a thread. Calls go to the one
executor. The event loop settles timers, and the caller's return settles yields. Each ends as a Settlement in
the run's queue, in the order in which they happen.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, cast

import msgspec
from codemode_runtime import wire
from codemode_runtime.frames import FrameRefused
from codemode_runtime.parts import measure, refusal_of_passing, rough_weight
from codemode_runtime.shapes import MAX_TIMERS, Settlement
from codemode_snapshots import Recorded, SnapshotError

from codemode import clock
from codemode.catalog import LARGE_CATALOG
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
    Via,
)
from codemode.gate.lane import LARGE_BYTES, is_large, lane
from codemode.gate.pending import PendingBytes
from codemode.runs.arguments import arguments_of, clipped, decoded, no_room, not_decoded
from codemode.runs.in_flight import Work
from codemode.runs.questions import Questions, is_question
from codemode.runs.recorder import Recorder
from codemode.runs.run import Run
from codemode.runs.stored_runs import StoredRuns
from codemode.tools import Tool
from codemode.tools.threads import call_in_thread

_log = logging.getLogger("codemode.nested")
_encode = msgspec.json.encode
_VIA: dict[str, Via] = {"mcp": "mcp", "namespace": "namespace"}
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
        translate: Translate | None = None,
        may_wait: bool = True,
    ) -> None:
        self.pending = pending
        self._config = config
        self._recorder = recorder
        self._stored = stored
        self._questions = questions
        self._translate = translate
        self._may_wait = may_wait
        self._searching = asyncio.Lock()

    def begin(self, run: Run, message: wire.Call | wire.Yield | wire.Timer | wire.Clear) -> None:
        """Takes one message of an idle guest. Raises FrameRefused for one that no guest of ours sends."""
        flight = run.in_flight
        if not isinstance(message, wire.Clear):
            if not run.active.meter.is_new(message.id):
                raise FrameRefused("the program used an id twice")  # idempotency keys and the ledger use ids
            # guests keep these bounds themselves; the checks are for a worker that lies
            if len(flight.pending) >= 2 * MAX_TIMERS + self._config.max_pending_tool_calls:
                raise FrameRefused("the program has more timers than it may")
        match message:
            case wire.Call():
                if flight.count_of_calls >= self._config.max_pending_tool_calls:
                    raise FrameRefused("the program has more calls under way than it may")
                call = message if self._translate is None else self._translate(run, message)
                work = Work(
                    call.id, call.method, clock.wall_ms(), clipped(call.target), args=bytes(call.args)
                )
                flight.add(work)
                self._begin_call(run, work, self._keep(run, work, rough_weight(work.args)))
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
        self._launch(run, work, None)

    def decide(self, run: Run, work: Work, approval: ApprovalRequest, decision: Decision) -> None:
        """Continues a call that waited for approval, or refuses it."""
        self._recorder.approval_decided(run, work, decision.approved)
        if not is_question(approval):
            was_asked_here = work.id not in run.in_flight.inherited
            self._launch(run, work, Decided(approval, decision, was_asked_here))
        elif not self._questions.answer(approval, decision):  # the call died with its engine
            (self.start_again if work.idempotent else self.interrupt)(run, work)

    def interrupt(self, run: Run, work: Work) -> None:
        """Settles a call whose engine died; whether it took effect is not known."""
        self._finish(run, work, _INTERRUPTED)

    def settle_recorded(self, run: Run, work: Work, settlement: Settlement) -> None:
        """Settles a call with the result that a dead engine had recorded."""
        self._close(run, work, "error" if settlement.rejected else "ok", settlement)

    def abort_calls(self, run: Run) -> None:
        """Records all pending calls as aborted when the run is over; `InFlight.cancel` then stops them."""
        for work in run.in_flight.take_pending():
            if work.is_call:
                self._recorder.call_aborted(run, work)

    async def record_settled(self, run: Run) -> None:
        """Stores what settled while the run is suspended, to outlive the engine, if there is room."""
        news = run.take_unrecorded()
        if not self._stored.is_durable:
            return
        for settled in news:
            payload = (b"\1" if settled.rejected else b"\0") + settled.json
            recorded = Recorded(run.next_seq(), "call", str(settled.id), payload)
            try:
                await self._stored.record(run.id, recorded)
            except SnapshotError as error:  # this engine still has the result
                _log.warning("a result of run %s could not be kept: %s", run.id, error)

    # ---- calls ---------------------------------------------------------------------------------------------

    def _keep(self, run: Run, work: Work, size: int) -> CallFailed | None:
        """Counts what the call keeps in memory; the failure of a call for which there is no room."""
        refusal = run.in_flight.keep(work.id, size, self.pending, run.scope.session)
        return None if refusal is None else no_room(refusal)

    def _begin_call(self, run: Run, work: Work, refused: CallFailed | None) -> None:
        work.identify(_tool(run, work))
        self._recorder.call_started(run, work)
        if refused is not None:
            work.drop_arguments()
            self._finish(run, work, refused)
            return
        match work.method:
            case "search":
                self._with_arguments(run, work, self._search)
            case "describe":
                found = run.environment.catalog.describe(work.target)
                if found is None:
                    self._finish_unknown(run, work)
                else:
                    self._finish(run, work, CallOk(_encode(found)))
            case _:
                self._launch(run, work, None)

    def _with_arguments(self, run: Run, work: Work, then: Then) -> None:
        """Goes on with the decoded arguments: at once, or in the lane's own turns where they are large."""
        if is_large(work.args):
            self._spawn(run, work, self._decode_large(run, work, then), "arguments")
            return
        arguments = arguments_of(work.args)
        if isinstance(arguments, CallFailed):
            self._finish(run, work, arguments)
        else:
            then(run, work, arguments)

    async def _decode_large(self, run: Run, work: Work, then: Then) -> None:
        session = run.scope.session
        measured = await lane().run(partial(measure, work.args), session)
        arguments: list[Any] | CallFailed | None = None
        if measured.refusal is not None:
            arguments = not_decoded(f"JSON {measured.refusal}")
        elif work.id in run.in_flight.pending:
            arguments = self._keep(run, work, len(work.args) + measured.weight)
        if arguments is None:
            arguments = await lane().run(partial(decoded, work.args), session)
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

    def _search(self, run: Run, work: Work, arguments: list[Any]) -> None:
        query, options = (*arguments, None, None)[:2]
        fields = cast("dict[str, Any]", options) if isinstance(options, dict) else {}
        limit = fields.get("limit", self._config.search_default_limit)
        catalog = run.environment.catalog
        if not isinstance(limit, int | float) or isinstance(limit, bool):
            told = "limit must be a number: search(query, { limit: 8 })"
            self._finish(run, work, CallFailed("invalid_arguments", "InvalidArguments", told))
            return
        wanted = query if isinstance(query, str) else ""
        count = int(max(1, min(limit, self._config.max_search_limit)))
        if len(catalog) > LARGE_CATALOG:
            self._spawn(run, work, self._search_in_thread(run, work, wanted, count), "search")
        else:
            self._finish(run, work, CallOk(_encode(catalog.search(wanted, count))))

    async def _search_in_thread(self, run: Run, work: Work, query: str, count: int) -> None:
        search = partial(run.environment.catalog.search, query, count)
        # one search at a time: the first builds the index, the others find it built
        async with self._searching:
            found = await call_in_thread("search", search)
        self._finish(run, work, CallOk(_encode(found)))

    def _finish_unknown(self, run: Run, work: Work) -> None:
        """Looks for the nearest names, in a large catalog off the event loop."""
        if len(run.environment.catalog) > LARGE_CATALOG:
            self._spawn(run, work, self._find_nearest(run, work), "nearest")
        else:
            self._finish(run, work, _unknown(run, work))

    async def _find_nearest(self, run: Run, work: Work) -> None:
        async with self._searching:
            failure = await call_in_thread("nearest", partial(_unknown, run, work))
        self._finish(run, work, failure)

    def _launch(self, run: Run, work: Work, decided: Decided | None) -> None:
        if decided is not None:
            # what was approved is run, and the arguments of then are not needed again
            self._start(run, work, [decided.approval.arguments], decided)
        elif work.method != "namespace" and not work.tool:
            self._start(run, work, [], None)  # nobody takes them: there is no such tool
        else:
            self._with_arguments(run, work, self._start)

    def _start(
        self,
        run: Run,
        work: Work,
        arguments: list[Any],
        decided: Decided | None = None,
    ) -> None:
        target, given = work.target, arguments[0] if arguments else None
        if work.method == "namespace" and decided is None:
            if run.environment.scopes is None:
                self._finish_unknown(run, work)
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
            context=run.call_context(),
            via=_VIA.get(work.method, "tools"),
            variables=run.origin.variables,
            json_bytes=0 if work.method == "namespace" else len(work.args),  # there the integration made them
            is_large=is_large(work.args),
        )
        calling = run.environment.executor.start(request, partial(self._end, run, work), decided)
        run.in_flight.calls.append(calling)

    def _end(self, run: Run, work: Work, calling: Calling, result: CallResult) -> None:
        run.in_flight.calls.remove(calling)
        if isinstance(result, NeedsApproval) and self._may_wait:
            work.ask(result.approval)
            run.in_flight.asked_here(work.id)
            self._recorder.approval_asked(run, work, result.approval)
            run.in_flight.wake()
        elif isinstance(result, NeedsApproval):
            asked = result.approval
            told = f"{asked.tool} needs an approval that nobody has given: {asked.summary}"
            self._finish(run, work, CallFailed("denied", "ApprovalNeeded", told, {"approval": asked.id}))
        else:
            self._finish(run, work, result)

    def _finish(self, run: Run, work: Work, result: CallOk | CallFailed) -> None:
        data = result.json
        if len(data) > LARGE_BYTES:
            self._spawn(run, work, self._finish_large(run, work, result, data), "result")
        else:
            self._settle(run, work, result, data, refusal_of_passing(data))

    async def _finish_large(self, run: Run, work: Work, result: CallOk | CallFailed, data: bytes) -> None:
        refusal = await lane().run(partial(refusal_of_passing, data), run.scope.session)
        self._settle(run, work, result, data, refusal)

    def _settle(
        self, run: Run, work: Work, result: CallOk | CallFailed, data: bytes, refusal: str | None
    ) -> None:
        if refusal is not None:
            result = CallFailed("tool_error", "ToolError", f"the tool's result is {refusal}")
            data = result.json
        elif run.is_suspended and (full := run.in_flight.keep_result(work.id, len(data))) is not None:
            told = f"{work.name} has run, but its result could not be kept until the program went on: {full}"
            result = CallFailed("tool_error", "ResultNotKept", told)
            data = result.json
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
        if self._stored.is_durable and run.is_stored and run.has_unrecorded:
            tasks = run.in_flight.tasks
            recording = asyncio.create_task(self._record_late(run), name=f"codemode record {run.id}")
            tasks[-work.id] = recording
            recording.add_done_callback(lambda _: tasks.pop(-work.id, None))

    async def _record_late(self, run: Run) -> None:
        # shielded: a closing engine would lose a settlement that is half recorded
        await asyncio.shield(asyncio.ensure_future(self.record_settled(run)))


def _tool(run: Run, work: Work) -> Tool | None:
    if work.method in ("call", "describe"):
        return run.environment.catalog.resolve(work.target)
    target: str | None = work.target
    if work.method == "namespace":
        target = run.environment.scopes.tool_id(work.target) if run.environment.scopes else None
    return None if target is None else run.environment.catalog.get(target)


def _unknown(run: Run, work: Work) -> CallFailed:
    return run.environment.executor.unknown(work.target, _VIA.get(work.method, "tools"))
