"""The directory of deferred tools for a prompt: names and descriptions, bounded, equal bytes for equal tools.

surface/listing.py shortens and counts; no word of a server or a client is in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from codemode.catalog import Catalog
from codemode.surface.listing import fitting_lines, one_line, untrusted_counts

_HEAD = """\
Deferred tools. Call one by its name as it stands, or with tool_call; tool_describe shows its parameters, \
tool_search finds the others."""


def directory_of(catalog: Catalog, budget: int) -> str:
    """Empty for an empty catalog. At most `budget` characters, but it always tells the number of tools."""
    if not len(catalog):
        return ""
    trusted = sorted((tool for tool in catalog.tools if tool.trusted), key=lambda tool: (tool.name, tool.id))
    counts = Counter(tool.name for tool in trusted)
    # a name that two tools have cannot be called, so their ids are listed
    entries = [
        (tool.id if counts[tool.name] > 1 else tool.name, one_line(tool.description)) for tool in trusted
    ]
    others = [
        f"- {source} {owner}: {count} more, by tool_search"
        for source, owner, count in untrusted_counts(catalog.tools)
    ]
    left = budget - len(_text(len(trusted), len(catalog), [], others))
    if left < 0:
        others, left = [], budget - len(_text(len(trusted), len(catalog), [], []))
    lines = fitting_lines(entries, left)
    return _text(len(lines), len(catalog), lines, others)


def _text(shown: int, of: int, lines: Sequence[str], others: Sequence[str]) -> str:
    return "\n".join((f"{_HEAD} {shown} of {of} are listed here.", *lines, *others))
