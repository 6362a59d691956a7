"""Which deferred tools a directory's model sees with their schemas: those that a host requires, then the best
for the text of the turn. Few, and within a budget. Pure.

They stay in the catalog and in the directory, so that its bytes do not change from turn to turn. Only core
and plugin tools are guessed: a server could write descriptions that fit every text. A host may require any.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from codemode.catalog.indexes import index_of
from codemode.nearest import did_you_mean
from codemode.tool_search.catalog import SearchCatalog
from codemode.tools import Tool

_MAX_CHARS = 16_000  # of guessed schemas together, about 4,000 tokens
_MAX_NAME = 120


class LikelyTools(NamedTuple):
    tools: tuple[Tool, ...]
    warnings: tuple[str, ...] = ()


def likely_tools(
    deferred: SearchCatalog, shown: Collection[str], required: Sequence[str], text: str, most: int
) -> LikelyTools:
    """`shown` are the names that the model sees anyway. Building an index takes long for a large catalog."""
    chosen: dict[str, Tool] = {}
    warnings: list[str] = []
    for asked in required:
        tool = deferred.resolve(asked)
        if tool is None and asked not in shown:
            warnings.append(f"required: {_unknown(asked, deferred)}")
        elif tool is not None and tool.id not in chosen:
            if len(chosen) < most and _is_callable(tool, deferred, shown):
                chosen[tool.id] = tool
            else:
                warnings.append(
                    f"required: {tool.id} is not shown with its schema; {_why(tool, chosen, most)}."
                )
    room = _MAX_CHARS
    for tool in _hits(deferred, text, most):
        fits = tool.chars <= room and _is_callable(tool, deferred, shown)
        if len(chosen) < most and tool.id not in chosen and fits:
            chosen[tool.id] = tool
            room -= tool.chars
    return LikelyTools(tuple(chosen.values()), tuple(warnings))


def _hits(deferred: SearchCatalog, text: str, most: int) -> list[Tool]:
    trusted = [tool for tool in deferred.tools if tool.trusted]
    return index_of(trusted).search(text, 2 * most) if text.strip() and trusted and most else []


def _is_callable(tool: Tool, deferred: SearchCatalog, shown: Collection[str]) -> bool:
    """A name that two tools have would not tell which one is called."""
    return tool.name not in shown and deferred.resolve(tool.name) is tool


def _unknown(asked: str, deferred: SearchCatalog) -> str:
    name = asked[:_MAX_NAME]
    if deferred.has_name(asked):
        return f'several tools are called "{name}"; give an id.'
    return f'this run has no tool "{name}".{did_you_mean(asked, [tool.name for tool in deferred.tools])}'


def _why(tool: Tool, chosen: Collection[str], most: int) -> str:
    if len(chosen) >= most:
        return f"directoryMaxSchemas is {most}"
    return f'another tool is called "{tool.name[:_MAX_NAME]}", too'
