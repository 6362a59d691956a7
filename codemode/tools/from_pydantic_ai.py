"""Tools and toolsets of pydantic-ai as tools of the engine. It never imports pydantic-ai by itself.

A tool that takes RunContext gets that of the agent run whose toolset calls exec (CodeModeToolset).
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, cast

from codemode.tools.content import Content
from codemode.tools.context import CallContext
from codemode.tools.definition import Tool, ToolHints
from codemode.tools.errors import AnswerNeeded, ToolDefinitionError, ToolError
from codemode.tools.framework_context import framework_context


def from_pydantic_ai(found: Any) -> Tool:
    schema = found.function_schema

    async def run(arguments: dict[str, Any], context: CallContext) -> Any:
        inside = _run_context(found.name, context) if found.takes_ctx else None
        return await _carried_out(
            found.name, context, schema.call, _valid(schema.validator, arguments), inside
        )

    hints = ToolHints(requires_approval=bool(getattr(found, "requires_approval", False)))
    return Tool(found.name, found.description or "", schema.json_schema, run, hints=hints)


def from_function_toolset(found: Any) -> list[Tool]:
    """The tools of a FunctionToolset, which needs no agent run to list them."""
    return [from_pydantic_ai(tool) for tool in found.tools.values()]


def refuse_toolset(found: Any) -> ToolDefinitionError:
    return ToolDefinitionError(
        type(found).__name__,
        "only lists its tools in an agent run: give the engine what "
        "`await codemode.adapters.pydantic_ai.toolset_tools(toolset, ctx)` returns.",
    )


async def listed_tools(toolset: Any, ctx: Any) -> list[Tool]:
    """The tools that any toolset lists in this agent run; calls go through the toolset."""
    return [_of_toolset(toolset, tool, ctx) for tool in (await toolset.get_tools(ctx)).values()]


def _of_toolset(toolset: Any, tool: Any, ctx: Any) -> Tool:
    declared = tool.tool_def

    async def run(arguments: dict[str, Any], context: CallContext) -> Any:
        inside = framework_context() if _is_run_context(framework_context()) else ctx
        own = replace(inside, tool_name=declared.name, tool_call_id=context.call_id)
        valid = _valid(tool.args_validator, arguments)
        return await _carried_out(declared.name, context, toolset.call_tool, declared.name, valid, own, tool)

    hints = ToolHints(requires_approval=declared.kind == "unapproved")
    return Tool(declared.name, declared.description or "", declared.parameters_json_schema, run, hints=hints)


def _valid(validator: Any, arguments: dict[str, Any]) -> Any:
    try:
        return validator.validate_python(arguments)
    except ValueError as problem:  # pydantic's ValidationError is one; its text has the values
        raise ToolError(str(problem), name="ValidationError", code="invalid_arguments") from None


async def _carried_out(name: str, context: CallContext, call: Any, *given: Any) -> Any:
    """Calls it, and reads what it raises as its framework would: a failure, or the need for an approval."""
    exceptions = sys.modules["pydantic_ai.exceptions"]
    approved = given[-1] if given and _is_run_context(given[-1]) else None
    if approved is not None and context.answers:
        given = (*given[:-1], replace(approved, tool_call_approved=True))
    try:
        result = await call(*given)
    except (exceptions.ModelRetry, exceptions.ToolFailed) as failure:
        raise ToolError(failure.message, name=type(failure).__name__) from None
    except exceptions.ApprovalRequired as asked:
        if context.answers:
            raise ToolError(f"{name} asks for an approval again, after it was given") from None
        raise AnswerNeeded(f"Run {name}", asked.metadata) from None
    except exceptions.CallDeferred:
        raise ToolError(
            f"{name} is carried out outside of the agent, which a program cannot wait for"
        ) from None
    return _with_content(getattr(result, "return_value", result))  # a ToolReturn has more, for a model


def _with_content(result: Any) -> Any:
    """Binary content, alone or in a list, as content of ours."""
    if isinstance(result, list | tuple):
        return [_with_content(item) for item in cast("list[Any]", result)]
    if isinstance(result, sys.modules["pydantic_ai.messages"].BinaryContent):
        return Content(result.data, result.media_type)
    return result


def _run_context(name: str, context: CallContext) -> Any:
    found = framework_context()
    if not _is_run_context(found):
        raise ToolError(
            f"{name} takes pydantic-ai's RunContext, which only an agent run has: it can only be called "
            "where exec is a tool of codemode.adapters.pydantic_ai.CodeModeToolset"
        )
    return replace(found, tool_name=name, tool_call_id=context.call_id)


def _is_run_context(found: object) -> bool:
    module = sys.modules.get("pydantic_ai")
    return module is not None and isinstance(found, module.RunContext)
