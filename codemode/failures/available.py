"""The names that a program can use, for hints that offer one of them. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

# The contract's own globals; every model knows those of the language.
GLOBALS = (
    "ALL_TOOLS",
    "tools",
    "MCP",
    "API",
    "namespaces",
    "text",
    "json",
    "yield_control",
    "console",
    "setTimeout",
    "clearTimeout",
    "structuredClone",
    "queueMicrotask",
    "TextEncoder",
    "TextDecoder",
    "URL",
    "URLSearchParams",
    "atob",
    "btoa",
    "crypto",
    "performance",
)
_SHOWN_PARAMETERS = 16
_TYPES = {"integer": "number", "array": "unknown[]"}


def _no_parameters(_tool_id: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Available:
    """The names of one run. `parameters` gives the JSON schema of a tool's input by its catalog id.

    `root` is where tools are called: `tools`, or `openclaw.tools` in a bare program of Tool Search.
    """

    namespaces: tuple[str, ...] = ()
    convenience: Mapping[str, str] = field(default_factory=dict[str, str])  # name on `tools` -> catalog id
    ids: Collection[str] = ()  # what `tools.call` takes
    mcp: Mapping[str, str] = field(default_factory=dict[str, str])  # catalog id -> `MCP.server.tool`
    servers: Collection[str] = ()
    parameters: Callable[[str], Mapping[str, Any] | None] = _no_parameters
    root: str = "tools"

    @property
    def is_bare(self) -> bool:
        return self.root != "tools"

    @property
    def globals(self) -> tuple[str, ...]:
        return (("console",) if self.is_bare else GLOBALS) + self.namespaces

    def signature(self, tool: str) -> str | None:
        """`web_search({ query: string, limit?: number })`, for a name on `tools` or a catalog id."""
        schema = self.parameters(self.convenience.get(tool, tool))
        if schema is None:
            return None
        return f"{tool}({_describe(schema)})"


def _describe(schema: Mapping[str, Any]) -> str:
    properties = _mapping(schema.get("properties"))
    listed: Any = schema.get("required")
    required = cast("list[Any]", listed) if isinstance(listed, list) else []
    names = sorted(properties, key=lambda name: name not in required)
    parts = [
        f"{_key(name)}{'' if name in required else '?'}: {_type(_mapping(properties[name]))}"
        for name in names[:_SHOWN_PARAMETERS]
    ]
    if len(names) > _SHOWN_PARAMETERS:
        parts.append("…")
    return f"{{ {', '.join(parts)} }}" if parts else "{}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _key(name: str) -> str:
    # a name may come from an untrusted server: it stays one short line
    return name if name.isidentifier() and len(name) <= 60 else json.dumps(name[:60])


def _type(schema: Mapping[str, Any]) -> str:
    choices: Any = schema.get("enum")
    if isinstance(choices, list) and 0 < len(cast("list[Any]", choices)) <= 12:
        return " | ".join(json.dumps(choice)[:60] for choice in cast("list[Any]", choices))
    kind: Any = schema.get("type")
    kinds = [name for name in (cast("list[Any]", kind) if isinstance(kind, list) else [kind]) if name]
    if kinds == ["array"]:
        item = _type(_mapping(schema.get("items")))
        return f"({item})[]" if " | " in item else f"{item}[]"
    return " | ".join(_TYPES.get(name, name) for name in kinds if isinstance(name, str)) or "unknown"
