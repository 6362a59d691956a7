"""`as_tool` makes a Tool of what a host already has. It recognises other frameworks and never imports them.

An object of LangChain's or pydantic-ai's classes can only exist if its module is loaded already, so it is
enough to look into `sys.modules`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from codemode.tools.context import CallContext
from codemode.tools.decorator import make_tool
from codemode.tools.definition import Tool, ToolHints
from codemode.tools.errors import ToolDefinitionError

_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}


def as_tools(objects: Iterable[Any]) -> list[Tool]:
    return [as_tool(found) for found in objects]


def as_tool(found: Any, run: Callable[..., Any] | None = None) -> Tool:
    """A Tool, a function, a provider's tool dict with its callable (`run=` or a pair), or a framework's tool.

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
        return _from_langchain(found)
    if _is_instance(found, "pydantic_ai", "Tool"):
        return _from_pydantic_ai(found)
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


def _from_langchain(found: Any) -> Tool:
    async def run(arguments: dict[str, Any], context: CallContext) -> Any:  # noqa: ARG001 - LangChain has no place for it
        result = await found.ainvoke(arguments)
        return getattr(result, "content", result)  # the result is a ToolMessage if the tool makes one

    schema: Any = found.tool_call_schema
    parameters = cast("dict[str, Any]", schema if isinstance(schema, dict) else schema.model_json_schema())
    return Tool(found.name, found.description or "", parameters, run)


def _from_pydantic_ai(found: Any) -> Tool:
    if found.takes_ctx:
        raise ToolDefinitionError(found.name, "takes pydantic-ai's RunContext, which only an agent run has.")
    schema = found.function_schema

    async def run(arguments: dict[str, Any], context: CallContext) -> Any:  # noqa: ARG001 - as above
        return await schema.call(schema.validator.validate_python(arguments), None)

    hints = ToolHints(requires_approval=bool(getattr(found, "requires_approval", False)))
    return Tool(found.name, found.description or "", schema.json_schema, run, hints=hints)


def _is_instance(found: object, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return inspect.isclass(kind) and isinstance(found, kind)
