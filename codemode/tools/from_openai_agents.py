"""Function tools of the OpenAI Agents SDK as tools of the engine. It never imports the SDK by itself.

A tool that takes RunContextWrapper or ToolContext gets that of the agent run in which exec is called.
"""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, cast

import msgspec

from codemode.tools.content import from_data_url
from codemode.tools.context import CallContext
from codemode.tools.definition import Tool, ToolHints
from codemode.tools.errors import AnswerNeeded, ToolDefinitionError, ToolError
from codemode.tools.framework_context import framework_context


def from_openai_agents(found: Any) -> Tool:
    """Raises ToolDefinitionError for a tool with guardrails: only the SDK's own runner applies them."""
    if found.tool_input_guardrails or found.tool_output_guardrails:
        problem = "has guardrails, which only the SDK's runner applies. Use the engine's hooks instead."
        raise ToolDefinitionError(found.name, problem)
    if found.is_enabled is False:
        raise ToolDefinitionError(found.name, "is not enabled.")
    loud, takes_context = _loud(found), _takes_context(found)

    async def run(arguments: dict[str, Any], context: CallContext) -> Any:
        inside = _tool_context(found.name, arguments, context, takes_context)
        if callable(found.is_enabled) and not await _told(found.is_enabled, inside, inside.agent):
            raise ToolError(f"{found.name} is not enabled in this run")
        is_asked = callable(found.needs_approval) and not context.answers
        if is_asked and await _told(found.needs_approval, inside, arguments, context.call_id):
            raise AnswerNeeded(f"Run {found.name}")
        return _with_content(await loud.on_invoke_tool(inside, inside.tool_arguments))

    hints = ToolHints(requires_approval=found.needs_approval is True)
    if found.timeout_seconds is not None:
        hints = replace(hints, timeout_ms=max(1, int(found.timeout_seconds * 1000)))
    parameters = found.params_json_schema
    return Tool(found.name, found.description or "", parameters, run, found.output_json_schema, hints=hints)


def _loud(found: Any) -> Any:
    """The same tool, but one that raises: the SDK would hand its failure to the model as a text."""
    module = sys.modules["agents.tool"]
    words = module.resolve_function_tool_failure_error_function(found)

    async def tell(context: Any, error: Exception) -> str:
        raise ToolError(str(await _told(words, context, error))) from error

    is_default = words is None or words is module.default_tool_error_function
    return module.set_function_tool_failure_error_function(copy(found), None if is_default else tell)


def _takes_context(found: Any) -> bool:
    """Whether the function that was made a tool takes the SDK's context as its first parameter."""
    function = getattr(found, "__wrapped__", None)
    if function is None:
        return False
    try:
        first = next(iter(inspect.signature(function).parameters), None)
        hint = typing.get_type_hints(function).get(first or "")
    except (NameError, TypeError, ValueError):
        return False
    kind = typing.get_origin(hint) or hint
    return inspect.isclass(kind) and issubclass(kind, sys.modules["agents.run_context"].RunContextWrapper)


def _tool_context(name: str, arguments: dict[str, Any], context: CallContext, takes_context: bool) -> Any:
    kind = sys.modules["agents.tool_context"].ToolContext
    outer = framework_context()
    if not isinstance(outer, sys.modules["agents.run_context"].RunContextWrapper):
        if takes_context:
            raise ToolError(
                f"{name} takes the context of an agent run: it can only be called where exec is a tool of an "
                "agent (codemode.adapters.openai_agents.as_openai_agents)"
            )
        outer = None
    return kind(
        None if outer is None else outer.context,
        tool_name=name,
        tool_call_id=context.call_id or "call",
        tool_arguments=msgspec.json.encode(arguments).decode(),
        agent=getattr(outer, "agent", None),
        run_config=getattr(outer, "run_config", None),
        **({} if outer is None else {"usage": outer.usage}),
    )


def _with_content(result: Any) -> Any:
    """The SDK's outputs as texts and content of ours; an address or an id of a file stays what it is."""
    if isinstance(result, list | tuple):
        return [_with_content(item) for item in cast("list[Any]", result)]
    module = sys.modules["agents.tool"]
    match result:
        case module.ToolOutputText():
            return result.text
        case module.ToolOutputImage(image_url=str(url)):
            return from_data_url(url) or result
        case module.ToolOutputFileContent(file_data=str(data)):
            return from_data_url(data, result.filename) or result
        case _:
            return result


async def _told(function: Callable[..., Any], *given: Any) -> Any:
    found = function(*given)
    return await found if inspect.isawaitable(found) else found
