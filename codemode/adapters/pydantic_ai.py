"""A pydantic-ai toolset: `agent.run(prompt, toolsets=[CodeModeToolset(tools)])`.

The model sees the tools of `tools`, and beside them those of the agent's other toolsets: give a code-mode
agent this toolset only.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from codemode.adapters.calling import ModelTools

# Only the engine checks arguments: it answers with what is wrong instead of a retry.
_ANYTHING = SchemaValidator(core_schema.any_schema())


class CodeModeToolset(AbstractToolset[Any]):
    def __init__(self, tools: ModelTools, *, id: str | None = "codemode") -> None:
        self._tools = tools
        self._id = id

    @property
    def id(self) -> str | None:
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:  # noqa: ARG002 - the same in each run
        self._tools.tell_shown("pydantic-ai")
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
        """Returns a failed program as a value too: its text says what to do, and the agent goes on."""
        return (await self._tools.call(name, tool_args, ctx.tool_call_id or "")).value
