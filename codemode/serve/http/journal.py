"""The last events of an engine, so that a client whose stream broke gets what it has missed.

Events are kept once, as the bytes that are sent; each stream has a place in the journal and no queue of its
own, so two hundred slow readers cost as much as one. A reader that falls behind the oldest event is told so.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict, deque
from typing import NamedTuple

import msgspec

from codemode.contract.events import Event, RunFinished
from codemode.contract.scope import Scope
from codemode.engine import Engine

MAX_EVENTS = 4_096
MAX_BYTES = 4 << 20
_MAX_ONE = 64 << 10  # bytes of an event; a larger one is sent without its payload
_MAX_OWNERS = 10_000
_DELAY_SECONDS = 0.0005  # for each reader
_MAX_DELAY_SECONDS = 0.1


class JournalEntry(NamedTuple):
    number: int
    type: str
    run_id: str
    owner: Scope | None  # None for what belongs to no run
    frame: bytes  # as it is sent


class Journal:
    """One per server. `put` is called by the engine's hub, in the event loop."""

    def __init__(self, engine: Engine) -> None:
        self.epoch = secrets.token_hex(4)
        self._engine = engine
        self._entries: deque[JournalEntry] = deque()
        self._bytes = 0
        self._last = 0
        self._news: asyncio.Future[None] | None = None
        self._waking: asyncio.TimerHandle | None = None
        self._waiting = 0
        self._owners: OrderedDict[str, Scope] = OrderedDict()
        self.is_closed = False
        self._listener = engine.on_event(self.put)

    @property
    def last(self) -> int:
        return self._last

    @property
    def first(self) -> int:
        """The number of the oldest entry that is kept, or of the next that comes."""
        return self._entries[0].number if self._entries else self._last + 1

    def put(self, event: Event) -> None:
        owner = self._owner(event)
        if event.run_id and owner is None:
            return  # nobody could be shown it
        self._last += 1
        head = f"id: {self.epoch}.{self._last}\nevent: {event.type}\ndata: ".encode()
        frame = head + _encoded(event, owner) + b"\n\n"
        entry = JournalEntry(self._last, event.type, event.run_id, owner, frame)
        self._entries.append(entry)
        self._bytes += len(frame)
        while len(self._entries) > MAX_EVENTS or self._bytes > MAX_BYTES:
            self._bytes -= len(self._entries.popleft().frame)
        if self._news is not None and self._waking is None:
            # many readers are woken together for many events: each costs a turn of the loop
            delay = min(_MAX_DELAY_SECONDS, self._waiting * _DELAY_SECONDS)
            self._waking = asyncio.get_running_loop().call_later(delay, self._wake)

    def after(self, number: int, most: int = 256) -> list[JournalEntry]:
        """The entries behind that one, oldest first."""
        start = max(0, number + 1 - self.first)
        if start >= len(self._entries):
            return []
        if start > len(self._entries) // 2:  # most readers are near the end, and a deque is read from there
            found = [self._entries[-back] for back in range(len(self._entries) - start, 0, -1)]
            return found[:most]
        return [self._entries[at] for at in range(start, min(len(self._entries), start + most))]

    async def news(self, number: int, seconds: float) -> None:
        """Returns when there is more behind that entry, when the journal is closed, or after so long."""
        if self._last > number or self.is_closed:
            return
        if self._news is None:
            self._news = asyncio.get_running_loop().create_future()
        self._waiting += 1
        try:
            await asyncio.wait({self._news}, timeout=seconds)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self.is_closed = True
        self._listener.close()
        self._wake()

    def _wake(self) -> None:
        if self._waking is not None:
            self._waking.cancel()
            self._waking = None
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
        self._news = None

    def _owner(self, event: Event) -> Scope | None:
        if not event.run_id:
            return None
        known = self._engine.owner_here(event.run_id) or self._owners.get(event.run_id)
        if known is not None:
            self._owners[event.run_id] = known
            self._owners.move_to_end(event.run_id)
            if len(self._owners) > _MAX_OWNERS:
                self._owners.popitem(last=False)
        return known


def _encoded(event: Event, owner: Scope | None) -> bytes:
    told = event.to_dict()
    if owner is not None:
        agent_run = "" if owner.agent_run == "-" else owner.agent_run
        told |= {"agent": owner.agent, "session": owner.session, "agentRun": agent_run}
    if isinstance(event, RunFinished):
        told.setdefault("code", None)
    data = msgspec.json.encode(told)
    if len(data) <= _MAX_ONE:
        return data
    small = {name: value for name, value in told.items() if name not in ("item", "progress")}
    return msgspec.json.encode(small | {"tooLarge": len(data)})
