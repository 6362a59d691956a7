"""A pydantic-ai toolset: `agent.run(prompt, toolsets=[CodeModeToolset(tools)])`.

The model sees the tools of `tools`, and beside them those of the agent's other toolsets: give a code-mode
agent this toolset only. A failed program is a tool return with the outcome "failed". What needs an approval
is a deferred tool call: the agent run ends with DeferredToolRequests, which has to be among its output types,
and the next one takes DeferredToolResults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.messages import BinaryContent, ModelRequest, ToolReturnPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from codemode.adapters.asking import (
    Approvals,
    decide,
    decision_of,
    find_run,
    gone,
    put_aside,
    shown,
    what_is_asked,
)
from codemode.adapters.calling import ModelAnswer, ModelTools
from codemode.executor import Decision
from codemode.tools import Tool
from codemode.tools.from_pydantic_ai import listed_tools

SessionOf = Callable[[RunContext[Any]], str]

# Only the engine checks arguments: it answers with what is wrong instead of a retry.
_ANYTHING = SchemaValidator(core_schema.any_schema())


async def toolset_tools(toolset: AbstractToolset[Any], ctx: RunContext[Any]) -> list[Tool]:
    """The tools of any toolset, as it lists them for this context, for `Engine` or `prepare_tools`. Each call
    goes through the toolset. A FunctionToolset can be given to an engine as it is."""
    return await listed_tools(toolset, ctx)


class CodeModeToolset(AbstractToolset[Any]):
    def __init__(
        self,
        tools: ModelTools,
        *,
        id: str | None = "codemode",
        session: SessionOf | None = None,
        approvals: Approvals = "framework",
    ) -> None:
        """`session` names the session of each call: `lambda ctx: ctx.deps.user`."""
        self._tools = tools
        self._id = id
        self._session = session
        self._approvals = approvals

    @property
    def id(self) -> str | None:
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        self._tools.tell_shown("pydantic-ai")
        tools = self._tools_for(ctx)
        await tools.home.do(_end_denied(tools, ctx))
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=tool.parameters,
                    strict=False,
                ),
                max_retries=0,
                args_validator=_ANYTHING,
            )
            for tool in self._tools.visible
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],  # noqa: ARG002
    ) -> Any:
        """Raises ToolFailed with the result of a failed program, which says what to do; ApprovalRequired."""
        tools = self._tools_for(ctx)
        answer = await tools.home.do(self._answer(tools, name, tool_args, ctx))
        if answer.is_error:
            raise ToolFailed(answer.text)
        if answer.content:
            shown = [
                BinaryContent(item.decoded, media_type=item.mime_type, identifier=item.ref)
                for item in answer.content
            ]
            return [answer.value, *shown]
        return answer.value

    def _tools_for(self, ctx: RunContext[Any]) -> ModelTools:
        return self._tools if self._session is None else self._tools.of_session(self._session(ctx))

    async def _answer(
        self, tools: ModelTools, name: str, arguments: dict[str, Any], ctx: RunContext[Any]
    ) -> ModelAnswer:
        call_id, asks = ctx.tool_call_id or "", self._approvals == "framework"
        is_approved = asks and ctx.tool_call_approved
        run_id = await find_run(tools, name, arguments, call_id) if is_approved or name == "wait" else ""
        with tools.inside(ctx, run_id) as place:
            if is_approved and tools.active:
                answer = await _go_on(tools, run_id, call_id, ctx.tool_call_metadata) if run_id else gone()
            else:
                decision = Decision(True) if is_approved else None
                answer = await tools.call(name, arguments, call_id, decision)
        if answer.waiting_run:
            tools.remember(answer.waiting_run, place)
        if asks and answer.asks is not None:
            raise ApprovalRequired({"approvals": [shown(answer.asks)]})
        if asks and answer.asking_run:
            put_aside(tools, answer)
            known = await what_is_asked(tools, answer.asking_run)
            requests = [shown(asked) for asked in known.requests]
            raise ApprovalRequired({"runId": answer.asking_run, "approvals": requests})
        return answer


async def _go_on(tools: ModelTools, run_id: str, call_id: str, said: Any) -> ModelAnswer:
    """Carries out the approval: of all that the run asks for, unless the metadata of the results decides on
    some of it, `{"approvals": {id: …}}`."""
    each = cast("Mapping[str, Any]", said).get("approvals") if isinstance(said, Mapping) else None
    decisions = cast("Mapping[str, Any]", each if isinstance(each, Mapping) else {})
    for asked in (await what_is_asked(tools, run_id)).requests:
        answered = decisions.get(asked.id, None if asked.is_asked_by_tool else True)
        await decide(tools, run_id, asked.id, decision_of(asked, answered))
    return await tools.call("wait", {"runId": run_id}, call_id)


async def _end_denied(tools: ModelTools, ctx: RunContext[Any]) -> None:
    """Ends the runs whose call was just denied: the model has its answer, and nobody goes on with them."""
    last = next((message for message in reversed(ctx.messages) if isinstance(message, ModelRequest)), None)
    denied = [
        part
        for part in (last.parts if last else ())
        if isinstance(part, ToolReturnPart) and part.outcome == "denied"
    ]
    for part in denied:
        run_id = await find_run(tools, "exec", {}, part.tool_call_id)
        if run_id and tools.engine is not None:
            await tools.engine.abort(run_id, scope=tools.scope)
