"""The one way to a tool, for nested calls and ordinary turns alike. One executor per run, over its catalog.

The order: find the tool → check the arguments → the host's hooks → approval → run the tool → hooks → audit.
Policy has already decided what is in the catalog, so a program cannot tell a forbidden tool from one that
does not exist, not even by wrong arguments.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace as replace_struct

from codemode import clock
from codemode.catalog import LARGE_CATALOG, Catalog
from codemode.executor.approvals import (
    Approve,
    approval_id,
    ask,
    definition_of,
    proper_id,
    request_approval,
)
from codemode.executor.audit import Audit, audit_event, tell_audit
from codemode.executor.calling import Calling, OnEnd, join
from codemode.executor.calls import (
    ApprovalRequest,
    CallFailed,
    CallRequest,
    CallResult,
    CallUpdate,
    Decided,
    Decision,
    NeedsApproval,
    Via,
)
from codemode.executor.failures import failure_of
from codemode.executor.hooks import AfterToolCall, BeforeToolCall, HookChain, Verdict
from codemode.executor.host_code import ends_the_task
from codemode.executor.reporting import Reporter
from codemode.executor.running import Gates, answered, run_tool
from codemode.executor.validation import refuse_arguments
from codemode.gate.lane import lane
from codemode.tools import CallContext, Tool
from codemode.tools.threads import call_in_thread

_log = logging.getLogger("codemode.executor")
T = TypeVar("T")

_MAX_RESULT_BYTES = 8 << 20
_MAX_NAME = 120
_MAX_ANSWERS = 100  # of a handler, to one call
BROKEN = CallFailed("tool_error", "InternalError", "the call failed inside the engine")
_CANCELLED = CallFailed("aborted", "Aborted", "the call was cancelled")
# How long a cancelled task waits to see whether its loop goes on, before the caller hears of it.
_AFTERLIFE_SECONDS = 1.0


class Executor:
    def __init__(
        self,
        catalog: Catalog,
        *,
        hooks: object = None,
        approve: Approve | None = None,
        audit: Audit | None = None,
        on_update: Callable[[CallUpdate], None] | None = None,
        gates: Gates | None = None,
        max_result_bytes: int = _MAX_RESULT_BYTES,
        explain_unknown: Callable[[str], CallFailed] | None = None,
    ) -> None:
        """Pass the engine's `gates`, or the limits of the tools hold for this executor only.

        `hooks` is a chain, one hook or a list of them. `explain_unknown` says why a name cannot be called,
        for callers that do not write programs.
        """
        self._catalog = catalog
        self._hooks = hooks if isinstance(hooks, HookChain) else HookChain(hooks)
        self._approve = approve
        self._audit = audit
        self._on_update = on_update
        self._gates = gates or Gates()
        self._max_result_bytes = max_result_bytes
        self._explain_unknown = explain_unknown
        self._task_names: dict[str, str] = {}
        self._comparing = asyncio.Lock()

    async def call(self, request: CallRequest) -> CallResult:
        """Makes a call. Never raises for what a tool, a hook or a program did. Cancelled, it joins the
        tool."""
        return await self._ended(request, None)

    async def resume(self, request: CallRequest, approval: ApprovalRequest, decision: Decision) -> CallResult:
        """Goes on with a call that needed an approval, maybe in another process.

        The tool must still exist and accept the arguments. The hooks have seen them and are not asked again.
        """
        return await self._ended(request, Decided(approval, decision))

    def start(
        self,
        request: CallRequest,
        on_end: OnEnd,
        decided: Decided | None = None,
    ) -> Calling:
        """Starts a call and returns at once. `on_end` gets the result, unless the call is stopped before."""
        calling = Calling(request.tool[:_MAX_NAME], on_end)
        own = None if request.variables is None else request.variables.copy()
        calling.task = asyncio.create_task(
            self._live(request, calling, decided), name=self._task_name(request.tool), context=own
        )
        return calling

    def _task_name(self, asked: str) -> str:
        """One text for all calls of a tool. A name that only the program knows is kept nowhere."""
        name = self._task_names.get(asked)
        if name is None:
            if self._catalog.get(asked) is None:
                return "codemode call"
            name = self._task_names[asked] = f"codemode {asked}"
        return name

    async def _ended(self, request: CallRequest, decided: Decided | None) -> CallResult:
        ended: asyncio.Future[CallResult] = asyncio.get_running_loop().create_future()

        def tell(_: Calling, result: CallResult) -> None:
            if not ended.done():  # this turn of the loop may have cancelled the caller
                ended.set_result(result)

        calling = self.start(request, tell, decided)
        try:
            return await ended
        except asyncio.CancelledError:
            calling.stop()
            await join([calling])
            raise

    async def _live(self, request: CallRequest, calling: Calling, decided: Decided | None) -> None:
        try:
            if self._audit is None:
                step = self._step(request, calling, decided)
                del request, decided  # a call that takes an hour should hold little memory
                result = step if isinstance(step, CallFailed) else await step
            else:
                result = await self._audited(request, calling, decided)
        except BaseException as error:
            if ends_the_task(error, calling.task):
                self._tell_end(error, calling)
                raise
            # failures of tools and hooks are results: this one is the executor's own
            _log.exception("the executor failed on %s", calling.name)
            result = BROKEN
        calling.tell(result)

    def _tell_end(self, error: BaseException, calling: Calling) -> None:
        """Tells the caller why the task ended, unless the call was stopped."""
        if isinstance(error, KeyboardInterrupt):
            calling.tell(failure_of(error))
        elif isinstance(error, asyncio.CancelledError) and not calling.is_over:
            # Other code than the engine cancelled the task, maybe the tool itself. A loop that ends cancels
            # all its tasks: then the call counts as interrupted, and may run again after a restart.
            asyncio.get_running_loop().call_later(_AFTERLIFE_SECONDS, calling.tell, _CANCELLED)

    async def _audited(self, request: CallRequest, calling: Calling, decided: Decided | None) -> CallResult:
        started_at_ms, begun = clock.wall_ms(), time.perf_counter()
        tool = self._find(request)
        result: CallResult = _CANCELLED
        try:
            step = self._step(request, calling, decided)
            result = step if isinstance(step, CallFailed) else await step
        finally:  # the audit has cancelled calls too
            event = audit_event(
                request,
                (tool.name, tool.id) if tool else None,
                result,
                started_at_ms=started_at_ms,
                duration_ms=clock.ms_since(begun),
                approval_id=decided.approval.id if decided else None,
            )
            await tell_audit(self._audit, event)
        return result

    def _find(self, request: CallRequest) -> Tool | None:
        find = self._catalog.resolve if request.via == "tools" else self._catalog.get
        return find(request.tool)

    def unknown(self, asked: str, via: Via = "tools") -> CallFailed:
        """Why there is no such tool, for calls and for `tools.describe`."""
        if self._explain_unknown is not None:
            return self._explain_unknown(asked)
        name = asked[:_MAX_NAME]
        if via == "tools" and name.startswith("mcp:"):
            tool = self._catalog.get(asked)
            called = (tool and self._catalog.mcp_expression(tool)) or "MCP.<server>.<tool>({ … })"
            hint = f" MCP tools are called as {called}; API.list() names the files that declare them."
            return CallFailed("unknown_tool", "UnknownTool", f'No tool "{name}" in tools.{hint}')
        near = [found for found in self._catalog.nearest(name) if self._can_be_called(found)]
        hint = f" Nearest: {', '.join(near)}." if near else ""
        return CallFailed(
            "unknown_tool",
            "UnknownTool",
            f'No tool "{name}" in this run.{hint} Find tools with tools.search(query).',
            {"nearest": near} if near else None,
        )

    def _can_be_called(self, name: str) -> bool:
        """Whether the name leads to one tool; a name that two tools share leads to neither."""
        return self._catalog.resolve(self._catalog.convenience(name) or name) is not None

    def _step(
        self, request: CallRequest, calling: Calling, decided: Decided | None
    ) -> Awaitable[CallResult] | CallFailed:
        """Does what needs no waiting and returns an awaitable for the rest. It is not a coroutine itself,
        because thousands of calls may be under way and each frame takes a third of a KB."""
        tool = self._find(request)
        if tool is None:
            if len(self._catalog) > LARGE_CATALOG:
                return self._look_for_nearest(request)
            return self.unknown(request.tool, request.via)
        if decided is not None:
            return self._decided(tool, request, calling, decided)
        arguments: Any = {} if request.arguments is None else request.arguments
        if request.is_large:
            return self._check_large(tool, request, arguments, calling)
        refused = refuse_arguments(tool, arguments, request.json_bytes)
        return refused or self._checked(tool, request, arguments, calling)

    async def _look_for_nearest(self, request: CallRequest) -> CallFailed:
        """Off the event loop, and one at a time: ten thousand names are compared."""
        async with self._comparing:
            return await call_in_thread("nearest", partial(self.unknown, request.tool, request.via))

    async def _check_large(
        self, tool: Tool, request: CallRequest, arguments: Any, calling: Calling
    ) -> CallResult:
        refused = await _in_turn(request, partial(refuse_arguments, tool, arguments, request.json_bytes))
        return refused or await self._checked(tool, request, arguments, calling)

    def _checked(
        self, tool: Tool, request: CallRequest, arguments: dict[str, Any], calling: Calling
    ) -> Awaitable[CallResult]:
        if self._hooks.rules or tool.hints.requires_approval:
            return self._ask_first(tool, request, arguments, calling)
        return self._run(tool, arguments, self._context(tool, request, calling), calling)

    async def _ask_first(
        self,
        tool: Tool,
        request: CallRequest,
        arguments: dict[str, Any],
        calling: Calling,
        approved: str = "",
    ) -> CallResult:
        """`approved` is an approval that was given before; it counts if exactly that is asked for now."""
        context = self._context(tool, request, calling)
        verdict = (
            await self._hooks.before(
                BeforeToolCall(tool.name, tool.id, arguments, context, hints=tool.hints),
                is_large=request.is_large,
            )
            if self._hooks.rules
            else Verdict(arguments)
        )
        if verdict.blocked is not None:
            return CallFailed("denied", "ToolBlocked", f"{tool.name} was blocked: {verdict.blocked}")
        if verdict.answer is not None:
            return answered(tool, verdict.answer.value, self._max_result_bytes)
        if verdict.rewritten:
            refused = await _in_turn(request, partial(refuse_arguments, tool, verdict.arguments))
            if refused is not None:
                # The hook's values may be secret: they stay out of the message.
                _log.error("a hook gave %s arguments it does not take", tool.id)
                told = f"{tool.name}: a rule of the host changed the arguments to something it does not take"
                return CallFailed("invalid_arguments", "InvalidArguments", told)
        if not tool.hints.requires_approval and verdict.approval is None:
            return await self._run(tool, verdict.arguments, context, calling)
        asking = partial(request_approval, tool, verdict.arguments, context, verdict.approval or "")
        approval = await _in_turn(request, asking)
        if approval.id == approved:
            return await self._run(tool, verdict.arguments, context, calling)
        decision = await ask(self._approve, approval)
        if decision is None:
            return NeedsApproval(approval)
        return await self._decided(tool, request, calling, Decided(approval, decision))

    async def _decided(
        self,
        tool: Tool,
        request: CallRequest,
        calling: Calling,
        decided: Decided,
    ) -> CallResult:
        context = self._context(tool, request, calling)
        approval, decision = decided.approval, decided.decision
        if approval.id != await _in_turn(request, partial(proper_id, context, tool.id, approval)):
            return CallFailed("denied", "ApprovalRefused", f"{tool.name}: the approval is for another action")
        if not decision.approved:
            return _not_approved(tool, decision)
        refused = await _in_turn(request, partial(refuse_arguments, tool, approval.arguments))
        if refused is not None:
            return refused
        approved = approval.id
        if approval.is_asked_by_tool:
            answers = (*approval.answers, decision.value)
            context, request = replace(context, answers=answers), replace_struct(request, answers=answers)
            approved = approval_id(context, tool.id, approval.arguments, approval.definition)
        if decided.was_asked_here and approval.definition == definition_of(tool):
            return await self._run(tool, approval.arguments, context, calling)
        # The hooks of this engine have not seen the call, or the tool is another one than was approved.
        return await self._ask_first(tool, request, approval.arguments, calling, approved)

    def _run(
        self, tool: Tool, arguments: dict[str, Any], context: CallContext, calling: Calling
    ) -> Awaitable[CallResult]:
        running = self._run_once(tool, arguments, context, calling)
        if self._approve is not None:
            running = self._asked_handler(tool, arguments, context, calling, running)
        return self._looked_at(tool, arguments, context, running) if self._hooks.looks_on else running

    def _run_once(
        self, tool: Tool, arguments: dict[str, Any], context: CallContext, calling: Calling
    ) -> Awaitable[CallResult]:
        return run_tool(
            tool, arguments, context, calling, gates=self._gates, max_result_bytes=self._max_result_bytes
        )

    async def _asked_handler(
        self,
        tool: Tool,
        arguments: dict[str, Any],
        context: CallContext,
        calling: Calling,
        running: Awaitable[CallResult],
    ) -> CallResult:
        """The result of the call; what its tool asks, the host's handler may answer at once."""
        result = await running
        while isinstance(result, NeedsApproval):
            decision = await ask(self._approve, result.approval)
            if decision is None:
                break
            if not decision.approved:
                return _not_approved(tool, decision)
            context = replace(context, answers=(*context.answers, decision.value))
            if len(context.answers) > _MAX_ANSWERS:
                told = f"{tool.name} asked {_MAX_ANSWERS} times in one call, and was answered each time"
                return CallFailed("tool_error", "QuestionsWithoutEnd", told)
            await asyncio.sleep(0)  # a tool that asks at once and a handler that answers at once
            result = await self._run_once(tool, arguments, context, calling)
        return result

    async def _looked_at(
        self, tool: Tool, arguments: dict[str, Any], context: CallContext, running: Awaitable[CallResult]
    ) -> CallResult:
        begun = time.perf_counter()
        result = await running
        if isinstance(result, NeedsApproval):
            return result  # the call is not over
        ms = clock.ms_since(begun)
        await self._hooks.after(AfterToolCall(tool.name, tool.id, arguments, context, result, ms))
        return result

    def _context(self, tool: Tool, request: CallRequest, calling: Calling) -> CallContext:
        """The tool's view of its call. Spelled out, because `replace` takes as long as a quick tool."""
        given, sink = request.context, self._on_update
        return CallContext(
            given.agent_id,
            given.session_id,
            given.session_key,
            given.sender,
            given.channel,
            given.sandbox,
            given.run_id,
            request.call_id,
            tool.id,
            request.idempotency_key,
            calling.abort,  # this call's own: its time-out must not stop its neighbours
            None if sink is None else Reporter(given.run_id, request.call_id, tool.id, calling, sink),
            calling.meta,
            request.answers,
            given.contents,
            request.fence,
        )


def _not_approved(tool: Tool, decision: Decision) -> CallFailed:
    reason = f": {decision.reason}" if decision.reason else ""
    return CallFailed("denied", "ApprovalRefused", f"{tool.name} was not approved{reason}")


async def _in_turn(request: CallRequest, step: Callable[[], T]) -> T:
    """Does the step at once, or in the lane's own turn where the arguments are large."""
    return await lane().run(step, request.context.session_id) if request.is_large else step()
