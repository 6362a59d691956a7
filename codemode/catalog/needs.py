"""Splits a task into what it needs: one part for each sentence or step that says enough. Pure."""

from __future__ import annotations

import re

from codemode.catalog.words import FILLERS, terms

_BETWEEN = re.compile(
    r"[.?!;\n]+\s+|,?\s+(?:and then|then|after that|afterwards|also|finally|and also)\s+", re.IGNORECASE
)
# A part with fewer telling words is a remark ("Thanks!", "I live in Rome"), which finds anything.
_MIN_WORDS = 5
_MAX_NEEDS = 6


def needs(task: str) -> list[str]:
    """The parts, or nothing if the task has only one."""
    parts = [part for part in _BETWEEN.split(task) if len(set(terms(part)) - FILLERS) >= _MIN_WORDS]
    return parts[:_MAX_NEEDS] if len(parts) > 1 else []
