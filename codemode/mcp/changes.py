"""Tools that say something else than before: a server may change what a tool takes or claims to do.

Runs keep the catalog that they began with, and approvals count for what was approved; this tells the host (an
event) and each session's model (a note with its next program) that what they know of a tool may be wrong.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

_MAX_SESSIONS = 10_000
_MAX_KEPT = 200  # changes; a server that changes for ever is told of by its last ones
_MAX_NAMED = 3


class ToolChanges:
    """One per engine. `on_change` hears of the server and the ids of its changed tools."""

    def __init__(self, on_change: Callable[[str, Sequence[str]], None] | None = None) -> None:
        self._on_change = on_change
        self._log: list[tuple[str, ...]] = []
        self._first = 0  # of the log, counted from the engine's start
        self._seen: OrderedDict[tuple[str, str], int] = OrderedDict()

    def add(self, server: str, names: Sequence[str]) -> None:
        ids = tuple(f"mcp:{server}:{name}" for name in names)
        self._log.append(ids)
        if len(self._log) > _MAX_KEPT:
            del self._log[0]
            self._first += 1
        if self._on_change is not None:
            self._on_change(server, ids)

    def note_for(self, agent: str, session: str) -> str | None:
        """What changed since this session's last program; None for its first, and if nothing did."""
        now = self._first + len(self._log)
        before = self._seen.pop((agent, session), now)
        self._seen[agent, session] = now
        if len(self._seen) > _MAX_SESSIONS:
            self._seen.popitem(last=False)
        ids = dict.fromkeys(one for group in self._log[max(0, before - self._first) :] for one in group)
        if not ids:
            return None
        named = [*ids][:_MAX_NAMED]
        more = f" and {len(ids) - len(named)} more" if len(ids) > len(named) else ""
        told = f"{', '.join(named)}{more}"
        return f"Changed by their server since your last program: {told}. Read them again with API.read."
