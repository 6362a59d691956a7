"""LangChain and LangGraph tools: `model.bind_tools(as_langchain(tools))`, or a list for an agent or ToolNode.

A failed program becomes a ToolMessage with status "error" and the result as content. In a graph with a
checkpointer what needs an approval interrupts the graph, and `Command(resume=…)` decides; a nested tool that
calls `interrupt` itself does the same, with its own value. Where there is no graph the model is told that the
program waits. Sync calls work in any thread but that of the engine's event loop.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from codemode.adapters.asking import (
    Approvals,
    decide,
    decision_of,
    find_run,
    put_aside,
    shown,
    what_is_asked,
)
from codemode.adapters.blocks import langchain_blocks
from codemode.adapters.calling import ModelAnswer, ModelTools
from codemode.executor import ApprovalRequest
from codemode.tools.from_langchain import can_interrupt

SessionOf = Callable[[RunnableConfig], str]

# LangChain hands a call's id to run and arun, but they do not hand it on.
_call_id: ContextVar[str] = ContextVar("codemode_langchain_call_id", default="")


def as_langchain(
    tools: ModelTools, *, session: SessionOf | None = None, approvals: Approvals = "framework"
) -> list[BaseTool]:
    """`session` names the session of each call, for instance by the thread of the graph:
    `lambda config: config["configurable"]["thread_id"]`."""
    tools.tell_shown("LangChain")
    return [
        _VisibleTool.of(tools, session, approvals, tool.name, tool.description, tool.parameters)
        for tool in tools.visible
    ]


class _VisibleTool(BaseTool):
    _tools: ModelTools = PrivateAttr()
    _session: SessionOf | None = PrivateAttr()
    _approvals: Approvals = PrivateAttr()

    @classmethod
    def of(
        cls,
        tools: ModelTools,
        session: SessionOf | None,
        approvals: Approvals,
        name: str,
        description: str,
        parameters: dict[str, Any],
    ) -> _VisibleTool:
        made = cls(name=name, description=description, args_schema=parameters, handle_tool_error=True)
        made._tools, made._session, made._approvals = tools, session, approvals
        return made

    @property
    def coroutine(self) -> Callable[..., Coroutine[Any, Any, Any]]:
        """A graph's ToolNode looks here, and gives its ToolRuntime to a parameter of this name."""

        async def taken(runtime: Any = None) -> None:
            raise NotImplementedError

        return taken

    @property
    def _injected_args_keys(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride] - cached there
        """What LangChain keeps out of traces: a runtime holds the whole state of a graph."""
        return frozenset(("runtime",))

    def run(self, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
        token = _call_id.set(tool_call_id or "")
        try:
            return super().run(*args, tool_call_id=tool_call_id, **kwargs)
        finally:
            _call_id.reset(token)

    async def arun(self, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
        token = _call_id.set(tool_call_id or "")
        try:
            return await super().arun(*args, tool_call_id=tool_call_id, **kwargs)
        finally:
            _call_id.reset(token)

    async def _arun(self, /, config: RunnableConfig, **arguments: Any) -> Any:
        return await self._tools.home.do(self._answer(config, arguments))

    def _run(self, /, config: RunnableConfig, **arguments: Any) -> Any:
        return self._tools.home.block(self._answer(config, arguments))

    async def _answer(self, config: RunnableConfig, arguments: dict[str, Any]) -> Any:
        tools = self._tools if self._session is None else self._tools.of_session(self._session(config))
        runtime = arguments.pop("runtime") if _is_runtime(arguments.get("runtime")) else None
        may_ask = self._approvals == "framework" and can_interrupt(config)
        answer = await _Call(tools, self.name, arguments, _call_id.get(), runtime, may_ask).answer()
        if answer.is_error:
            raise ToolException(answer.text)
        if answer.content:
            return [{"type": "text", "text": answer.text}, *langchain_blocks(answer.content)]
        return answer.text


class _Call:
    """One call of the model. A graph that was interrupted makes it again from the start, with the answers."""

    def __init__(
        self,
        tools: ModelTools,
        name: str,
        arguments: dict[str, Any],
        call_id: str,
        runtime: Any,
        may_ask: bool,
    ) -> None:
        self._tools = tools
        self._name = name
        self._arguments = arguments
        self._call_id = call_id
        self._runtime = runtime
        self._may_ask = may_ask

    async def answer(self) -> ModelAnswer:
        tools = self._tools
        run_id = await find_run(tools, self._name, self._arguments, self._call_id) if self._may_ask else ""
        with tools.inside(self._runtime, run_id) as place:
            answer = await self._go_on(run_id) if run_id else await self._begin()
            if answer.waiting_run:
                tools.remember(answer.waiting_run, place)
            if self._may_ask and answer.asking_run:
                put_aside(tools, answer)
                return await self._go_on(answer.asking_run)
        return answer

    async def _begin(self) -> ModelAnswer:
        answer = await self._tools.call(self._name, self._arguments, self._call_id)
        if answer.asks is None or not self._may_ask:
            return answer
        decision = decision_of(answer.asks, _interrupt(_payload("", answer.asks)))
        return await self._tools.call(self._name, self._arguments, self._call_id, decision)

    async def _go_on(self, run_id: str) -> ModelAnswer:
        """The first interrupt is for the first approval that the run ever asked for, and so on: an answer
        that was given to one is never taken for another, even if it was carried out before."""
        tools, done = self._tools, 0
        while True:
            known = await what_is_asked(tools, run_id)
            for name in known.asked[done:]:
                asked = known.request(name)
                said = _interrupt(_payload(run_id, asked))
                done += 1
                if asked is not None and not await decide(tools, run_id, name, decision_of(asked, said)):
                    break  # it is decided, and the run has moved on: look again
            answer = await tools.call("wait", {"runId": run_id}, self._call_id)
            if not answer.asking_run:
                return answer
            put_aside(tools, answer)


def _payload(run_id: str, asked: ApprovalRequest | None) -> Any:
    """What the client of the graph sees. A nested tool's own `interrupt` shows its own value."""
    if asked is None:
        return {"type": "codemode_approval", "runId": run_id, "decided": True}
    if asked.is_asked_by_tool:
        return asked.question
    return {"type": "codemode_approval", "runId": run_id, **shown(asked)}


def _interrupt(value: Any) -> Any:
    from langgraph.types import interrupt

    return interrupt(value)


def _is_runtime(found: object) -> bool:
    """Only a graph can have made one; a model that writes `runtime` has not."""
    module = sys.modules.get("langgraph.prebuilt.tool_node")
    return module is not None and isinstance(found, module.ToolRuntime)
