"""Writes tools in the shapes that providers take; payload.py reads those shapes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from codemode.tools import Tool

Provider = Literal["openai", "openai-responses", "anthropic", "gemini", "mcp"]


def render_tools(tools: Iterable[Tool], provider: Provider) -> list[dict[str, Any]]:
    """The value of `tools` in a request: OpenAI chat and responses, Anthropic, Gemini, MCP."""
    shape = _SHAPES[provider]
    rendered = [shape(tool) for tool in tools]
    return [{"functionDeclarations": rendered}] if provider == "gemini" and rendered else rendered


def _openai(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "function": _named(tool, "parameters")}


def _openai_responses(tool: Tool) -> dict[str, Any]:
    # the responses API makes tools strict by default, and then every parameter is required
    return {"type": "function", **_named(tool, "parameters"), "strict": False}


def _anthropic(tool: Tool) -> dict[str, Any]:
    return _named(tool, "input_schema")


def _gemini(tool: Tool) -> dict[str, Any]:
    # takes the JSON schema as it is; `parameters` takes only a dialect of OpenAPI
    return _named(tool, "parametersJsonSchema")


def _mcp(tool: Tool) -> dict[str, Any]:
    return _named(tool, "inputSchema")


def _named(tool: Tool, schema_key: str) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, schema_key: tool.parameters}


_SHAPES: dict[Provider, Callable[[Tool], dict[str, Any]]] = {
    "openai": _openai,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mcp": _mcp,
}
