"""LangChain and LangGraph tools: `model.bind_tools(as_langchain(tools))`, or a list for an agent or ToolNode.

The tools are async only, like the engine. A failed program becomes a ToolMessage with status "error" and the
result as content.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from codemode.adapters.calling import ModelTools

# LangChain hands a call's id to arun, but arun does not hand it to the coroutine.
_call_id: ContextVar[str] = ContextVar("codemode_langchain_call_id", default="")


def as_langchain(tools: ModelTools) -> list[BaseTool]:
    tools.tell_shown("LangChain")
    return [_VisibleTool.of(tools, tool.name, tool.description, tool.parameters) for tool in tools.visible]


class _VisibleTool(BaseTool):
    _tools: ModelTools = PrivateAttr()

    @classmethod
    def of(cls, tools: ModelTools, name: str, description: str, parameters: dict[str, Any]) -> _VisibleTool:
        made = cls(name=name, description=description, args_schema=parameters, handle_tool_error=True)
        made._tools = tools
        return made

    async def arun(self, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
        token = _call_id.set(tool_call_id or "")
        try:
            return await super().arun(*args, tool_call_id=tool_call_id, **kwargs)
        finally:
            _call_id.reset(token)

    async def _arun(self, /, **arguments: Any) -> str:
        answer = await self._tools.call(self.name, arguments, _call_id.get())
        if answer.is_error:
            raise ToolException(answer.text)
        return answer.text

    def _run(self, /, **arguments: Any) -> str:
        raise NotImplementedError("the engine is async: use ainvoke, or astream in LangGraph")
