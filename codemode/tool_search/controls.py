"""The controls that a model sees instead of the deferred tools: flat schemas, few words. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codemode.config import SearchMode
from codemode.tools import Tool, ToolFunction

_CODE = """\
Finds and calls tools that are not listed here: runs a short JavaScript program, the body of an async \
function, in a sandbox, and returns its value and console output.
- `await openclaw.tools.search("what it does", { limit: 5 })`: entries with id, description, a ready `call`.
- `await openclaw.tools.describe(id)`: parameters, result. `await openclaw.tools.call(id, { ... })`: calls it.
- `return` the value you want; console.log adds output. No import, network or files. One shot: everything, \
tools included, has to end within SECONDS s.
Example: const [hit] = await openclaw.tools.search("create an issue"); \
return await openclaw.tools.call(hit.id, { title: "..." });"""

_SEARCH = """\
Finds tools that are not listed here, by what they do. Gives entries with id, description, a ready `call`."""
_DESCRIBE = "Shows the parameters and the result of a tool that tool_search found."
_CALL = "Calls a tool that tool_search found: its id, and its own arguments as one object in `args`."
_ID = {"type": "string", "description": "As tool_search gave it."}

CONTROLS: dict[SearchMode, tuple[str, ...]] = {
    "code": ("tool_search_code",),
    "tools": ("tool_search", "tool_describe", "tool_call"),
    "directory": ("tool_search", "tool_describe", "tool_call"),
}


def control_tools(
    mode: SearchMode, code_timeout_ms: int, run: Callable[[str], ToolFunction]
) -> tuple[Tool, ...]:
    """`run` gives the function of a control, for hosts that run the visible tools themselves."""
    texts = {
        "tool_search_code": _CODE.replace("SECONDS", f"{code_timeout_ms / 1000:g}"),
        "tool_search": _SEARCH,
        "tool_describe": _DESCRIBE,
        "tool_call": _CALL,
    }
    return tuple(
        Tool(name, texts[name], _PARAMETERS[name], run(name), control=True) for name in CONTROLS[mode]
    )


def _object(required: tuple[str, ...], **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_PARAMETERS = {
    "tool_search_code": _object(("code",), code={"type": "string", "description": "JavaScript."}),
    "tool_search": _object(
        ("query",),
        query={"type": "string", "description": "A few words for what it should do."},
        limit={"type": "integer", "description": "How many at most."},
    ),
    "tool_describe": _object(("id",), id=_ID),
    "tool_call": _object(
        ("id",), id=_ID, args={"type": "object", "description": "The tool's own arguments."}
    ),
}
