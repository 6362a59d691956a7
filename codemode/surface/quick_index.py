"""The catalog in a few lines of the prompt: one per trusted tool, in a fixed order, within a budget. Pure.

Equal tool sets give equal bytes, so that a provider's prompt cache stays valid from turn to turn. It contains
nothing that a server or a client wrote. A line tells what decides a program: parameters with their ranges,
the result, and what the tool does. Of many tools less is told of each, before any is left out.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from codemode.catalog import Catalog
from codemode.catalog.result_shapes import Returns
from codemode.surface.listing import one_line
from codemode.tools import Tool
from codemode.tools.sketch import sketch

DEFAULT_BUDGET = 5_000  # characters


class _Detail(NamedTuple):
    """How many characters are told of a tool's parameters, of each parameter's description, of the result,
    and of what the tool does."""

    taken: int
    clause: int
    given: int
    words: int
    types: bool = True  # of parameters, beside their names


_DETAILS = (
    _Detail(240, 40, 160, 120),
    _Detail(200, 32, 120, 80),
    _Detail(160, 24, 80, 60),
    _Detail(130, 16, 60, 40),
    _Detail(110, 0, 50, 30),
    _Detail(90, 0, 40, 20),
    _Detail(80, 0, 24, 0),
    _Detail(60, 0, 16, 0, types=False),
)
_OF_MANY = _DETAILS[3]  # where not all fit, whatever is told of them


def quick_index(catalog: Catalog, budget: int = DEFAULT_BUDGET, observed: Returns | None = None) -> str:
    """Empty if there is no trusted tool, or no room for a line. `observed` gives what is known of results
    that are not declared; they are marked with `~`."""
    trusted = [tool for tool in catalog.tools if tool.trusted]
    if len(trusted) * len("a() -> ?\n") <= budget:
        for detail in _DETAILS:
            lines = [_line(catalog, tool, detail, observed) for tool in trusted]
            if sum(map(len, lines)) + len(lines) <= budget:
                return "\n".join(lines)
    return _as_many_as_fit(catalog, trusted, budget, observed)


def _as_many_as_fit(catalog: Catalog, trusted: list[Tool], budget: int, observed: Returns | None) -> str:
    lines: list[str] = []
    left = budget - len(_count(len(trusted), len(trusted))) - 1
    for tool in trusted:
        line = _line(catalog, tool, _OF_MANY, observed)
        left -= len(line) + 1
        if left < 0:
            break
        lines.append(line)
    return "\n".join([*lines, _count(len(lines), len(trusted))]) if lines else ""


def _line(catalog: Catalog, tool: Tool, detail: _Detail, observed: Returns | None) -> str:
    has_input = bool(tool.parameters.get("properties"))
    taken = (
        sketch(tool.parameters, longest=detail.taken, clause=detail.clause, types=detail.types)
        if has_input
        else ""
    )
    name = catalog.convenience_of(tool)
    if name is None:
        given_id = json.dumps(tool.id, ensure_ascii=False)
        called = f"call({given_id}{', ' + taken if taken else ''})"
    else:
        called = f"{name}({taken})"
    about = _about(tool, detail.words)
    return " ".join(f"{called} -> {_given(tool, detail, observed)}{about}".split())


def _given(tool: Tool, detail: _Detail, observed: Returns | None) -> str:
    if tool.returns is not None:
        return sketch(tool.returns, longest=detail.given, clause=0)
    found = None if observed is None else observed(tool)
    return "?" if found is None else f"~{sketch(found, longest=detail.given, clause=0)}"


def _about(tool: Tool, longest: int) -> str:
    words = one_line(tool.description).removesuffix(".")
    if not words or not longest:
        return ""
    return f" // {words if len(words) <= longest else words[: longest - 1].rstrip() + '…'}"


def _count(shown: int, of: int) -> str:
    return f"({shown} of {of} shown; find the others with tools.search)"
