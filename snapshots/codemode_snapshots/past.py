"""Runs that are over, kept for people who look back: the newest, within a number, bytes and an age.

A record is written once, whole, and never changed. Its body is sealed by the engine; what a list shows and
what a search looks through stands beside it. A record that is lost costs nobody anything but a look.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from codemode_snapshots.label import RunScope, is_text


class PastRun(msgspec.Struct, frozen=True):
    """One run that is over. `words` is what a search looks through, in lower case, a space around each word.
    `body` is empty in lists."""

    run_id: str
    scope: RunScope
    status: str
    code: str
    language: str
    started_at_ms: int
    ended_at_ms: int
    legs: int
    calls: int
    tools: tuple[str, ...] = ()
    words: str = ""
    body: bytes = b""

    @property
    def size(self) -> int:
        return len(self.body) + len(self.words.encode("utf-8", "surrogatepass")) + 200


class PastBounds(msgspec.Struct, frozen=True):
    """What may be kept. What is past a bound goes, the oldest first."""

    max_runs: int
    max_bytes: int
    max_age_ms: int


class PastQuery(msgspec.Struct, frozen=True):
    """Which of them. `sessions` are names, or beginnings with `*`; `before` is a start and a run id."""

    agent: str | None = None
    session: str | None = None
    sessions: tuple[str, ...] = ("*",)
    statuses: tuple[str, ...] = ()
    words: tuple[str, ...] = ()  # each has to occur
    since_ms: int | None = None
    until_ms: int | None = None
    before: tuple[int, str] | None = None

    @property
    def is_text(self) -> bool:
        """Whether stores can be asked: texts come from clients, and databases fail at half a character."""
        given = (self.agent, self.session, *self.sessions, *self.statuses, *self.words)
        return all(one is None or is_text(one) for one in given) and (
            self.before is None or is_text(self.before[1])
        )

    def matches(self, run: PastRun) -> bool:
        scope, at = run.scope, run.started_at_ms
        return (
            self.agent in (None, scope.agent)
            and self.session in (None, scope.session)
            and any(is_of_pattern(scope.session, pattern) for pattern in self.sessions)
            and (not self.statuses or run.status in self.statuses)
            and all(word in run.words for word in self.words)
            and (self.since_ms is None or at >= self.since_ms)
            and (self.until_ms is None or at < self.until_ms)
            and (self.before is None or (at, run.run_id) < self.before)
        )

    def conditions(self, mark: str, contains: str) -> tuple[str, list[str | int]]:
        """The same as SQL, for a table with these names of columns. `mark` is the place of a value,
        `contains` a condition on `words`, with one."""
        parts: list[str] = []
        values: list[str | int] = []

        def add(condition: str, *given: str | int) -> None:
            parts.append(condition)
            values.extend(given)

        if self.agent is not None:
            add(f"agent = {mark}", self.agent)
        if self.session is not None:
            add(f"session = {mark}", self.session)
        if "*" not in self.sessions:
            own = [_session_condition(pattern, mark) for pattern in self.sessions]
            add("(" + (" OR ".join(text for text, _ in own) or "1 = 0") + ")")
            values.extend(value for _, given in own for value in given)
        if self.statuses:
            add(f"status IN ({', '.join([mark] * len(self.statuses))})", *self.statuses)
        for word in self.words:
            add(contains, word)
        if self.since_ms is not None:
            add(f"started_at_ms >= {mark}", self.since_ms)
        if self.until_ms is not None:
            add(f"started_at_ms < {mark}", self.until_ms)
        if self.before is not None:
            add(f"(started_at_ms, run_id) < ({mark}, {mark})", *self.before)
        return (" WHERE " + " AND ".join(parts) if parts else ""), values


def is_of_pattern(session: str, pattern: str) -> bool:
    return session.startswith(pattern[:-1]) if pattern.endswith("*") else session == pattern


def _session_condition(pattern: str, mark: str) -> tuple[str, list[str | int]]:
    if pattern.endswith("*"):
        return f"substr(session, 1, {len(pattern) - 1}) = {mark}", [pattern[:-1]]
    return f"session = {mark}", [pattern]


class PastRuns(Protocol):
    """The part of a store that keeps them. Each method is atomic, and may raise StoreUnavailable."""

    def add(self, runs: Sequence[PastRun], bounds: PastBounds) -> None:
        """Keep these, then drop what is past the bounds. One that is kept already is replaced."""
        ...

    def find(self, query: PastQuery, limit: int) -> list[PastRun]:
        """Without bodies, the latest start first."""
        ...

    def get(self, run_id: str) -> PastRun | None: ...

    def totals(self, query: PastQuery) -> tuple[int, int]:
        """How many there are, and their bytes."""
        ...


class MemoryPast:
    """PastRuns in a dict."""

    def __init__(self) -> None:
        self._runs: dict[str, PastRun] = {}  # in the order in which they ended
        self._bytes = 0

    def add(self, runs: Sequence[PastRun], bounds: PastBounds) -> None:
        for run in runs:
            self._drop((run.run_id,))
            self._runs[run.run_id] = run
            self._bytes += run.size
        newest = max((run.ended_at_ms for run in runs), default=0)
        while self._runs:
            oldest = next(iter(self._runs.values()))
            is_old = oldest.ended_at_ms < newest - bounds.max_age_ms
            if not is_old and len(self._runs) <= bounds.max_runs and self._bytes <= bounds.max_bytes:
                break
            self._drop((oldest.run_id,))

    def find(self, query: PastQuery, limit: int) -> list[PastRun]:
        found = [run for run in self._runs.values() if query.matches(run)]
        found.sort(key=lambda run: (run.started_at_ms, run.run_id), reverse=True)
        return [msgspec.structs.replace(run, body=b"") for run in found[:limit]]

    def get(self, run_id: str) -> PastRun | None:
        return self._runs.get(run_id)

    def totals(self, query: PastQuery) -> tuple[int, int]:
        found = [run.size for run in self._runs.values() if query.matches(run)]
        return len(found), sum(found)

    def _drop(self, run_ids: Collection[str]) -> None:
        for run_id in run_ids:
            gone = self._runs.pop(run_id, None)
            self._bytes -= 0 if gone is None else gone.size
