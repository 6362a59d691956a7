"""The tables of docs/mcp-conformance.md: reads and writes them."""

from __future__ import annotations

import re

from tests.harness.processes import PROJECT

PAGE = PROJECT / "docs" / "mcp-conformance.md"
_HEAD = "| scenario | before | 2026-07-28 | 2025-11-25 | why not |\n|---|---|---|---|---|\n"


def read_rows(leg: str) -> list[str]:
    return [line for line in _section(leg).splitlines() if line.startswith("| `")]


def read_before(leg: str) -> dict[str, str]:
    """What each scenario gave before this page was begun: history, which no run can tell."""
    cells = [row.split(" | ") for row in read_rows(leg)]
    return {row[0].strip("| `"): row[1].strip() for row in cells}


def write_tables(tables: dict[str, list[str]]) -> None:
    text = PAGE.read_text()
    for leg, rows in tables.items():
        text = text.replace(_section(leg), _HEAD + "\n".join(rows) + "\n")
    PAGE.write_text(text)


def _section(leg: str) -> str:
    found = re.search(rf"<!--{leg}-->\n(.*?)<!--/{leg}-->", PAGE.read_text(), re.DOTALL)
    assert found, f"the page has no table of the {leg}"
    return found.group(1)
