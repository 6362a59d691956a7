"""The names that a program can use, for hints that offer one of them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

# The contract's own globals; every model knows those of the language.
GLOBALS = (
    "ALL_TOOLS",
    "tools",
    "MCP",
    "API",
    "namespaces",
    "text",
    "json",
    "image",
    "file",
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
_MAX_PARAMETERS = 600  # characters of the parameters of a tool


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
        """Those that this run can use: `MCP` without a server, or `namespaces` without one, is empty."""
        if self.is_bare:
            return ("console", *self.namespaces)
        unused = (() if self.servers else ("MCP", "API")) + (() if self.namespaces else ("namespaces",))
        return (*(name for name in GLOBALS if name not in unused), *self.namespaces)

    def signature(self, tool: str) -> str | None:
        """`web_search({ query: string, limit?: number })`, for a name on `tools` or a catalog id."""
        schema = self.parameters(self.convenience.get(tool, tool))
        if schema is None:
            return None
        from codemode.tools.sketch import sketch

        return f"{tool}({sketch(schema, longest=_MAX_PARAMETERS)})"
