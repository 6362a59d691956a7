"""Worlds: what the programs of one agent and session declare stays for the next one (`sessionState: "keep"`).

A program enters its session's world before it starts, and has it alone until it ends: one that completes
leaves the world as it is then, any other as it was. A suspended run keeps the world; what else is run in the
session meanwhile works on a copy, or waits (`worldBusy`). The VM side is runtime/shim/engine/world.c.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Literal

from codemode_runtime import wire
from codemode_runtime.frames import Data
from codemode_snapshots import Claim, NotHeld, RunScope, SnapshotError, StoreFull, StoreUnavailable
from msgspec import Struct
from msgspec.structs import replace

from codemode import clock
from codemode.config import CodeModeConfig
from codemode.contract.explained import Explained
from codemode.contract.report import WorldInfo
from codemode.runs.stored_runs import StoredRuns
from codemode.runs.stored_worlds import ClaimedWorld, StoredWorlds, WorldState, scope_of_world
from codemode.workers.supervisor import Supervisor
from codemode.workers.worker import Worker

_log = logging.getLogger("codemode.engine")
_LOOK_S = 0.02  # between two looks at a world that another engine, or a suspended run, has
_LAST_S = 5.0  # for a world that is only looked at by others, when a program has to leave it

UNCHANGED = "The session's variables are as they were before this program."
_COPY = (
    "A suspended run of this session holds its variables: this program had a copy of them as they were"
    " before that run, and what it changed is not kept."
)
_BEGINS_ANEW = {
    "expired": ("The session's earlier variables have expired: it begins with none.",),
    "unreadable": (
        "The session's earlier variables could not be opened by this engine: it begins with none.",
    ),
}
_DROPPED = "This program had a copy of the session's variables: what it changed is not kept."
_GONE = "What this program declared is not kept: the session's variables were reset or replaced meanwhile."
OTHER_BUILD = "What this program declared is not kept: it was begun by another build of the engine."
_NO_ROOM = "What this program declared is not kept: the store has no room for it."
_NOT_WRITTEN = "What this program declared is not kept: the store could not be written."


class World(Struct):
    """The world that a run is in. "copy": what the program changes is dropped at its end.

    `claim` is None while a suspended run holds it: the store says so then. `notes` are for its result.
    """

    mode: Literal["own", "copy"]
    delta: Data = b""
    claim: Claim | None = None
    state: WorldState = WorldState()
    notes: tuple[str, ...] = ()


class Worlds:
    """Gives programs their session's world, one at a time; one per engine."""

    def __init__(self, config: CodeModeConfig, supervisor: Supervisor, stored: StoredRuns) -> None:
        self._config = config
        self._stored = StoredWorlds(stored, config.world_ttl_seconds * 1000)
        self._supervisor = supervisor
        self._turns = _Turns()

    @property
    def is_on(self) -> bool:
        return self._config.session_state == "keep"

    # ---- in and out ----------------------------------------------------------------------------------------

    async def enter(self, run: RunScope) -> World | Explained:
        """Waits for its turn, within timeoutMs, and takes the world. `leave` has to follow."""
        scope, until = scope_of_world(run), asyncio.get_running_loop().time() + self._config.timeout_ms / 1000
        if not await self._turns.take(scope, until):
            return self._busy("another program of this session runs in it")
        is_own = False
        try:
            entered = await self._enter(scope, until)
            is_own = isinstance(entered, World) and entered.mode == "own"
        except StoreUnavailable as error:
            entered = Explained("internal_error", f"The session's variables cannot be read: {error}")
        finally:
            if not is_own:
                self._turns.give(scope)
        return entered

    async def _enter(self, scope: RunScope, until: float) -> World | Explained:
        build_id, loop = self._supervisor.build_id, asyncio.get_running_loop()
        notes: tuple[str, ...] = ()
        if not build_id:
            return Explained("runtime_unavailable", "No worker has started, so nothing can be restored here.")
        while True:
            found = await self._stored.claim(build_id, scope)
            match found:
                case ClaimedWorld(claim, state, delta) if not state.held_by:
                    return World("own", delta, claim, state, notes)
                case ClaimedWorld(claim, state, delta):
                    if not await self._stored.lives(state, scope):
                        return World("own", delta, claim, replace(state, held_by=""), notes)
                    await self._stored.release(claim)
                    if self._config.world_busy == "fork":
                        return World("copy", delta, None, state, (_COPY,))
                    why = f"{state.held_by} is suspended and holds it: wait for that run, or abort it"
                case "busy":
                    why = "a program of this session runs in it, on another engine"
                case _:
                    notes = _BEGINS_ANEW.get(found, notes)
                    try:
                        await self._stored.create(build_id, scope)
                    except StoreFull:
                        return World("copy", b"", None, WorldState(), (_NO_ROOM,))
                    except NotHeld:
                        pass
                    continue
            if loop.time() >= until:
                return self._busy(why)
            await asyncio.sleep(_LOOK_S)

    def _busy(self, why: str) -> Explained:
        waited = self._config.timeout_ms
        return Explained(
            "timeout", f"The session's variables were not free for {waited} ms: {why}. Nothing has run."
        )

    async def leave(self, run: RunScope, world: World) -> None:
        """The program's leg is over. A world that was not kept, and is not held by the run, is as it was."""
        if world.mode == "copy":
            return
        try:
            if (claim := world.claim) is not None:
                world.claim = None
                await self._stored.release(claim)
        except SnapshotError as error:
            _log.warning("a world could not be given back: %s", error)
        finally:
            self._turns.give(scope_of_world(run))

    # ---- what becomes of it --------------------------------------------------------------------------------

    async def keep(self, run_id: str, run: RunScope, world: World, worker: Worker) -> tuple[str, ...]:
        """After the program is done: captures its guest as the session's world. Returns notes."""
        if world.mode == "copy":
            return world.notes or (_DROPPED,)
        most = self._config.max_snapshot_bytes
        captured, delta = await worker.capture(most, at_rest=True)
        if not delta:
            size = f"{captured.bytes:,} bytes, more than maxSnapshotBytes ({most:,})"
            return (
                *world.notes,
                f"The session's variables are as before this program: they would take {size}.",
            )
        return (*world.notes, *await self._save(run_id, run, world, captured, delta))

    async def _save(
        self, run_id: str, run: RunScope, world: World, captured: wire.Captured, delta: Data
    ) -> tuple[str, ...]:
        scope = scope_of_world(run)
        try:
            if world.claim is None and not await self._reclaim(run_id, scope, world):
                return (_GONE,)
            before, claim = world.state, world.claim
            assert claim is not None, "it was just claimed"
            state = WorldState(captured.names, before.began_ms or clock.wall_ms(), before.programs + 1)
            await self._stored.save(self._supervisor.build_id, scope, claim, state, delta)
        except StoreFull:
            await self._give_back(world)
            return (_NO_ROOM,)
        except NotHeld:
            world.claim = None
            return (_GONE,)
        except SnapshotError as error:
            _log.warning("a world could not be kept: %s", error)
            return (_NOT_WRITTEN,)
        world.claim = None
        return ()

    async def _give_back(self, world: World) -> None:
        if (claim := world.claim) is not None:
            world.claim = None
            await self._stored.release(claim)

    async def _reclaim(self, run_id: str, scope: RunScope, world: World) -> bool:
        """For a run that was suspended: takes the world again, if it is still the run's."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _LAST_S
        while True:
            found = await self._stored.claim(self._supervisor.build_id, scope)
            if isinstance(found, ClaimedWorld):
                if found.state.held_by == run_id:
                    world.claim, world.state = found.claim, found.state
                    return True
                await self._stored.release(found.claim)
            if found != "busy" or loop.time() >= until:
                return False
            await asyncio.sleep(_LOOK_S)

    async def hold(self, run_id: str, run: RunScope, world: World) -> None:
        """The run is suspended, and stored: the world stays as it is, and is the run's until that ends."""
        if (claim := world.claim) is None or world.mode == "copy":
            return
        state = replace(world.state, held_by=run_id, holder_agent_run=run.agent_run)
        try:
            scope = scope_of_world(run)
            await self._stored.save(self._supervisor.build_id, scope, claim, state, world.delta)
            world.claim = None
        except SnapshotError as error:
            _log.warning("run %s will not keep what it declares: %s", run_id, error)

    async def fork(self, owner: RunScope, into: str) -> bool | None:
        """Copies the session's world into another session; False if that has one, None if there is none.
        Raises StoreFull and StoreUnavailable."""
        scope, loop, build_id = scope_of_world(owner), asyncio.get_running_loop(), self._supervisor.build_id
        until = loop.time() + self._config.timeout_ms / 1000
        found = await self._stored.claim(build_id, scope)
        while found == "busy" and loop.time() < until:
            await asyncio.sleep(_LOOK_S)
            found = await self._stored.claim(build_id, scope)
        if not isinstance(found, ClaimedWorld):
            return None
        try:
            target = replace(scope, session=into)
            if await self._stored.look(target) is not None:
                return False
            state = replace(found.state, held_by="", began_ms=clock.wall_ms())
            return await self._stored.create(build_id, target, state, found.delta)
        finally:
            await self._stored.release(found.claim)

    # ---- for hosts -----------------------------------------------------------------------------------------

    async def reset(self, owner: RunScope) -> bool:
        return await self._stored.end(scope_of_world(owner))

    async def look(self, owner: RunScope) -> WorldInfo | None:
        found = await self._stored.look(scope_of_world(owner))
        if found is None:
            return None
        label, state = found.label, found.state
        return WorldInfo(
            agent=owner.agent,
            session=owner.session,
            names=dict(state.names),
            bytes=found.size_bytes,
            ageMs=max(0, clock.wall_ms() - state.began_ms),
            programs=state.programs,
            savedAtMs=label.created_at_ms,
            expiresAtMs=label.expires_at_ms,
            heldBy=state.held_by or None,
        )


class _Turns:
    """Who of this engine may go for a session's world: one at a time, in the order in which they came."""

    def __init__(self) -> None:
        self._locks: dict[RunScope, tuple[asyncio.Lock, int]] = {}

    async def take(self, scope: RunScope, until: float) -> bool:
        lock, users = self._locks.get(scope) or (asyncio.Lock(), 0)
        self._locks[scope] = lock, users + 1
        try:
            async with asyncio.timeout_at(until):
                await lock.acquire()
        except TimeoutError:
            self._forget(scope)
            return False
        except asyncio.CancelledError:
            self._forget(scope)
            raise
        return True

    def give(self, scope: RunScope) -> None:
        self._locks[scope][0].release()
        self._forget(scope)

    def _forget(self, scope: RunScope) -> None:
        lock, users = self._locks[scope]
        if users == 1:
            del self._locks[scope]
        else:
            self._locks[scope] = lock, users - 1
