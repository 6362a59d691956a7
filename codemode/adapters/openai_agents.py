"""Tools of the OpenAI Agents SDK: `Agent(name=…, tools=as_openai_agents(tools))`.

The schemas are not strict: a strict schema requires every parameter, and exec takes one of two.
"""

from __future__ import annotations

from typing import Any

from agents import FunctionTool, Tool
from agents.tool_context import ToolContext

from codemode.adapters.calling import ModelTools


def as_openai_agents(tools: ModelTools) -> list[Tool]:
    tools.tell_shown("the OpenAI Agents SDK")
    return [_visible(tools, tool.name, tool.description, tool.parameters) for tool in tools.visible]


def _visible(tools: ModelTools, name: str, description: str, parameters: dict[str, Any]) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        return (await tools.call(name, arguments, context.tool_call_id)).text

    return FunctionTool(
        name=name,
        description=description,
        params_json_schema=parameters,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )
