"""The directory of deferred tools for a prompt: names and descriptions, bounded, equal bytes for equal tools.

Descriptions shrink before names go. Only words of trusted tools are in it: of servers and clients it says how
many tools there are under the names that the host's configuration gave them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from codemode.catalog import Catalog
from codemode.tools import Tool

_HEAD = """\
Deferred tools. Call one by its name as it stands, or with tool_call; tool_describe shows its parameters, \
tool_search finds the others."""
# How long descriptions may be; the longest that fits everything is taken.
_LENGTHS = (400, 300, 240, 200, 160, 130, 100, 80, 60, 45, 30, 20, 0)


def directory_of(catalog: Catalog, budget: int) -> str:
    """Empty if the catalog is. At most `budget` characters, but never less than the count of the tools."""
    if not len(catalog):
        return ""
    trusted = sorted((tool for tool in catalog.tools if tool.trusted), key=lambda tool: (tool.name, tool.id))
    counts = Counter(tool.name for tool in trusted)
    # a name that two tools have is no name to call
    entries = [(tool.id if counts[tool.name] > 1 else tool.name, _words(tool)) for tool in trusted]
    others = _others(catalog.tools)
    left = budget - len(_text(len(trusted), len(catalog), [], others))
    if left < 0:
        others, left = [], budget - len(_text(len(trusted), len(catalog), [], []))
    bare = sum(len(name) + len("\n- ") for name, _ in entries)
    for length in _LENGTHS if bare <= left else ():
        if (
            bare + sum(min(len(words), length) + len(": ") for _, words in entries if words and length)
            <= left
        ):
            lines = [_line(name, words, length) for name, words in entries]
            return _text(len(lines), len(catalog), lines, others)
    shown: list[str] = []
    for line in (_line(name, "", 0) for name, _ in entries):
        left -= len(line) + 1
        if left < 0:
            break
        shown.append(line)
    return _text(len(shown), len(catalog), shown, others)


def _text(shown: int, of: int, lines: Sequence[str], others: Sequence[str]) -> str:
    return "\n".join((f"{_HEAD} {shown} of {of} are listed here.", *lines, *others))


def _words(tool: Tool) -> str:
    """One line each, whatever is in the description."""
    return " ".join(tool.description[: 4 * _LENGTHS[0]].split())


def _line(name: str, words: str, length: int) -> str:
    if len(words) > length:
        words = words[: length - 1].rstrip() + "…" if length else ""
    return f"- {name}: {words}" if words else f"- {name}"


def _others(tools: Sequence[Tool]) -> list[str]:
    """Their own names and descriptions stay out; the owner's name is the host's word for it."""
    counts = Counter((tool.source, tool.owner) for tool in tools if not tool.trusted)
    return [
        f"- {source} {owner}: {count} more, by tool_search"
        for (source, owner), count in sorted(counts.items())
    ]
