"""The channel beside the schemas: what the model may call, one line each, as a text for the system prompt.

It names things as the model sees them: exec and wait, and under them what a program calls; without code mode
the tools as they are. Bounded, equal bytes for equal tools, without a word of a server or a client. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from codemode.catalog import Catalog
from codemode.declarations.declarations import METHODS
from codemode.surface.description import NamespaceText
from codemode.surface.listing import Entry, fitting_lines, one_line, untrusted_counts
from codemode.tools import Tool

PROMPT_CHARS = 4_000  # about 1,000 tokens
_MAX_ABOUT = 160  # characters about one tool
_MAX_OWNER = 80

_CONTROLS = """\
Tools you can call:
- exec: Runs a program that calls the tools below, and returns its result.
- wait: Continues a program that exec left waiting."""
_INSIDE = "In a program you can call:"
_DIRECT = "Tools you can call:"


def prompt_of_programs(catalog: Catalog, namespaces: Sequence[NamespaceText], budget: int) -> str:
    """For code mode."""
    entries = [(own.global_name, one_line(own.description)) for own in namespaces]
    entries.sort()
    trusted = [tool for tool in catalog.tools if tool.trusted]
    entries += [(_called(catalog, tool), one_line(tool.description)) for tool in trusted]
    others = [_reached(*one) for one in untrusted_counts(_tools_only(catalog.tools))]
    return _bounded(f"{_CONTROLS}\n{_INSIDE}", entries, others, budget, "tools.search finds the others")


def prompt_of_tools(tools: Iterable[Tool], budget: int) -> str:
    """For tools that are shown as they are; empty if there is none."""
    shown = list(tools)
    trusted = sorted((tool for tool in shown if tool.trusted), key=lambda tool: (tool.name, tool.id))
    entries = [(tool.name, one_line(tool.description)) for tool in trusted]
    others = [
        f"- {_named(source, owner)}: {_tools(count)}"
        for source, owner, count in untrusted_counts(_tools_only(shown))
    ]
    return _bounded(_DIRECT, entries, others, budget, "your tool list has the others") if shown else ""


def _bounded(head: str, entries: Sequence[Entry], others: list[str], budget: int, where: str) -> str:
    most = f"{len(entries)} of {len(entries)} are listed; {where}."
    left = budget - len("\n".join((head, most, *others)))
    while left < 0 and others:  # hosts with hundreds of servers
        left += len(others.pop()) + 1
    lines = fitting_lines(entries, left, _MAX_ABOUT)
    count = [f"{len(lines)} of {len(entries)} are listed; {where}."] if len(lines) < len(entries) else []
    return "\n".join((head, *lines, *others, *count))


def _tools_only(tools: Iterable[Tool]) -> list[Tool]:
    """Without a server's resources and prompts, which the catalog has as tools."""
    return [tool for tool in tools if tool.source != "mcp" or tool.name not in METHODS]


def _called(catalog: Catalog, tool: Tool) -> str:
    """By its convenience name, or by id where it has none."""
    name = catalog.convenience_of(tool)
    return f"tools.{name}" if name else f"tools.call({json.dumps(tool.id, ensure_ascii=False)})"


def _reached(source: str, owner: str, count: int) -> str:
    how = (
        "as MCP.<server>.<tool>; API.list() names the declarations" if source == "mcp" else "by tools.search"
    )
    return f"- {_named(source, owner)}: {_tools(count)}, {how}"


def _named(source: str, owner: str) -> str:
    return f"{'MCP server' if source == 'mcp' else source} {' '.join(owner.split())[:_MAX_OWNER]}"


def _tools(count: int) -> str:
    return "1 tool" if count == 1 else f"{count} tools"
