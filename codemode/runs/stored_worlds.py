"""Worlds in the store: a world is kept as a suspended run is, under a scope that no caller can have.

So it is sealed, bound to its agent, its session and the build, counted and expired like a run, in every store
that keeps runs; a claim gives it to one program at a time, of whichever engine, and the claim of an engine
that died lapses, which leaves the world as it was. Only this module knows how a world lies in the store.
"""

from __future__ import annotations

import secrets
import zlib
from typing import Literal

import msgspec
from codemode_runtime.frames import Data
from codemode_snapshots import (
    NO_VALUE,
    Claim,
    EnvelopeRefused,
    Label,
    NotClaimed,
    RunScope,
    View,
)

from codemode import clock
from codemode.contract.scope import WORLD
from codemode.runs.claimed_run import ClaimedRun
from codemode.runs.stored_runs import StoredRuns


class WorldState(msgspec.Struct, array_like=True, frozen=True):
    """What is known of a world beside its delta; new fields go at the end, with a default.

    `held_by` is the suspended run that goes on in it, with that run's agent run.
    """

    names: tuple[tuple[str, str], ...] = ()  # of what was declared, with the type of each value
    began_ms: int = 0
    programs: int = 0
    held_by: str = ""
    holder_agent_run: str = NO_VALUE


class ClaimedWorld(msgspec.Struct, frozen=True):
    """Until it is saved or released nobody else has it. `delta` is empty before the first program's end."""

    claim: Claim
    state: WorldState
    delta: Data


class FoundWorld(msgspec.Struct, frozen=True):
    """A world to look at."""

    label: Label
    state: WorldState
    size_bytes: int


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(WorldState)


def scope_of_world(run: RunScope) -> RunScope:
    return RunScope(run.agent, run.session, WORLD, NO_VALUE)


class StoredWorlds:
    """The worlds of one store; one per engine."""

    def __init__(self, stored: StoredRuns, ttl_ms: int) -> None:
        self._stored = stored
        self._ttl_ms = ttl_ms

    async def claim(
        self, build_id: str, scope: RunScope
    ) -> ClaimedWorld | Literal["none", "busy", "expired", "unreadable"]:
        """Takes the session's world. One that is past its time, or cannot be opened here, is forgotten."""
        for world_id in await self._ids(scope):
            try:
                found = await self._stored.claim((build_id,), world_id, scope)
            except EnvelopeRefused:
                await self._stored.end(world_id, scope, "aborted", is_kept=False)
                return "unreadable"
            if isinstance(found, ClaimedRun):
                state = _read(found.state)
                if state is not None:
                    return ClaimedWorld(found.claim, state, found.delta)
                await self._stored.end(world_id, scope, "aborted", is_kept=False)
                return "unreadable"
            if isinstance(found, NotClaimed) and found.why != "wrong_build":
                if found.why == "busy":
                    return "busy"
                continue  # it was ended meanwhile
            await self._stored.end(world_id, scope, "aborted", is_kept=False)
            return "unreadable" if isinstance(found, NotClaimed) else "expired"
        return "none"

    async def _ids(self, scope: RunScope) -> list[str]:
        listed = await self._stored.listed(scope.agent, scope.session)
        return [one.label.run_id for one in listed if one.label.scope.agent_run == WORLD]

    async def create(
        self, build_id: str, scope: RunScope, state: WorldState | None = None, delta: Data = b""
    ) -> bool:
        """Makes a world for a session that has none, empty or a copy. Of two engines that do so at once one
        does, or neither: False then, and the session may have one. Raises StoreFull."""
        world_id = "world_" + secrets.token_urlsafe(18)
        packed = _encoder.encode(state or WorldState(began_ms=clock.wall_ms()))
        await self._stored.save(build_id, world_id, scope, self._ttl_ms, packed, delta, None)
        if [other for other in await self._ids(scope) if other != world_id]:
            await self._stored.end(world_id, scope, "aborted", is_kept=False)
            return False
        return True

    async def save(
        self, build_id: str, scope: RunScope, claim: Claim, state: WorldState, delta: Data
    ) -> None:
        """Ends the claim. Raises StoreFull, which leaves it, NotHeld and StoreUnavailable."""
        packed = _encoder.encode(state)
        await self._stored.save(build_id, claim.run_id, scope, self._ttl_ms, packed, delta, claim)

    async def release(self, claim: Claim) -> None:
        await self._stored.release(claim)

    async def lives(self, state: WorldState, scope: RunScope) -> bool:
        """Whether the suspended run that holds the world is still there."""
        holder = RunScope(scope.agent, scope.session, state.holder_agent_run, NO_VALUE)
        return isinstance(await self._stored.look(state.held_by, holder), View)

    async def look(self, scope: RunScope) -> FoundWorld | None:
        for world_id in await self._ids(scope):
            view = await self._stored.look(world_id, scope)
            if not isinstance(view, View) or view.state is None:
                continue
            try:
                state = _read(self._stored.seals.open_state(view.label, view.state).state)
            except EnvelopeRefused:
                continue
            if state is not None:
                return FoundWorld(view.label, state, view.size_bytes)
        return None

    async def end(self, scope: RunScope) -> bool:
        """Forgets the session's world, also while a program has it: that one's changes are then not kept."""
        ended = [
            await self._stored.end(world_id, scope, "aborted", is_kept=False)
            for world_id in await self._ids(scope)
        ]
        return any(ended)


def _read(state: bytes) -> WorldState | None:
    try:
        return _decoder.decode(zlib.decompress(state))
    except (msgspec.MsgspecError, zlib.error):
        return None
