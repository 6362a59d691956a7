"""Tools of the OpenAI Agents SDK: `Agent(name=…, tools=as_openai_agents(tools))`.

The schemas are not strict: a strict schema requires every parameter, and exec takes one of two. A failed
program is an ordinary answer to the model, and an error on the span of its call. What needs an approval is an
interruption of the run: exec answers that the program waits, and the model's `wait` is what a person approves
or rejects; `open_approvals` tells what for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec
from agents import (
    FunctionTool,
    RunContextWrapper,
    Tool,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
)
from agents.items import ToolApprovalItem
from agents.tool_context import ToolContext
from agents.tracing import SpanError, get_current_span

from codemode.adapters.asking import Approvals, decide, decision_of, find_run, what_is_asked
from codemode.adapters.blocks import ShownContent
from codemode.adapters.calling import ModelAnswer, ModelTools
from codemode.executor import ApprovalRequest, Decision
from codemode.tools import Tool as OurTool

SessionOf = Callable[[RunContextWrapper[Any]], str]
_DENIED = "a person rejected it"


def as_openai_agents(
    tools: ModelTools, *, session: SessionOf | None = None, approvals: Approvals = "framework"
) -> list[Tool]:
    """`session` names the session of each call: `lambda run: run.context.user`."""
    tools.tell_shown("the OpenAI Agents SDK")
    shell = _Shell(tools, session, approvals == "framework")
    return [shell.visible(tool) for tool in tools.visible]


async def open_approvals(tools: ModelTools, item: ToolApprovalItem) -> tuple[ApprovalRequest, ...]:
    """What is approved with this interruption, with the arguments; for the person who decides.

    With sessions per call, `tools` is `tools.of_session(…)` of the run's session.
    """
    raw: Any = item.raw_item
    words = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {"arguments": raw.arguments}
    try:
        given = msgspec.json.decode(words["arguments"] or "{}", type=dict[str, Any])
    except msgspec.DecodeError:
        return ()
    run_id = await tools.home.do(find_run(tools, "wait", given, ""))
    return (await tools.home.do(what_is_asked(tools, run_id))).requests if run_id else ()


def _shown(item: ShownContent) -> ToolOutputImage | ToolOutputFileContent:
    if item.type == "image":
        return ToolOutputImage(image_url=item.url)
    return ToolOutputFileContent(file_data=item.url, filename=item.file_name)


class _Shell:
    """What the tools of one agent share. `_asked`: calls of `wait` that a person was asked about, with what
    was open then."""

    def __init__(self, tools: ModelTools, session: SessionOf | None, asks: bool) -> None:
        self._tools = tools
        self._session = session
        self._asks = asks
        self._asked: dict[str, tuple[str, tuple[ApprovalRequest, ...]]] = {}

    def visible(self, tool: OurTool) -> FunctionTool:
        async def invoke(context: ToolContext[Any], arguments: str) -> Any:
            tools = self._tools_for(context)
            answer = await tools.home.do(self._answer(tools, tool.name, arguments, context))
            span = get_current_span()
            if answer.is_error and span is not None:
                span.set_error(SpanError(message="Tool failed", data={"tool": tool.name}))
            if not answer.content:
                return answer.text
            return [ToolOutputText(text=answer.text), *map(_shown, answer.content)]

        needs: bool | Callable[[RunContextWrapper[Any], dict[str, Any], str], Awaitable[bool]] = False
        if self._asks and tool.control and tool.name == "wait":
            needs = self._needs_approval
        elif self._asks and not tool.control:
            needs = tool.hints.requires_approval
        return FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.parameters,
            on_invoke_tool=invoke,
            strict_json_schema=False,
            needs_approval=needs,
            is_enabled=self._enabled if needs else True,
        )

    def _tools_for(self, context: RunContextWrapper[Any]) -> ModelTools:
        return self._tools if self._session is None else self._tools.of_session(self._session(context))

    async def _answer(
        self, tools: ModelTools, name: str, arguments: str, context: ToolContext[Any]
    ) -> ModelAnswer:
        call_id = context.tool_call_id
        run_id = await self._run_of(tools, arguments) if name == "wait" else ""
        is_approved = self._asks and context.is_tool_approved(name, call_id) is True
        if is_approved and run_id:
            _, requests = self._asked.pop(call_id, ("", ()))
            for asked in requests or (await what_is_asked(tools, run_id)).requests:
                said = None if asked.is_asked_by_tool else True
                await decide(tools, run_id, asked.id, decision_of(asked, said))
        with tools.inside(context, run_id) as place:
            decision = Decision(True) if is_approved and not tools.active else None
            answer = await tools.call(name, arguments, call_id, decision)
        if answer.waiting_run:
            tools.remember(answer.waiting_run, place)
        return answer

    async def _run_of(self, tools: ModelTools, arguments: str) -> str:
        try:
            given = msgspec.json.decode(arguments or "{}", type=dict[str, Any])
        except msgspec.DecodeError:
            return ""
        return await find_run(tools, "wait", given, "")

    async def _needs_approval(
        self, context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str
    ) -> bool:
        """Whether the run that `wait` goes on with asks for something. Changes nothing in the engine."""
        tools = self._tools_for(context)

        async def look() -> bool:
            run_id = await find_run(tools, "wait", arguments, call_id)
            requests = (await what_is_asked(tools, run_id)).requests if run_id else ()
            if requests:
                self._asked[call_id] = (run_id, requests)
            return bool(requests)

        return await tools.home.do(look())

    async def _enabled(self, context: RunContextWrapper[Any], agent: Any) -> bool:  # noqa: ARG002 - the SDK's shape
        """Always. The SDK asks before each turn, which is when a rejection is seen: `wait` itself is then not
        called, and the program should hear of it."""
        tools = self._tools_for(context)
        for call_id, (run_id, requests) in list(self._asked.items()):
            if context.is_tool_approved("wait", call_id) is False:
                del self._asked[call_id]
                for asked in requests:
                    denial = Decision(False, _DENIED)
                    await tools.home.do(decide(tools, run_id, asked.id, denial))
        return True
