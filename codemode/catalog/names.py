"""Names as programs can write them: convenience names, and the expression that calls a tool. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import msgspec
from codemode_runtime.language import RESERVED_WORDS

from codemode.tools import Tool

# `tools` itself has `search`, `describe` and `call`; JavaScript reads the others without being asked.
_ASKED_BY_THE_LANGUAGE = ("then", "constructor", "prototype", "__proto__", "toJSON", "toString", "valueOf")
NOT_FOR_TOOLS = frozenset(("search", "describe", "call", *_ASKED_BY_THE_LANGUAGE))
_SHOWN_PARAMETERS = 6


def safe_name(name: str) -> str | None:
    """The identifier that a tool's name becomes, or None if it can become none."""
    safe = name if name.isidentifier() else "".join(c if _continues(c) else "_" for c in name)
    if not _starts(safe[:1]):
        safe = f"_{safe}"
    if safe in RESERVED_WORDS or safe in NOT_FOR_TOOLS or safe.startswith("__openclaw"):
        return None
    return safe


def convenience_names(tools: Iterable[Tool]) -> dict[str, str]:
    """Ids by name, for the names that are safe and belong to exactly one tool."""
    owners: dict[str, list[str]] = {}
    for tool in tools:
        name = safe_name(tool.name)
        if name is not None:
            owners.setdefault(name, []).append(tool.id)
    return {name: ids[0] for name, ids in sorted(owners.items()) if len(ids) == 1}


def call_expression(tool: Tool, convenience: str | None, mcp: str | None = None) -> str:
    """Ready to use: `tools.web_search({ query })`, or by id where there is no convenience function. `mcp` is
    how programs write the tool of a server."""
    given = _given(tool)
    if mcp is not None:
        return f"{mcp}({given})"
    if convenience is not None:
        return f"tools.{convenience}({given})"
    return f"tools.call({_quoted(tool.id)}{', ' + given if given else ''})"


def _given(tool: Tool) -> str:
    properties = tool.parameters.get("properties")
    if not isinstance(properties, dict) or not properties:
        return ""
    required = tool.parameters.get("required")
    listed = cast("list[object]", required) if isinstance(required, list) else []
    names = [name for name in listed if isinstance(name, str)]
    if not names:
        return "{}"
    return "{ " + ", ".join(_member(name) for name in names[:_SHOWN_PARAMETERS]) + " }"


def _member(name: str) -> str:
    safe = safe_name(name)
    if safe == name or name in NOT_FOR_TOOLS:
        return name
    return f"{_quoted(name)}: {safe or name + '_'}"


def _starts(letter: str) -> bool:
    return letter == "$" or letter.isidentifier()


def _continues(letter: str) -> bool:
    # JavaScript allows what Python allows in identifiers, and the dollar.
    return letter == "$" or f"_{letter}".isidentifier()


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
