"""The directory of deferred tools for a prompt: names and descriptions, bounded, equal bytes for equal tools.

Descriptions are shortened before names are dropped. It holds texts of trusted tools only; of servers and
clients it tells how many tools each has, under the name that the host's configuration gave it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from codemode.catalog import Catalog
from codemode.tools import Tool

_HEAD = """\
Deferred tools. Call one by its name as it stands, or with tool_call; tool_describe shows its parameters, \
tool_search finds the others."""
# Lengths for descriptions; the directory takes the longest with which everything fits.
_LENGTHS = (400, 300, 240, 200, 160, 130, 100, 80, 60, 45, 30, 20, 0)


def directory_of(catalog: Catalog, budget: int) -> str:
    """Empty for an empty catalog. At most `budget` characters, but it always tells the number of tools."""
    if not len(catalog):
        return ""
    trusted = sorted((tool for tool in catalog.tools if tool.trusted), key=lambda tool: (tool.name, tool.id))
    counts = Counter(tool.name for tool in trusted)
    # a name that two tools have cannot be called, so their ids are listed
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
    """The description as one line."""
    return " ".join(tool.description[: 4 * _LENGTHS[0]].split())


def _line(name: str, words: str, length: int) -> str:
    if len(words) > length:
        words = words[: length - 1].rstrip() + "…" if length else ""
    return f"- {name}: {words}" if words else f"- {name}"


def _others(tools: Sequence[Tool]) -> list[str]:
    """Untrusted names and descriptions stay out; the host chose the owner's name."""
    counts = Counter((tool.source, tool.owner) for tool in tools if not tool.trusted)
    return [
        f"- {source} {owner}: {count} more, by tool_search"
        for (source, owner), count in sorted(counts.items())
    ]
