"""Finds the known names that a wrong name probably meant: configuration keys, globals, tools. Pure.

Pairs of letters narrow ten thousand names down to a few; only those are compared closely.
"""

from __future__ import annotations

from collections.abc import Iterable

_ENOUGH = 0.6  # equal names have 1; "fetch" and "batch" have exactly 0.6
_PLAUSIBLE = 0.25
_SHORTLIST = 24
_MAX_NAME = 128


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The best first; ties by name. Case, underscores and hyphens do not matter."""
    wanted = _fold(name)
    pairs = {wanted[at : at + 2] for at in range(len(wanted) - 1)}
    rough = [
        (2 * sum(map(folded.__contains__, pairs)) / (len(pairs) + len(folded) - 1), candidate)
        for candidate in known
        if (folded := _fold(candidate))
    ]
    shortlist = sorted((found for found in rough if found[0] >= _PLAUSIBLE), reverse=True)[:_SHORTLIST]
    close = [(-max(score, _likeness(wanted, candidate)), candidate) for score, candidate in shortlist]
    return [candidate for score, candidate in sorted(close) if -score > _ENOUGH][:count]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that starts with a space, or nothing."""
    found = nearest(name, known, 1)
    return f' Did you mean "{found[0]}"?' if found else ""


def _fold(name: str) -> str:
    """Adds marks at both ends, so that the first and the last letter count more."""
    return f"^{name[:_MAX_NAME].lower().replace('_', '').replace('-', '')}$"


def _likeness(wanted: str, candidate: str) -> float:
    from difflib import SequenceMatcher  # loaded by the first mistake only

    return SequenceMatcher(None, wanted[1:-1], _fold(candidate)[1:-1], autojunk=False).ratio()
