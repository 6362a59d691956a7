"""The catalog in a few lines of the prompt: one per trusted tool, in a fixed order, within a budget. Pure.

Equal tool sets give equal bytes, so that a provider's prompt cache stays valid from turn to turn. It contains
nothing that a server or a client wrote.
"""

from __future__ import annotations

import json

from codemode.catalog import Catalog
from codemode.tools import Tool
from codemode.tools.sketch import sketch

DEFAULT_BUDGET = 3_000  # characters, about 750 tokens
_MAX_INPUT = 160
_MAX_OUTPUT = 80


def quick_index(catalog: Catalog, budget: int = DEFAULT_BUDGET) -> str:
    """Empty if there is no trusted tool, or no room for a line."""
    trusted = [tool for tool in catalog.tools if tool.trusted]
    lines: list[str] = []
    left = budget - len(_count(len(trusted), len(trusted))) - 1
    for tool in trusted:
        line = _line(catalog, tool)
        left -= len(line) + 1
        if left < 0:
            break
        lines.append(line)
    if not lines:
        return ""
    if len(lines) < len(trusted):
        lines.append(_count(len(lines), len(trusted)))
    return "\n".join(lines)


def _line(catalog: Catalog, tool: Tool) -> str:
    name = catalog.convenience_of(tool) or f"call {json.dumps(tool.id)}"
    has_input = bool(tool.parameters.get("properties"))
    taken = sketch(tool.parameters, longest=_MAX_INPUT) if has_input else ""
    given = "?" if tool.returns is None else sketch(tool.returns, longest=_MAX_OUTPUT)
    return " ".join(f"{name}({taken}) -> {given}".split())


def _count(shown: int, of: int) -> str:
    return f"({shown} of {of} shown; find the others with tools.search)"
