"""Changes of texts: one passage replaced by another, with refusals that show where it nearly fits. Pure."""

from __future__ import annotations

import difflib

from codemode.tools import ToolError

_MAX_SHOWN = 5
_MAX_LINES_COMPARED = 5_000
_MIN_ALIKE = 0.6


def replaced(path: str, text: str, old: str, new: str, replace_all: bool) -> tuple[str, int]:
    """The new text, and how often `old` was replaced. Raises ToolError if it is there never or often."""
    if not old:
        raise ToolError("old_text is empty; use write to make a file.", code="bad_edit")
    if old == new:
        raise ToolError("old_text and new_text are the same; nothing was changed.", code="bad_edit")
    count = text.count(old)
    if not count and "\r\n" in text and "\r" not in old:
        # the file has Windows line ends, which a model does not see
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
        count = text.count(old)
    if not count:
        raise ToolError(f"old_text is not in {path}.{_near(text, old)} Nothing was changed.", code="no_match")
    if count > 1 and not replace_all:
        lines = ", ".join(str(line) for line in lines_of(text, old)[:_MAX_SHOWN])
        told = f"old_text is in {path} {count} times, at lines {lines}{' …' if count > _MAX_SHOWN else ''}."
        raise ToolError(
            f"{told} Add lines around it until it is there once, or set replace_all. Nothing was changed.",
            code="several_matches",
        )
    return text.replace(old, new), count


def lines_of(text: str, passage: str) -> list[int]:
    """The numbers of the lines, from 1, where a passage begins."""
    found: list[int] = []
    at = text.find(passage)
    while at >= 0:
        found.append(text.count("\n", 0, at) + 1)
        at = text.find(passage, at + len(passage))
    return found


def _near(text: str, old: str) -> str:
    wanted = next((line.strip() for line in old.split("\n") if line.strip()), "")
    lines = text.split("\n")[:_MAX_LINES_COMPARED]
    for number, line in enumerate(lines, 1):
        if wanted and line.strip() == wanted:
            told = f" Its first line is line {number}, with other spaces or other lines after it;"
            return f"{told} read the file again."
    alike = difflib.get_close_matches(wanted[:200], [line.strip()[:200] for line in lines], 1, _MIN_ALIKE)
    if not alike:
        return " Read the file again."
    number = next(number for number, line in enumerate(lines, 1) if line.strip()[:200] == alike[0])
    return f" The nearest line is {number}: {alike[0][:120]!r}."
