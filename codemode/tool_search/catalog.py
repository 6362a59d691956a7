"""What Tool Search can find and call: the deferred tools of one run, MCP tools included.

In code mode MCP tools have a view of their own; here there is one view for all tools. The controls and the
tools that the model sees anyway are not in it and cannot be called through it; `unknown` says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import cast

from codemode.catalog import Catalog
from codemode.catalog.catalog import TOOL_SEARCH_CONTROLS
from codemode.catalog.names import call_expression
from codemode.executor import CallFailed
from codemode.tools import Tool

_MAX_NAME = 120
_SHOWN_IDS = 5


class SearchCatalog(Catalog):
    """`direct` are the tools that the model calls directly; `ready` writes the call of a hit."""

    def __init__(
        self, tools: Iterable[Tool], direct: Iterable[Tool] = (), ready: Callable[[Tool], str] | None = None
    ) -> None:
        super().__init__(tools, one_view=True)
        self._direct = frozenset(word for tool in direct for word in (tool.name, tool.id))
        self._ready = ready or tool_call_expression

    def call_expression(self, tool: Tool) -> str:
        return self._ready(tool)

    def unknown(self, asked: str) -> CallFailed:
        """Why a name cannot be called. A denied tool gets the same answer as a misspelt name."""
        name = asked[:_MAX_NAME]
        if not asked:
            return CallFailed(
                "invalid_arguments", "InvalidArguments", "A tool is named by its id, a text; search for it."
            )
        if asked.rpartition(":")[2] in TOOL_SEARCH_CONTROLS:
            return CallFailed(
                "denied", "RecursionRefused", f"{name} is a control and cannot be called as a tool."
            )
        if asked in self._direct:
            return CallFailed(
                "denied",
                "CallItDirectly",
                f"{name} is one of your own tools: call it by itself, not through a control.",
            )
        same = [tool.id for tool in self.tools if tool.name == asked]
        if same:
            told = f'Several tools are called "{name}"; give an id: {", ".join(same[:_SHOWN_IDS])}.'
            return CallFailed("unknown_tool", "UnknownTool", told, {"ids": same[:_SHOWN_IDS]})
        near = self.nearest(asked)
        hint = f" Nearest: {', '.join(near)}." if near else ""
        told = f'No tool "{name}" in this run.{hint} Search for it by what it does.'
        return CallFailed("unknown_tool", "UnknownTool", told, {"nearest": near} if near else None)


def tool_call_expression(tool: Tool) -> str:
    """`tool_call({"id": "mcp:github:create_issue", "args": {"title": …}})`."""
    required: object = tool.parameters.get("required")
    listed = cast("list[object]", required) if isinstance(required, list) else []
    names = [name for name in listed if isinstance(name, str)]
    members = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: …" for name in names)
    return f'tool_call({{"id": {json.dumps(tool.id, ensure_ascii=False)}, "args": {{{members}}}}})'


def openclaw_expression(tool: Tool) -> str:
    """`openclaw.tools.call("mcp:github:create_issue", { title })`."""
    return f"openclaw.{call_expression(tool, None)}"
