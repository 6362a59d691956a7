"""A change to a foreign source: it replaces text that occurs exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from source import BuildError


@dataclass(frozen=True, slots=True)
class Change:
    before: str
    after: str
    file: str = "quickjs.c"


def changed(text: str, changes: Sequence[Change], name: str) -> str:
    """The text of the file `name` with those of the changes made that are for it. Raises BuildError."""
    for change in changes:
        if change.file != name:
            continue
        if text.count(change.before) != 1:
            line = change.before.strip().splitlines()[0]
            raise BuildError(f"{name} is not the one that its changes were written for: see {line!r}")
        text = text.replace(change.before, change.after)
    return text
