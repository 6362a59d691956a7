"""One change of the engine's source; what is changed is in changes.py and polls.py."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """Replaces a text that occurs exactly once."""

    before: str
    after: str
    file: str = "quickjs.c"
