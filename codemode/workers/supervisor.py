"""The supervisor leases isolated workers to legs, within bounds and fairly, and survives their deaths.

It owns every process of the engine. Pools keep workers warm; this module decides which leg gets one next, and
reports the state of them all. It belongs to one event loop and never blocks it.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from codemode_runtime.image import default_cache
from codemode_runtime.wire import LayerReport, Outcome, Refused
from codemode_runtime.zygote_wire import Flavour
from msgspec import Struct

from codemode.config import CodeModeConfig, EngineSettings
from codemode.workers.busy_wait import Processors
from codemode.workers.errors import Aborted, QueueFull
from codemode.workers.fair_queue import FairQueue
from codemode.workers.pool import Counters, Pool, PoolSettings
from codemode.workers.worker import Worker

_CORES = os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class SupervisorSettings:
    """How many workers there may be and what they may take; the defaults are those of an engine."""

    max_workers: int = max(8, 4 * _CORES)  # leased at once; a leg that waits for tools keeps its worker
    warm: int = max(2, _CORES)  # ready before a leg asks, in each flavour in use
    idle_warm: int = 1  # instead of warm, after idle_seconds without a lease
    idle_seconds: float = 60.0
    queue_limit: int = 1000  # legs that may wait for a worker
    worker_reuse: int = 1  # legs per worker; every leg has a fresh guest, but only 1 gives it a fresh process
    memory_bytes: int = 64 << 20  # the largest guest heap a leg may ask for
    grace_ms: int = 300  # from a leg's deadline to killing a worker that does not obey it
    confinement: Literal["auto", "require", "off"] = "auto"
    processes: Literal["auto", "fork", "spawn"] = "auto"
    prewarm: tuple[Flavour, ...] = ()  # flavours to start together with "javascript"
    cache: Path | None = None  # where compiled machine code is kept; by default the user's own
    entry: str = "codemode_runtime.zygote"  # the module a zygote runs; tests pass others

    @classmethod
    def of(cls, config: CodeModeConfig, settings: EngineSettings) -> SupervisorSettings:
        return cls(
            max_workers=settings.max_workers,
            warm=settings.warm_workers,
            queue_limit=settings.queue_limit,
            worker_reuse=settings.worker_reuse,
            memory_bytes=config.memory_limit_bytes,
            confinement=settings.confinement,
        )


def second_opinion(flavour: Flavour, outcome: Outcome) -> Flavour | None:
    """The flavour in which to start a refused program once more, or None.

    OXC parses TypeScript that the parser of the first flavour refuses, but takes seconds to load. So it has a
    flavour of its own, which is started for the first program that needs it.
    """
    refused = isinstance(outcome, Refused) and outcome.code == "typescript_transform_failed"
    return "typescript-oxc" if refused and flavour == "typescript" else None


class ZygoteStats(Struct, frozen=True):
    pid: int | None
    flavour: Flavour
    ready: bool


class SupervisorStats(Struct, frozen=True):
    """Processes and queue as they are now; `spawned`, `killed`, `crashed`, `restarts` since the start.

    `confinement` is the last report of a worker, of the first flavour whose workers reported one.
    """

    zygotes: tuple[ZygoteStats, ...]
    warm: int
    busy: int
    starting: int
    queued: int
    spawned: int
    killed: int
    crashed: int
    restarts: int
    build_id: str
    confinement: tuple[LayerReport, ...]


class Supervisor:
    """`await start()`, then `lease` workers, then `await close()`; or all of it as `async with`."""

    def __init__(self, settings: SupervisorSettings | None = None) -> None:
        self.settings = settings or SupervisorSettings()
        self._counters = Counters()
        self._processors = Processors()
        self._pools: dict[Flavour, Pool] = {}
        self._busy = 0
        self._queue: FairQueue[asyncio.Future[None]] = FairQueue()
        self._leased: set[Worker] = set()
        self._is_closed = False

    async def __aenter__(self) -> Supervisor:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        found = self.stats()
        return (
            f"<Supervisor {found.busy} busy, {found.warm} warm, {found.starting} starting,"
            f" {found.queued} queued, {len(found.zygotes)} zygotes>"
        )

    async def start(self) -> None:
        """Returns when a worker is ready. If it raises RuntimeUnavailable, it leaves nothing behind."""
        try:
            flavours: tuple[Flavour, ...] = ("javascript", *self.settings.prewarm)
            await asyncio.gather(*(self._pool(f).wait_ready() for f in flavours), self._processors.find())
        except BaseException:
            await self.close()
            raise

    async def lease(self, *, session: str = "", flavour: Flavour = "javascript") -> Worker:
        """A worker for one leg, which the caller must release. Cancel to stop waiting for it.

        Raises QueueFull at once if too many legs are waiting, RuntimeUnavailable if no worker can be started.
        The flavour is the program's language; see `second_opinion` for TypeScript that is refused.
        """
        if self._is_closed:
            raise Aborted("the supervisor is closed")
        if self._busy < self.settings.max_workers:
            self._busy += 1
        else:
            await self._queue_up(session)
        try:
            worker = await self._pool(flavour).take()
        except BaseException:
            self._free_slot()
            raise
        self._leased.add(worker)
        return worker

    async def close(self) -> None:
        """Kills all workers and returns when no process is left. Queued and running legs get Aborted."""
        self._is_closed = True
        while self._queue:
            waiting = self._queue.pop()
            if not waiting.done():
                waiting.set_exception(Aborted("the supervisor was closed"))
        for worker in self._leased:
            worker.kill("the supervisor was closed")
        await asyncio.gather(*(pool.close() for pool in self._pools.values()))

    @property
    def build_id(self) -> str:
        """The build id of the guest image that the workers run; empty before the first zygote is ready."""
        for pool in self._pools.values():
            if pool.build_id:
                return pool.build_id
        return ""

    def stats(self) -> SupervisorStats:
        pools = list(self._pools.values())
        return SupervisorStats(
            zygotes=tuple(ZygoteStats(z.pid, z.flavour, z.is_ready) for pool in pools for z in pool.zygotes),
            warm=sum(len(pool.ready) for pool in pools),
            busy=len(self._leased),
            starting=sum(len(pool.starting) for pool in pools),
            queued=len(self._queue),
            spawned=self._counters.spawned,
            killed=self._counters.killed,
            crashed=self._counters.crashed,
            restarts=self._counters.restarts,
            build_id=self.build_id,
            confinement=next((pool.confinement.layers for pool in pools if pool.confinement.layers), ()),
        )

    async def _queue_up(self, session: str) -> None:
        if len(self._queue) >= self.settings.queue_limit:
            raise QueueFull(self.settings.queue_limit)
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.push(session, waiting)
        try:
            await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                self._free_slot()  # the slot was given just as the leg gave up waiting
            else:
                self._queue.discard(session, waiting)
            raise

    def _free_slot(self) -> None:
        while self._queue:
            waiting = self._queue.pop()
            if not waiting.done():
                waiting.set_result(None)  # the slot goes straight to the next leg, never free between
                return
        self._busy -= 1

    def _on_release(self, worker: Worker) -> None:
        self._leased.discard(worker)
        self._free_slot()

    def _pool(self, flavour: Flavour) -> Pool:
        pool = self._pools.get(flavour)
        if pool is None:
            pool = self._pools[flavour] = Pool(
                flavour, self._pool_settings(), self._counters, self._processors, self._on_release
            )
        return pool

    def _pool_settings(self) -> PoolSettings:
        given = self.settings
        return PoolSettings(
            warm=given.warm,
            idle_warm=min(given.idle_warm, given.warm),
            idle_seconds=given.idle_seconds,
            legs=given.worker_reuse,
            grace_ms=given.grace_ms,
            memory_bytes=given.memory_bytes,
            confinement=given.confinement,
            fork=given.processes == "fork" or (given.processes == "auto" and hasattr(os, "fork")),
            cache=given.cache or default_cache(),
            entry=given.entry,
        )
