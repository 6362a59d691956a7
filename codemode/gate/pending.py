"""Counts what calls under way keep in the host's memory: by run, by session, and for the whole engine. Pure.

A call keeps its arguments, as text and once decoded, until it has settled; a suspended run keeps the results
that came meanwhile. None of that is in the guest's heap or in the snapshot's size, so it has caps of its own.
"""

from __future__ import annotations

UNDIVIDED = 8  # of fewer things than this, one session may have all


def share_of(most: int, percent: int) -> int:
    """What one session may have of something that all sessions share."""
    return most if most < UNDIVIDED else max(1, most * percent // 100)


class PendingBytes:
    """The account of an engine. One session may have its share of it, unless it is the only one."""

    def __init__(self, per_run: int, in_all: int, percent: int, undivided: str) -> None:
        """`undivided` is the session of hosts that name none."""
        self.per_run = per_run
        self.in_all = in_all
        self._share = share_of(in_all, percent)
        self._undivided = undivided
        self.held = 0
        self._sessions: dict[str, int] = {}

    def refusal(self, session: str, run_holds: int, more: int) -> str | None:
        """Why no more can be kept, as a sentence; None if it can."""
        if run_holds + more > self.per_run:
            return f"a run may keep {self.per_run:,} bytes (maxPendingBytes)"
        most = self.in_all if session == self._undivided else self._share
        if self._sessions.get(session, 0) + more > most:
            return f"a session may keep {most:,} bytes (maxPendingTotalBytes, sessionSharePercent)"
        if self.held + more > self.in_all:
            return f"all runs together may keep {self.in_all:,} bytes (maxPendingTotalBytes)"
        return None

    def change(self, session: str, by: int) -> None:
        self.held += by
        left = self._sessions.get(session, 0) + by
        if left:
            self._sessions[session] = left
        else:
            self._sessions.pop(session, None)


class Account:
    """What one run keeps, by the id of the work it is kept for."""

    __slots__ = ("_all", "_kept", "_session", "held")

    def __init__(self, everybody: PendingBytes, session: str) -> None:
        self._all = everybody
        self._session = session
        self._kept: dict[int, int] = {}
        self.held = 0

    def take(self, key: int, size: int) -> str | None:
        """Keeps so much for this work, in place of what was kept for it. Says why not, and then keeps what it
        kept."""
        more = size - self._kept.get(key, 0)
        refusal = self._all.refusal(self._session, self.held, more) if more > 0 else None
        if refusal is None:
            self._kept[key] = size
            self.held += more
            self._all.change(self._session, more)
        return refusal

    def give(self, key: int) -> None:
        """Nothing is kept for this work any more."""
        size = self._kept.pop(key, 0)
        if size:
            self.held -= size
            self._all.change(self._session, -size)

    def close(self) -> None:
        self._kept.clear()
        if self.held:
            self._all.change(self._session, -self.held)
            self.held = 0
