"""Tools and toolkits of LangChain as tools of the engine. It never imports LangChain by itself: an object of
its classes can only exist if its module is loaded.

A tool may take what a graph injects (InjectedState, InjectedStore, ToolRuntime, InjectedToolCallId), if exec
is a tool of a graph; and it may call LangGraph's `interrupt`, which suspends the program.
"""

from __future__ import annotations

import itertools
import sys
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple, cast

import msgspec

from codemode.tools.content import Content
from codemode.tools.context import CallContext
from codemode.tools.definition import Tool
from codemode.tools.errors import AnswerNeeded, ToolDefinitionError, ToolError
from codemode.tools.framework_context import framework_context
from codemode.tools.results import encode_result

_INJECTED = ("InjectedState", "InjectedStore", "ToolRuntime", "InjectedToolCallId")


def from_langchain(found: Any) -> Tool:
    """Raises ToolDefinitionError for a tool that takes what nobody can give it."""
    injections = _injections(found)
    plain = _loud(found)

    async def run(arguments: dict[str, Any], context: CallContext) -> Any:
        given: dict[str, Any] = arguments | _injected(found.name, injections, context)
        if any(
            one.kind == "InjectedToolCallId" for one in injections.values()
        ):  # LangChain takes it from a whole call only
            given = {"type": "tool_call", "name": found.name, "args": given, "id": context.call_id or "call"}
        result = await _invoked(plain, given, context)
        if type(result).__name__ == "Command":
            raise ToolError(f"{found.name} returned a LangGraph Command, which only a graph can carry out")
        if getattr(result, "status", None) == "error":
            raise ToolError(str(result.content))
        return _with_content(getattr(result, "content", result))  # a ToolMessage, if the tool makes one

    schema: Any = found.tool_call_schema
    parameters = cast("dict[str, Any]", schema if isinstance(schema, dict) else schema.model_json_schema())
    return Tool(found.name, found.description or "", parameters, run)


def _with_content(result: Any) -> Any:
    """LangChain's blocks of data, in a list, as content of ours."""
    if not isinstance(result, list):
        return result
    return [_block(item) for item in cast("list[Any]", result)]


def _block(block: Any) -> Any:
    match block:
        case {"type": "image" | "audio" | "file", "base64": str(data), "mime_type": str(mime)}:
            try:
                return Content.from_base64(data, mime)
            except ValueError:
                return block
        case _:
            return block


def can_interrupt(config: Mapping[str, Any]) -> bool:
    """Whether this is the config of a node whose graph can be interrupted and resumed."""
    if "langgraph.types" not in sys.modules:
        return False
    keys = _constants()
    inner = cast("Mapping[str, Any]", config.get("configurable") or {})
    return keys.CONFIG_KEY_SCRATCHPAD in inner and bool(inner.get(keys.CONFIG_KEY_CHECKPOINTER))


def _constants() -> Any:
    return import_module("langgraph._internal._constants")


def _loud(found: Any) -> Any:
    """The same tool, but one that raises: a failure that it would hand back as text is a failure here."""
    if not found.handle_tool_error and not found.handle_validation_error:
        return found
    return found.model_copy(update={"handle_tool_error": False, "handle_validation_error": False})


async def _invoked(found: Any, given: dict[str, Any], context: CallContext) -> Any:
    if "langgraph.types" not in sys.modules:
        return await found.ainvoke(given)
    from langgraph.errors import GraphInterrupt

    try:
        return await found.ainvoke(given, _config_with(context.answers))
    except GraphInterrupt as interrupted:
        asked = interrupted.args[0]
        value = msgspec.json.decode(encode_result(asked[0].value if asked else None))
        raise AnswerNeeded(f"{found.name} asks for an answer", value) from None


def _config_with(answers: tuple[Any, ...]) -> Any:
    """The config of this call, in which `interrupt` finds the answers to this tool and not those to exec.

    LangGraph has no public way to run a part of a node with interrupts of its own; tests hold this to the
    real thing.
    """
    from langchain_core.runnables.config import ensure_config, patch_config

    keys, config = _constants(), ensure_config()
    inner = config.get("configurable") or {}
    own: dict[str, Any] = {
        "interrupt_counter": itertools.count().__next__,
        "get_null_resume": lambda consume=False: None,  # noqa: ARG005 - LangGraph's shape
        "resume": list(answers),
    }
    outer = inner.get(keys.CONFIG_KEY_SCRATCHPAD)
    if outer is None:
        pad: Any = import_module("langgraph._internal._scratchpad").PregelScratchpad
        count = itertools.count().__next__
        scratchpad = pad(step=0, stop=1, call_counter=count, subgraph_counter=count, **own)
    else:
        scratchpad = replace(outer, **own)
    mine: dict[str, Any] = {
        keys.CONFIG_KEY_CHECKPOINT_NS: "",
        **inner,
        keys.CONFIG_KEY_SCRATCHPAD: scratchpad,
        keys.CONFIG_KEY_SEND: _dropped,
    }
    return patch_config(config, configurable=mine)


class _Injection(NamedTuple):
    kind: str
    field: str | None = None  # of the graph's state; None for all of it


def _dropped(_: object) -> None:
    """For what `interrupt` tells its graph: the answers to this tool are kept with the run."""


def _injections(found: Any) -> dict[str, _Injection]:
    """Which parameters are injected, and as what. Raises ToolDefinitionError for a kind of the host's own."""
    from langchain_core.tools import InjectedToolArg
    from langchain_core.tools.base import get_all_basemodel_annotations

    hints: dict[str, Any] = {}
    function = getattr(found, "func", None) or getattr(found, "coroutine", None) or found._run
    with suppress(NameError, TypeError):  # LangChain reads them as far as it can
        hints |= typing.get_type_hints(function, include_extras=True)
    schema = found.args_schema
    if schema is not None and not isinstance(schema, dict):
        hints |= get_all_basemodel_annotations(schema)
    injections: dict[str, _Injection] = {}
    for name, hint in hints.items():
        for note in (hint, typing.get_origin(hint), *typing.get_args(hint)):
            kind = note if isinstance(note, type) else type(note)
            names = [base.__name__ for base in kind.__mro__]
            known = next((word for word in _INJECTED if word in names), None)
            if known is not None:
                injections[name] = _Injection(known, getattr(note, "field", None))
            elif issubclass(kind, InjectedToolArg):
                injections.setdefault(name, _Injection(kind.__name__))
    for name, one in injections.items():
        if one.kind not in _INJECTED:
            problem = f'"{name}" is injected ({one.kind}) by other code, and a program has no value for it.'
            raise ToolDefinitionError(found.name, f"its parameter {problem}")
    return injections


def _injected(tool: str, injections: dict[str, _Injection], context: CallContext) -> dict[str, Any]:
    wanted = {name: one for name, one in injections.items() if one.kind != "InjectedToolCallId"}
    if not wanted:
        return {}
    runtime = framework_context()
    module = sys.modules.get("langgraph.prebuilt.tool_node")
    if module is None or not isinstance(runtime, module.ToolRuntime):
        kinds = " and ".join(sorted({one.kind for one in wanted.values()}))
        raise ToolError(
            f"{tool} takes {kinds} of a LangGraph graph: it can only be called where exec is a tool of a "
            "graph (ToolNode or create_agent, with codemode.adapters.langchain)"
        )
    return {name: _value(tool, one, runtime, context) for name, one in wanted.items()}


def _value(tool: str, one: _Injection, runtime: Any, context: CallContext) -> Any:
    match one.kind:
        case "ToolRuntime":
            return replace(runtime, tool_call_id=context.call_id)
        case "InjectedStore":
            if runtime.store is None:
                raise ToolError(f"{tool} takes the graph's store, and this graph was compiled without one")
            return runtime.store
        case _:
            return _of_state(tool, runtime.state, one.field)


def _of_state(tool: str, state: Any, field: str | None) -> Any:
    """The state, or one field of it. A graph of messages may have a bare list as its state."""
    whole: Any = {"messages": cast("Any", state)} if isinstance(state, list) else state
    if field is None:
        return whole
    try:
        return (
            cast("Mapping[str, Any]", whole)[field] if isinstance(whole, Mapping) else getattr(whole, field)
        )
    except (LookupError, AttributeError):
        raise ToolError(f'{tool} takes "{field}" of the graph\'s state, which has no such field') from None
