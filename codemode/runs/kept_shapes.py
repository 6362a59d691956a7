"""Carries what is learned of results between an engine's memory and its store, which may outlive it.

Nothing waits for a write: news are gathered for a second and written together, and once more when the engine
is closed. An agent's shapes are read before its first run or description here, and again for a new session
after a while, because other engines on the store learn too. A store that cannot be used costs what was
learned, and no run.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from functools import partial

import msgspec
from codemode_snapshots import Facts, RunStore, StoreUnavailable

from codemode.catalog.result_shapes import LearnedShape, ResultShapes, Returns
from codemode.runs.stored_runs import StoredRuns

_log = logging.getLogger("codemode.engine")
_GATHER_SECONDS = 1.0
_FRESH_SECONDS = 30.0
_MAX_AGENTS = 1_000

_decoder = msgspec.json.Decoder(LearnedShape)


class KeptShapes:
    """One per engine. With a store of the engine's own it does nothing: that dies with it."""

    def __init__(self, shapes: ResultShapes, stored: StoredRuns) -> None:
        self.shapes = shapes
        self._stored = stored
        self._news: dict[str, set[str]] = {}
        self._read: OrderedDict[str, tuple[float, asyncio.Task[None]]] = OrderedDict()
        self._writing: asyncio.Task[None] | None = None
        if not stored.is_private:
            shapes.tell_news = self._note

    async def for_session(self, agent: str, session: str) -> Returns:
        """What is known of results, as it was when this session was asked for first."""
        is_new = not self.shapes.has_session(agent, session)
        await self.read(agent, not_older=_FRESH_SECONDS if is_new else None)
        return self.shapes.for_session(agent, session)

    async def read(self, agent: str, not_older: float | None = None) -> None:
        """Reads what the store knows of an agent's tools: once, or again if that was so many seconds ago."""
        if self._stored.is_private or not self._stored.is_open:
            return
        at, reading = self._read.get(agent, (0.0, None))
        if reading is None or (not_older is not None and time.monotonic() - at > not_older):
            reading = asyncio.create_task(self._fetch(agent), name="codemode shapes")
            self._read[agent] = time.monotonic(), reading
            if len(self._read) > _MAX_AGENTS:
                self._read.popitem(last=False)
        await asyncio.shield(reading)  # others may wait for it too

    async def close(self) -> None:
        """Writes what is not written yet."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        await self._write()

    def _note(self, agent: str, tool: str) -> None:
        self._news.setdefault(agent, set()).add(tool)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_soon(), name="codemode shapes")

    async def _write_soon(self) -> None:
        await asyncio.sleep(_GATHER_SECONDS)
        await self._write()

    async def _write(self) -> None:
        while self._news and self._stored.is_open:
            agent, tools = self._news.popitem()
            sealed: dict[str, bytes] = {}
            for tool in sorted(tools):
                learned = self.shapes.learned(agent, tool)
                if learned is not None:
                    name, data = _name(tool), msgspec.json.encode(learned)
                    sealed[name] = self._stored.seals.seal_part("fact", (agent, name), data)
            try:
                await self._stored.peek(partial(_put, agent, sealed))
            except StoreUnavailable as error:
                _log.warning("what was learned of %d tools is not kept: %s", len(sealed), error)

    async def _fetch(self, agent: str) -> None:
        try:
            sealed = await self._stored.peek(lambda store: _get(agent, facts_of(store)))
        except StoreUnavailable as error:
            _log.warning("what was learned of tools cannot be read: %s", error)
            return
        for name, data in sealed.items():
            opened = self._stored.seals.open_fact(agent, name, data)
            if opened is not None and (learned := _decoded(opened)) is not None:
                self.shapes.learn(agent, learned)


def facts_of(store: RunStore) -> Facts | None:
    return getattr(store, "facts", None)  # a host's own store may have none


def _get(agent: str, facts: Facts | None) -> dict[str, bytes]:
    return {} if facts is None else facts.get(agent)


def _put(agent: str, sealed: dict[str, bytes], store: RunStore) -> None:
    facts = facts_of(store)
    if facts is not None:
        facts.put(agent, sealed)


def _decoded(data: bytes) -> LearnedShape | None:
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, RecursionError):  # of another version of codemode
        return None


def _name(tool: str) -> str:
    """Names of tools may be of any length, and say what an agent does: a store is shown neither."""
    return hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:32]
