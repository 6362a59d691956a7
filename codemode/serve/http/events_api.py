"""Server-sent events: a stream has a place in the journal, and sends what a token may see of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from codemode.serve.http.asked import HttpAsked
from codemode.serve.http.errors import HttpRefused
from codemode.serve.http.inputs import EventsQuery
from codemode.serve.http.journal import Journal, JournalEntry
from codemode.serve.http.state import ServerState
from codemode.serve.tokens import Token

BEAT_SECONDS = 15.0
_RETRY_MS = 1_000
_MAX_AT_ONCE = 256  # events in one write


class EventStream:
    """One client's stream. Made before the answer begins, so that a refusal can still be told."""

    def __init__(self, asked: HttpAsked[EventsQuery, Any], journal: Journal) -> None:
        query = asked.query
        self._journal = journal
        self._state: ServerState = asked.state
        self._token = asked.caller.token
        self._run_id = query.run_id
        self._session = query.session
        self._types = frozenset(word.strip() for word in query.types.split(",") if word.strip())
        self._sees_all = self._token.reaches_all and self._run_id is None and self._session is None
        self._at, self._is_complete = _place(asked.headers.get("last-event-id") or query.after, journal)

    async def chunks(self) -> AsyncGenerator[bytes]:
        journal = self._journal
        yield b"retry: %d\n\n" % _RETRY_MS + self._hello(self._is_complete)
        while not (journal.is_closed or self._state.is_draining):
            if self._at + 1 < journal.first:  # the client, or this process, was too slow
                self._at = journal.last
                yield self._hello(False)
            entries = journal.after(self._at, _MAX_AT_ONCE)
            if not entries:
                await journal.news(self._at, BEAT_SECONDS)
                if journal.last == self._at and not journal.is_closed:
                    yield b": beat\n\n"
                continue
            self._at = entries[-1].number
            shown = b"".join(entry.frame for entry in entries if self._may_see(entry))
            if shown:
                yield shown
        yield self._event("bye", {"type": "bye"})

    def _may_see(self, entry: JournalEntry) -> bool:
        if self._types and entry.type not in self._types:
            return False
        if self._sees_all:
            return True
        if entry.owner is None:
            return self._token.reaches_all and self._run_id is None and self._session is None
        return (
            self._token.reaches(entry.owner.agent, entry.owner.session)
            and self._run_id in (None, entry.run_id)
            and self._session in (None, entry.owner.session)
        )

    def _hello(self, is_complete: bool) -> bytes:
        epoch = self._journal.epoch
        return self._event("hello", {"type": "hello", "epoch": epoch, "isComplete": is_complete})

    def _event(self, kind: str, told: dict[str, Any]) -> bytes:
        data = msgspec.json.encode(told)
        return f"id: {self._journal.epoch}.{self._at}\nevent: {kind}\ndata: ".encode() + data + b"\n\n"

    @property
    def token(self) -> Token:
        return self._token


def _place(given: str, journal: Journal) -> tuple[int, bool]:
    """Where the stream goes on, and whether nothing is missing. Raises HttpRefused for what is no id."""
    if not given:
        return journal.last, True
    epoch, _, number = given.partition(".")
    if not number.isascii() or not number.isdigit() or len(number) > 15:
        raise HttpRefused(400, "Last-Event-ID must be the id of an event.")
    at = int(number)
    if epoch != journal.epoch or at > journal.last:
        return journal.last, False
    if at + 1 < journal.first:
        return journal.last, False
    return at, True
