"""`as_tools` makes Tools of what a host already has. It recognises other frameworks and never imports them.

An object of a framework's classes can only exist if its module is loaded already, so it is enough to look
into `sys.modules`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from codemode.tools.decorator import make_tool
from codemode.tools.definition import Tool
from codemode.tools.errors import ToolDefinitionError

_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}


def as_tools(objects: Iterable[Any]) -> list[Tool]:
    """What `as_tool` takes, and toolsets: pydantic-ai's FunctionToolset, a toolkit of LangChain."""
    return [tool for found in objects for tool in _several(found)]


def _several(found: Any) -> list[Tool]:
    if _is_instance(found, "langchain_core.tools", "BaseToolkit"):
        return as_tools(found.get_tools())
    if _is_instance(found, "pydantic_ai.toolsets", "FunctionToolset"):
        from codemode.tools.from_pydantic_ai import from_function_toolset

        return from_function_toolset(found)
    return [as_tool(found)]


def as_tool(found: Any, run: Callable[..., Any] | None = None) -> Tool:
    """A Tool, a function, a provider's tool dict with its callable (`run=` or a pair), or a framework's tool:
    LangChain's, pydantic-ai's, a FunctionTool of the OpenAI Agents SDK.

    Raises ToolDefinitionError.
    """
    match found:
        case Tool():
            return found
        case Mapping():
            return _from_dict(cast("Mapping[str, Any]", found), run)
        case (Mapping(), called) if callable(called):
            return _from_dict(found[0], called)
        case _:
            pass
    if _is_instance(found, "langchain_core.tools", "BaseTool"):
        from codemode.tools.from_langchain import from_langchain

        return from_langchain(found)
    if _is_instance(found, "pydantic_ai", "Tool"):
        from codemode.tools.from_pydantic_ai import from_pydantic_ai

        return from_pydantic_ai(found)
    if _is_instance(found, "pydantic_ai.toolsets", "AbstractToolset"):
        from codemode.tools.from_pydantic_ai import refuse_toolset

        raise refuse_toolset(found)
    if _is_instance(found, "agents", "FunctionTool"):
        from codemode.tools.from_openai_agents import from_openai_agents

        return from_openai_agents(found)
    if callable(found) and not isinstance(found, type):
        return make_tool(found)
    raise ToolDefinitionError(type(found).__name__, "is neither a tool, a function nor a known tool object.")


def _from_dict(declared: Mapping[str, Any], run: Callable[..., Any] | None) -> Tool:
    """OpenAI's two forms, Anthropic's and MCP's differ only in where they put the name and the schema."""
    inner = declared.get("function")
    words = cast("Mapping[str, Any]", inner if isinstance(inner, Mapping) else declared)
    name = words.get("name")
    if not isinstance(name, str):
        raise ToolDefinitionError("?", "a tool dict needs a name.")
    if run is None:
        raise ToolDefinitionError(name, "a tool dict needs its callable: as_tool(dict, run=…) or (dict, …).")
    schema = next((words[key] for key in _SCHEMA_KEYS if isinstance(words.get(key), Mapping)), _NO_PARAMETERS)
    description = words.get("description")
    return make_tool(
        run,
        name=name,
        description=description if isinstance(description, str) else "",
        parameters=dict(schema),
    )


def _is_instance(found: object, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return inspect.isclass(kind) and isinstance(found, kind)
