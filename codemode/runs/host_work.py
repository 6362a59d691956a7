"""The host work of a run: what a program asked for, started and settled.

Look-ups in the catalog are answered at once, but a large one is searched in a thread; calls go to the one
executor as tasks; timers and yields are the event loop's and the caller's. Each ends as a Settlement in the
run's queue, in the order they happen.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import Any, cast

import msgspec
from codemode_runtime import wire
from codemode_runtime.depth import refusal_of
from codemode_runtime.frames import FrameRefused
from codemode_runtime.shapes import Settlement
from codemode_snapshots import Recorded, SnapshotError

from codemode.config import CodeModeConfig
from codemode.contract import events
from codemode.contract.events import EventHub
from codemode.contract.results import PendingApproval, PendingCall
from codemode.contract.telemetry import CallMethod, CallStatus
from codemode.executor import (
    BROKEN,
    ApprovalRequest,
    CallFailed,
    Calling,
    CallOk,
    CallRequest,
    CallResult,
    Decision,
    NeedsApproval,
    Via,
)
from codemode.runs.questions import Questions, is_question
from codemode.runs.run import Run, RunState, Work, wall_ms
from codemode.runs.stored_runs import StoredRuns
from codemode.tools import Tool
from codemode.tools.threads import call_in_thread

_log = logging.getLogger("codemode.nested")
_encode = msgspec.json.encode
_METHODS: dict[str, CallMethod] = {"search": "search", "describe": "describe", "namespace": "namespace"}
_VIA: dict[str, Via] = {"mcp": "mcp", "namespace": "namespace"}
_CALLS = ("call", "search", "describe", "namespace", "mcp")
# Searched off the event loop: the first search of ten thousand tools builds an index for half a second.
LARGE_CATALOG = 300
_INTERRUPTED = CallFailed(
    "interrupted",
    "InterruptedError",
    "the engine was restarted while this call was running; it may or may not have taken effect",
)


class HostWork:
    """Starts and settles the work of all runs of an engine; holds no run itself."""

    def __init__(
        self, config: CodeModeConfig, hub: EventHub, stored: StoredRuns, questions: Questions
    ) -> None:
        self._questions = questions
        self._config = config
        self._hub = hub
        self._stored = stored
        self._searching = asyncio.Lock()
        self._most_calls = (
            config.max_pending_tool_calls
        )  # the guest keeps to it; this is for one that does not

    def begin(self, run: Run, message: wire.Call | wire.Yield | wire.Timer | wire.Clear) -> None:
        """For one message of an idle guest. Raises FrameRefused where no guest of ours would send it."""
        if not isinstance(message, wire.Clear) and (
            message.id in run.pending or run.require_meter().knows_call(str(message.id))
        ):
            raise FrameRefused("the program used an id twice")  # which keys and the ledger go by
        match message:
            case wire.Call(id, method, target, args):
                if sum(1 for work in run.pending.values() if work.method in _CALLS) >= self._most_calls:
                    raise FrameRefused("the program has more calls under way than it may")
                work = Work(id, method, wall_ms(), target, args=bytes(args))
                run.pending[id] = work
                self._begin_call(run, work)
            case wire.Timer(id, ms):
                work = Work(id, "timer", wall_ms(), due_ms=wall_ms() + ms)
                run.pending[id] = work
                self.arm_timer(run, work)
            case wire.Yield(id, reason):
                run.pending[id] = Work(id, "yield", wall_ms(), reason=reason or "")
            case wire.Clear(id):
                run.pending.pop(id, None)
                timer = run.timers.pop(id, None)
                if timer is not None:
                    timer.cancel()

    def arm_timer(self, run: Run, work: Work) -> None:
        def ring() -> None:
            run.timers.pop(work.id, None)
            run.settle(Settlement(work.id))

        # also into the past: after a restart, timers that are overdue ring in the order they were due
        loop = asyncio.get_running_loop()
        run.timers[work.id] = loop.call_at(loop.time() + (work.due_ms - wall_ms()) / 1000, ring)

    def give_back_yields(self, run: Run) -> None:
        for work in [work for work in run.pending.values() if work.method == "yield"]:
            run.settle(Settlement(work.id))

    def start_again(self, run: Run, work: Work) -> None:
        """An idempotent call after a restart, with the key it had before."""
        self._launch(run, work, None)

    def decide(self, run: Run, work: Work, approval: ApprovalRequest, decision: Decision) -> None:
        """Goes on with a call that waited for approval, or refuses it."""
        run.trace.decide(work.id, decision.approved)
        if not is_question(approval):
            self._launch(run, work, (approval, decision))
        elif not self._questions.answer(approval, decision):  # its call died with the engine that made it
            (self.start_again if work.idempotent else self.interrupt)(run, work)

    def interrupt(self, run: Run, work: Work) -> None:
        """The engine that ran this call died; whether it took effect is not known."""
        self._finish(run, work, _INTERRUPTED)

    def settle_recorded(self, run: Run, work: Work, settlement: Settlement) -> None:
        """What settled before the engine died, and was kept."""
        self._close(run, work, "error" if settlement.rejected else "ok", settlement)

    def set_elapsed(self, run: Run) -> None:
        """For the ledger: how long those have taken that are still under way."""
        meter, now = run.require_meter(), time.time() * 1000
        for work in run.pending.values():
            meter.set_elapsed(str(work.id), max(0.0, now - work.since_ms))

    def abort_calls(self, run: Run) -> None:
        """The run is over, and with it what it still waits for, which `Run.cancel_work` then stops."""
        now = time.time() * 1000
        pending, run.pending = run.pending, {}
        for work in pending.values():
            if work.method in _CALLS:
                ms = max(0.0, now - work.since_ms)
                run.note_finished(str(work.id), "aborted", ms, 0)
                self._tell_finished(run, work, "aborted", ms)

    async def record_settled(self, run: Run) -> None:
        """Puts what settled while the run is suspended where it outlives the engine, if there is room."""
        news, run.unrecorded = run.unrecorded, ()
        if not self._stored.is_durable:
            return
        for settled in news:
            run.seq += 1
            payload = (b"\1" if settled.rejected else b"\0") + settled.json
            try:
                await self._stored.record(run.id, Recorded(run.seq, "call", str(settled.id), payload))
            except SnapshotError as error:  # this engine still has it
                _log.warning("a result of run %s could not be kept: %s", run.id, error)

    def pending_calls(self, run: Run) -> tuple[PendingCall, ...]:
        now = wall_ms()
        return tuple(
            PendingCall(
                str(work.id),
                "call" if work.method == "mcp" else work.method,
                max(0, now - work.since_ms),
                work.tool or None,
                PendingApproval(work.approval.id, work.approval.summary) if work.approval else None,
                work.reason or None,
            )
            for work in run.pending.values()
        )

    # ---- calls ---------------------------------------------------------------------------------------------

    def _begin_call(self, run: Run, work: Work) -> None:
        tool = _tool(run, work)
        if tool is not None:
            work.tool, work.name, work.idempotent = tool.id, tool.name, tool.hints.idempotent
        else:
            work.name = work.target[:200]
        method = _METHODS.get(work.method, "call")
        run.require_meter().start_call(
            str(work.id), tool=work.tool, name=work.name, method=method, bytes_in=len(work.args)
        )
        run.trace.begin_call(work.id, work.tool, work.args)
        if self._hub.has_listeners:
            call = {"call_id": str(work.id), "tool": work.tool, "name": work.name}
            self._hub.publish(events.CallStarted(run_id=run.id, at_ms=wall_ms(), method=method, **call))
        match work.method:
            case "search":
                self._begin_search(run, work)
            case "describe":
                found = run.environment.catalog.describe(work.target)
                self._finish(run, work, _unknown(run, work) if found is None else CallOk(_encode(found)))
            case _:
                self._launch(run, work, None)

    def _begin_search(self, run: Run, work: Work) -> None:
        arguments = arguments_of(work.args)
        if isinstance(arguments, CallFailed):
            self._finish(run, work, arguments)
            return
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
            searching = self._search_in_thread(run, work, wanted, count)
            run.tasks[work.id] = asyncio.create_task(searching, name="codemode search")
        else:
            self._finish(run, work, CallOk(_encode(catalog.search(wanted, count))))

    async def _search_in_thread(self, run: Run, work: Work, query: str, count: int) -> None:
        search = partial(run.environment.catalog.search, query, count)
        try:
            # one at a time: the first builds the index, and the others find it built
            async with self._searching:
                result: CallResult = CallOk(_encode(await call_in_thread("search", search)))
        except Exception:
            _log.exception("a search failed")
            result = BROKEN
        finally:
            run.tasks.pop(work.id, None)
        self._finish(run, work, result)

    def _launch(self, run: Run, work: Work, decided: tuple[ApprovalRequest, Decision] | None) -> None:
        arguments = arguments_of(work.args)
        if isinstance(arguments, CallFailed):
            self._finish(run, work, arguments)
            return
        target, given = work.target, arguments[0] if arguments else None
        if work.method == "namespace":
            resolved = _scope_call(run, work, arguments)
            if isinstance(resolved, CallFailed):
                self._finish(run, work, resolved)
                return
            target, given = resolved
        request = CallRequest(
            target,
            given,
            call_id=str(work.id),
            idempotency_key=f"{run.id}:{work.id}",
            context=run.call_context(),
            via=_VIA.get(work.method, "tools"),
            variables=run.variables,
        )
        run.calls.append(run.environment.executor.start(request, partial(self._end, run, work), decided))

    def _end(self, run: Run, work: Work, calling: Calling, result: CallResult) -> None:
        run.calls.remove(calling)
        if isinstance(result, NeedsApproval):
            work.approval = result.approval
            run.trace.ask(work.id, result.approval.id)
            run.wake()
        else:
            self._finish(run, work, result)

    def _finish(self, run: Run, work: Work, result: CallOk | CallFailed | CallResult) -> None:
        assert not isinstance(result, NeedsApproval)
        data = result.json
        refusal = refusal_of(data)
        if refusal is not None:
            result = CallFailed("tool_error", "ToolError", f"the tool's result is {refusal}")
            data = result.json
        self._close(run, work, result.status, Settlement(work.id, data, isinstance(result, CallFailed)))

    def _close(self, run: Run, work: Work, status: CallStatus, settlement: Settlement) -> None:
        ms = max(0.0, time.time() * 1000 - work.since_ms)
        run.note_finished(str(work.id), status, ms, len(settlement.json))
        run.trace.finish_call(work.id, work.tool, status, settlement.json, settlement.rejected)
        self._tell_finished(run, work, status, ms)
        run.settle(settlement)
        if run.unrecorded and run.state is RunState.WAITING and self._stored.is_durable:
            recording = asyncio.create_task(self._record_late(run), name=f"codemode record {run.id}")
            run.tasks[-work.id] = recording
            recording.add_done_callback(lambda _: run.tasks.pop(-work.id, None))

    def _tell_finished(self, run: Run, work: Work, status: CallStatus, ms: float) -> None:
        if self._hub.has_listeners:
            call = {"call_id": str(work.id), "tool": work.tool, "name": work.name}
            self._hub.publish(
                events.CallFinished(run_id=run.id, at_ms=wall_ms(), status=status, ms=ms, **call)
            )

    async def _record_late(self, run: Run) -> None:
        # a shield, because a settlement that is half recorded by a closing engine would be lost
        await asyncio.shield(asyncio.ensure_future(self.record_settled(run)))


def _tool(run: Run, work: Work) -> Tool | None:
    if work.method in ("call", "describe"):
        return run.environment.catalog.resolve(work.target)
    target: str | None = work.target
    if work.method == "namespace":
        target = run.environment.scopes.tool_id(work.target) if run.environment.scopes else None
    return None if target is None else run.environment.catalog.get(target)


def _scope_call(run: Run, work: Work, arguments: list[Any]) -> tuple[str, Any] | CallFailed:
    """A name that no namespace of this run has is refused, whoever sent it."""
    scopes = run.environment.scopes
    return _unknown(run, work) if scopes is None else scopes.resolve(work.target, arguments)


def _unknown(run: Run, work: Work) -> CallFailed:
    near = run.environment.catalog.nearest(work.target)
    hint = f" Nearest: {', '.join(near)}." if near else ""
    return CallFailed("unknown_tool", "UnknownTool", f'No tool "{work.target[:120]}" in this run.{hint}')


def arguments_of(args: bytes) -> list[Any] | CallFailed:
    """The guest's JSON array of arguments."""
    try:
        found = wire.decode_value(args)
    except FrameRefused as refused:
        return CallFailed("invalid_arguments", "InvalidArguments", f"the input is {refused}")
    return cast("list[Any]", found) if isinstance(found, list) else []
