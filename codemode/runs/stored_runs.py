"""Keeps suspended runs: seals, stores, claims and expires them. The engine's only way to a store.

A suspended run is its delta and its own state, sealed together under the run's scope and the engine build.
SQLite and stores of a host's own are called in one thread, so that the event loop never waits for a disk or a
network; the in-memory store is called directly.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import codemode_snapshots as envelopes
from codemode_runtime.frames import Data
from codemode_snapshots import (
    Claim,
    Claimed,
    EnvelopeRefused,
    Label,
    MemoryStore,
    NotClaimed,
    Owner,
    Recorded,
    RunMeta,
    RunScope,
    Snapshot,
    SnapshotStore,
    StoreFull,
    StoreLimits,
    StoreUnavailable,
    Tombstone,
    is_alive,
    load_or_create_key,
    new_key,
    new_owner,
    seal,
    seal_settlement,
    unseal,
    unseal_settlement,
)
from codemode_snapshots.store import Ending

from codemode import clock
from codemode.config import CodeModeConfig, EngineSettings
from codemode.config.store_argument import StoreArgument, is_durable, read_store
from codemode.contract.scope import UNSAID
from codemode.runs.foreign_store import guarded
from codemode.runs.frozen import Memory, pack_state, read_memory
from codemode.tools.threads import call_in_thread

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_log = logging.getLogger("codemode.engine")
T = TypeVar("T")
_LARGE_BYTES = 4 << 20  # a few milliseconds to hash
_open_here: set[str] = set()  # engine ids of this process; it may live on after its engine closed
# These reasons lie with this engine: one with another key, build or limit can resume the run.
_STAYS = ("wrong_key", "wrong_build", "wrong_version", "too_large")


class ClaimedRun:
    """A claimed run: what it needs to go on. Until `save`, `release` or `end` no other engine can have it."""

    __slots__ = ("claim", "delta", "expires_at_ms", "settlements", "state")

    def __init__(
        self,
        claim: Claim,
        state: bytes,
        delta: Data,
        settlements: Sequence[Recorded],
        expires_at_ms: int,
    ) -> None:
        self.claim = claim
        self.expires_at_ms = expires_at_ms
        self.state = state
        self.delta = delta
        self.settlements = settlements


def store_limits(config: CodeModeConfig, settings: EngineSettings) -> StoreLimits:
    return StoreLimits(
        max_snapshot_bytes=config.max_snapshot_bytes,
        max_snapshots=settings.max_suspended_runs,
        max_total_bytes=settings.max_store_bytes,
    )


class StoredRuns:
    """One engine's suspended runs: in memory, in a file that outlives it, or in a store of the host's own.

    A store of the host's own has its own limits, and the engine does not close it.
    """

    def __init__(
        self,
        store: StoreArgument,
        limits: StoreLimits,
        key: bytes | None = None,
        per_session: int | None = None,
    ) -> None:
        self._place = read_store(store)
        self._limits = limits
        self._key = key or b""
        self._per_session = limits.max_snapshots if per_session is None else per_session
        self._kept: dict[str, str] = {}  # runs that this engine suspended, and their sessions
        self._store: SnapshotStore | None = None
        self._thread: ThreadPoolExecutor | None = None
        self.owner: Owner = new_owner()

    @property
    def is_durable(self) -> bool:
        if self._place is None:
            return False
        return isinstance(self._place, Path) or is_durable(self._place)

    async def open(self) -> list[Tombstone]:
        """Opens the store; answers the runs that a dead engine had been resuming. Raises StoreUnavailable."""
        if self._place is None:
            self._key = self._key or new_key()
            self._store = MemoryStore(self._limits)
            return []
        from concurrent.futures import ThreadPoolExecutor  # the store in memory needs no thread

        self._thread = ThreadPoolExecutor(1, thread_name_prefix="codemode-store")
        try:
            await self._in_thread(self._open_place, self._place)
            _open_here.add(self.owner.engine_id)
            return await self.recover()
        except BaseException:
            await self.close()
            raise

    def _open_place(self, place: Path | SnapshotStore) -> None:
        """In the thread: done also for a caller who is cancelled, and then `_close_store` finds it."""
        if not isinstance(place, Path):
            self._key = self._key or new_key()
            self._store = guarded(place)
            return
        # sqlite3 is only loaded by engines that keep runs in a file
        from codemode_snapshots.sqlite import SqliteStore

        self._key = self._key or load_or_create_key(place.with_name(place.name + ".key"))
        self._store = SqliteStore(place, self._limits)

    def _close_store(self) -> None:
        store, self._store = self._store, None
        if store is None:
            return
        if not self.is_durable and self._place is not None:  # the host's memory: no engine can resume them
            for run_id in store.ids_of(self.owner):
                store.delete(run_id, now_ms=clock.wall_ms())
        store.close()

    async def close(self) -> None:
        _open_here.discard(self.owner.engine_id)
        if self._thread is None:
            self._close_store()
            return
        try:
            await self._in_thread(self._close_store)
        finally:
            thread, self._thread = self._thread, None
            thread.shutdown(wait=True)

    async def give_up(self) -> None:
        """Gives up this engine's suspended runs: any other engine may resume them, even while this process
        lives on."""
        if self.is_durable and self._store is not None:
            await self._call(lambda store: store.disown(self.owner))

    async def save(
        self,
        build_id: str,
        run_id: str,
        scope: RunScope,
        ttl_ms: int,
        state: bytes,
        delta: Data,
        claim: Claim | None,
    ) -> tuple[int, int]:
        """Returns the stored size and when it expires. Raises StoreFull, NotHeld, StoreUnavailable."""
        now = clock.wall_ms()
        label = Label(build_id, run_id, scope, now, now + ttl_ms)
        sealing = partial(seal, self._key, label, state=await pack_state(state), delta=delta)
        envelope = await _off_loop(len(delta), "seal", sealing)
        self._check_share(run_id, scope.session)
        await self._call(lambda store: store.save(Snapshot(label, envelope), self.owner, claim=claim))
        self._kept[run_id] = scope.session
        return len(envelope), label.expires_at_ms

    def _check_share(self, run_id: str, session: str) -> None:
        """Raises StoreFull if the session has its share of suspended runs, as far as this engine knows."""
        most = self._limits.max_snapshots
        if session == UNSAID.session or run_id in self._kept or most <= self._per_session:
            return
        held = sum(1 for other in self._kept.values() if other == session)
        if held >= self._per_session:
            raise StoreFull("snapshots", self._per_session, held + 1)

    async def find(self, run_id: str) -> RunMeta | Tombstone | None:
        """None if the store is closed, as `runs` then returns nothing: the caller came too late."""
        if self._store is None:
            return None
        return await self._call(lambda store: store.lookup(run_id))

    async def runs(self, session: str | None = None) -> list[RunMeta]:
        if self._store is None:
            return []
        return await self._call(lambda store: store.list_runs(session=session))

    def is_held(self, meta: RunMeta) -> bool:
        """Another engine suspended the run and is alive: the calls run there, and only it can resume it."""
        return meta.saved_by.engine_id != self.owner.engine_id and _is_open(meta.saved_by)

    async def claim(
        self, build_id: str, run_id: str, scope: RunScope, *, saved_by: Owner | None = None
    ) -> ClaimedRun | NotClaimed:
        """Claims the run, so that no other engine can; with `saved_by` only if that engine still owns it.

        Raises EnvelopeRefused; the run is then gone, unless another engine can open it.
        """
        store = self._opened_store()
        if self._thread is None:
            claimed = store.claim(run_id, self.owner, now_ms=clock.wall_ms(), saved_by=saved_by)
        else:
            claimed = await self._take(store, run_id, saved_by)
        if isinstance(claimed, NotClaimed):
            return claimed
        try:
            opened = await self._unseal(build_id, run_id, scope, claimed.snapshot.envelope)
            settled = [unseal_settlement(self._key, run_id, s) for s in claimed.settlements]
        except EnvelopeRefused as refused:
            if refused.reason in _STAYS:
                await self.release(claimed.claim)
            else:
                await self.end(run_id, leave="expired" if refused.reason == "expired" else None)
            raise
        return ClaimedRun(claimed.claim, opened.state, opened.delta, settled, opened.expires_at_ms)

    async def _take(self, store: SnapshotStore, run_id: str, saved_by: Owner | None) -> Claimed | NotClaimed:
        claiming = self._in_thread(
            lambda: store.claim(run_id, self.owner, now_ms=clock.wall_ms(), saved_by=saved_by)
        )
        taking = asyncio.ensure_future(claiming)
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            # the store goes on in its thread; a claim that no caller gets must be released
            if not isinstance(late := await taking, NotClaimed):
                await self.release(late.claim)
            raise

    async def peek(self, run_id: str, scope: RunScope) -> Memory | None:
        """The stored state of a run, of any build and expired or not, without a claim; None if unreadable."""
        found = await self._call(lambda store: store.peek(run_id))
        if found is None:
            return None
        try:
            opened = await self._unseal(found.label.build_id, run_id, scope, found.envelope, at_ms=0)
        except EnvelopeRefused:
            return None
        return await _off_loop(len(opened.state), "unpack", partial(read_memory, opened.state))

    async def recover(self) -> list[Tombstone]:
        """Ends the runs that a dead engine was resuming: what they did meanwhile cannot be known."""
        if self._thread is None:
            return []
        return await self._call(lambda store: store.recover(clock.wall_ms(), _is_open))

    async def own_runs(self) -> set[str] | None:
        """The ids of this engine's runs that are still in the store; None if no other engine can end one."""
        if self._thread is None or self._store is None:
            return None
        found = await self._call(lambda store: store.ids_of(self.owner))
        for run_id in self._kept.keys() - found:  # another engine has them, or ended them
            del self._kept[run_id]
        return found

    async def release(self, claim: Claim) -> None:
        await self._call(lambda store: store.release(claim))

    async def record(self, run_id: str, settlement: Recorded) -> bool:
        """Stores what settled while its run is suspended; False if nothing was written."""
        sealed = seal_settlement(self._key, run_id, settlement)
        return await self._call(lambda store: store.record_settlement(run_id, sealed))

    async def end(self, run_id: str, *, leave: Ending | None) -> bool:
        """Deletes the run. With `leave` the store tells its scope for a while how it ended."""
        self._kept.pop(run_id, None)
        return await self._call(lambda store: store.delete(run_id, now_ms=clock.wall_ms(), leave=leave))

    def drop(self, run_id: str) -> None:
        """Deletes a claimed run without waiting for the disk: the claim keeps others away until then, and
        later requests to the store are carried out after this one."""
        self._kept.pop(run_id, None)
        store = self._opened_store()
        if self._thread is None:
            store.delete(run_id, now_ms=clock.wall_ms())
        else:
            self._thread.submit(store.delete, run_id, now_ms=clock.wall_ms()).add_done_callback(
                lambda done: _tell_failure(run_id, done.exception())
            )

    async def expire(self) -> list[Tombstone]:
        gone = await self._call(lambda store: store.expire(clock.wall_ms()))
        for stone in gone:
            self._kept.pop(stone.run_id, None)
        return gone

    async def totals(self) -> tuple[int, int]:
        found = await self._call(lambda store: store.totals())
        return found.snapshots, found.total_bytes

    async def _unseal(
        self, build_id: str, run_id: str, scope: RunScope, envelope: bytes, at_ms: int | None = None
    ) -> envelopes.Opened:
        unsealing = partial(
            unseal,
            self._key,
            envelope,
            build_id=build_id,
            run_id=run_id,
            scope=scope,
            now_ms=clock.wall_ms() if at_ms is None else at_ms,
            max_bytes=self._limits.max_snapshot_bytes,
        )
        return await _off_loop(len(envelope), "unseal", unsealing)

    def _opened_store(self) -> SnapshotStore:
        if self._store is None:
            raise StoreUnavailable("the store is closed; an engine is used between its start and its close")
        return self._store

    async def _call(self, action: Callable[[SnapshotStore], T]) -> T:
        store = self._opened_store()
        if self._thread is None:
            return action(store)
        return await self._in_thread(action, store)

    async def _in_thread(self, action: Callable[..., T], *given: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, action, *given)


async def _off_loop(size: int, name: str, work: Callable[[], T]) -> T:
    """Does it in a thread where it is large: hashing and compressing let the event loop go on."""
    return work() if size <= _LARGE_BYTES else await call_in_thread(name, work)


def _tell_failure(run_id: str, error: BaseException | None) -> None:
    if error is not None:
        _log.warning("the snapshot of run %s could not be deleted: %s", run_id, error)


def _is_open(owner: Owner) -> bool:
    if (owner.pid, owner.started) == (_SELF.pid, _SELF.started):
        return owner.engine_id in _open_here
    return is_alive(owner)


_SELF = new_owner()
