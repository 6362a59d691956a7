"""Counts what each session has in the store, so that none can fill it: suspended runs and their bytes. Pure.

An engine knows what it has stored itself; the limits of the whole store are the store's own.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from codemode.gate.pending import share_of


class Excess(NamedTuple):
    """What a session may have of something, and what it would have."""

    limit: Literal["snapshots", "total_bytes"]
    allowed: int
    wanted: int


class SessionShares:
    """Counts for one engine. `undivided` is the session of hosts that name none: it may have everything."""

    def __init__(self, runs: int, size: int, percent: int, undivided: str) -> None:
        self._runs = share_of(runs, percent) if percent < 100 else None
        self._bytes = share_of(size, percent) if percent < 100 else None
        self._all, self._held = (runs, size), 0  # what all sessions may have, and the bytes that they have
        self._undivided = undivided
        self._kept: dict[str, tuple[str, int]] = {}  # by run: its session and its bytes
        self._sessions: dict[str, tuple[int, int]] = {}  # runs and bytes

    def excess(self, run_id: str, session: str, size: int) -> Excess | None:
        """What would be too much if this run had so many bytes; None if nothing."""
        if session == self._undivided:
            return None
        runs, held = self._sessions.get(session, (0, 0))
        _, before = self._kept.get(run_id, ("", 0))
        if self._runs is not None and run_id not in self._kept and runs >= self._runs:
            return Excess("snapshots", self._runs, runs + 1)
        if self._bytes is not None and size > before and held - before + size > self._bytes:
            return Excess("total_bytes", self._bytes, held - before + size)
        return None

    def size_of(self, run_id: str) -> int:
        return self._kept.get(run_id, ("", 0))[1]

    def has(self, run_id: str) -> bool:
        return run_id in self._kept

    @property
    def total(self) -> tuple[int, int]:
        """Runs and bytes."""
        return len(self._kept), self._held

    def is_roomy(self) -> bool:
        """Whether half of what all sessions may have is free."""
        return 2 * len(self._kept) < self._all[0] and 2 * self._held < self._all[1]

    def put(self, run_id: str, session: str, size: int) -> None:
        self.drop(run_id)
        self._kept[run_id] = (session, size)
        self._change(session, 1, size)

    def drop(self, run_id: str) -> None:
        """Does nothing for a run that is not known."""
        found = self._kept.pop(run_id, None)
        if found is not None:
            self._change(found[0], -1, -found[1])

    def _change(self, session: str, runs: int, size: int) -> None:
        self._held += size
        before = self._sessions.get(session, (0, 0))
        after = (before[0] + runs, before[1] + size)
        if after == (0, 0):
            self._sessions.pop(session, None)
        else:
            self._sessions[session] = after
