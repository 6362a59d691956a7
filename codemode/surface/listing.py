"""Names with a line about each, for a prompt: within a budget, equal bytes for equal tools. Pure.

Descriptions are shortened before names are dropped. Only texts of trusted tools are listed; of servers and
clients it is told how many tools each has, under the name that the host's configuration gave it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from codemode.tools import Tool

# Lengths for descriptions; a list takes the longest with which everything fits.
_LENGTHS = (400, 300, 240, 200, 160, 130, 100, 80, 60, 45, 30, 20, 0)

Entry = tuple[str, str]  # what is called, and what it does


def fitting_lines(entries: Sequence[Entry], budget: int, longest: int = _LENGTHS[0]) -> list[str]:
    """`- name: words` for as many entries as fit in so many characters, each with its line feed."""
    bare = sum(len(name) + len("\n- ") for name, _ in entries)
    for length in (length for length in _LENGTHS if length <= longest and bare <= budget):
        words = sum(min(len(words), length) + len(": ") for _, words in entries if words and length)
        if bare + words <= budget:
            return [_line(name, words, length) for name, words in entries]
    shown: list[str] = []
    for line in (_line(name, "", 0) for name, _ in entries):
        budget -= len(line) + 1
        if budget < 0:
            break
        shown.append(line)
    return shown


def one_line(description: str) -> str:
    return " ".join(description[: 4 * _LENGTHS[0]].split())


def untrusted_counts(tools: Iterable[Tool]) -> list[tuple[str, str, int]]:
    """Source, owner and number of the tools whose names and descriptions stay out; in a fixed order."""
    counts = Counter((tool.source, tool.owner) for tool in tools if not tool.trusted)
    return [(source, owner, count) for (source, owner), count in sorted(counts.items())]


def _line(name: str, words: str, length: int) -> str:
    if len(words) > length:
        words = words[: length - 1].rstrip() + "…" if length else ""
    return f"- {name}: {words}" if words else f"- {name}"
