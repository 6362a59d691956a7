"""The supervisor leases isolated workers to legs, within bounds and fairly, and survives their deaths.

It owns every process of the engine. Pools keep workers warm; this module decides which leg gets one next, and
reports the state of them all. It belongs to one event loop and never blocks it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from codemode_runtime.zygote_wire import Flavour

from codemode.contract.report import WorkerStats, ZygoteStats
from codemode.contract.scope import UNSAID
from codemode.gate.fair_queue import FairQueue
from codemode.gate.pending import share_of
from codemode.workers.busy_wait import Processors
from codemode.workers.checks import Checks
from codemode.workers.errors import Aborted, QueueFull, RuntimeUnavailable
from codemode.workers.idlers import IdleLeg, Idlers
from codemode.workers.kept import Tenant
from codemode.workers.pool import Counters, Pool
from codemode.workers.settings import WorkerSettings
from codemode.workers.worker import Worker


class Supervisor:
    """`await start()`, then `lease` workers, then `await close()`; or all of it as `async with`."""

    def __init__(self, settings: WorkerSettings | None = None) -> None:
        self.settings = settings or WorkerSettings()
        self._counters = Counters()
        self._processors = Processors()
        self._pools: dict[Flavour, Pool] = {}
        self._images = self.settings.other_images()
        self._other_pools: dict[str, Pool] = {}  # of guests of other builds, by build id
        self._busy = 0
        self._slots: dict[str, int] = {}  # by session
        self._queue: FairQueue[asyncio.Future[None]] = FairQueue()
        self._leased: set[Worker] = set()
        self.idlers = Idlers(self._is_wanted, lambda: len(self._queue))
        self._is_closed = False
        self._checks = Checks(self._take_checker) if self.settings.is_native else None

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

    async def lease(
        self,
        *,
        session: str = "",
        flavour: Flavour = "javascript",
        has_begun: bool = False,
        tenant: Tenant | None = None,
        build: str = "",
    ) -> Worker:
        """A worker for one leg, which the caller must release. Cancel to stop waiting for it.

        `has_begun`: the leg had a worker before and let go of it, so the queue is not too long for it.
        `tenant`: whose legs the worker may have served before, and may serve again, if the settings say so.

        Raises QueueFull at once if too many legs are waiting, RuntimeUnavailable if no worker can be started.
        The flavour is the program's language. `build` is that of a snapshot to be restored, "" for our own.
        """
        if self._is_closed:
            raise Aborted("the supervisor is closed")
        if self._may_have(session):
            self._take_slot(session)
        else:
            await self._queue_up(session, has_begun)
        try:
            if self.settings.is_native and flavour != "javascript":
                await self._pool(flavour).wait_ready()  # what starts it is no part of the leg's time
            pool = self._pool("javascript" if self.settings.is_native else flavour)
            if build not in ("", self.build_id):
                pool = self._pool_of(build)
            worker = await pool.take(tenant)
        except BaseException:
            self._free_slot(session)
            raise
        worker.session = session
        self._leased.add(worker)
        return worker

    async def close(self) -> None:
        """Kills all workers and returns when no process is left. Queued and running legs get Aborted."""
        self._is_closed = True
        self.idlers.close()
        while self._queue:
            waiting = self._queue.pop()
            if not waiting.done():
                waiting.set_exception(Aborted("the supervisor was closed"))
        for worker in self._leased:
            worker.kill("the supervisor was closed")
        await asyncio.gather(*(pool.close() for pool in self._all_pools()))

    @property
    def build_id(self) -> str:
        """The build id of the guest image that the workers run; empty before the first zygote is ready."""
        for pool in self._pools.values():
            if pool.build_id:
                return pool.build_id
        return ""

    @property
    def builds(self) -> tuple[str, ...]:
        """The builds whose snapshots can be restored here: our own and those whose image is at hand."""
        return (self.build_id, *self._images) if self.build_id else ()

    def stats(self) -> WorkerStats:
        pools = self._all_pools()
        return WorkerStats(
            zygotes=tuple(ZygoteStats(z.pid, z.flavour, z.is_ready) for pool in pools for z in pool.zygotes),
            warm=sum(len(pool.ready) for pool in pools),
            kept=sum(len(pool.kept) for pool in pools),
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

    def idle(self, worker: Worker, wake: Callable[[], None]) -> IdleLeg:
        """For a leg that only waits: says whether it should let go of its worker, and wakes it then."""
        return IdleLeg(self.idlers, worker.session, wake)

    async def _queue_up(self, session: str, has_begun: bool) -> None:
        limit = self.settings.engine.queue_limit
        if not has_begun:
            if len(self._queue) >= limit:
                raise QueueFull(limit)
            if self._queue.count_of(session) >= self._share_of(limit, session):
                raise QueueFull(self._share_of(limit, session), "of this session")
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.push(session, waiting)
        self.idlers.look()
        try:
            await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                self._free_slot(session)  # the slot was given just as the leg gave up waiting
            else:
                self._queue.discard(session, waiting)
            raise

    def _share_of(self, most: int, session: str) -> int:
        """What this session may have; hosts that name no session share nothing."""
        if session in ("", UNSAID.session):
            return most
        return share_of(most, self.settings.engine.session_share_percent)

    def _may_have(self, session: str) -> bool:
        most = self.settings.engine.max_workers
        return self._busy < most and self._slots.get(session, 0) < self._share_of(most, session)

    def _is_wanted(self, session: str) -> bool:
        """Whether a leg that queues could have the slot of this session."""
        most = self.settings.engine.max_workers
        return any(
            other == session or self._slots.get(other, 0) < self._share_of(most, other)
            for other in self._queue.sessions()
        )

    def _take_slot(self, session: str) -> None:
        self._busy += 1
        self._slots[session] = self._slots.get(session, 0) + 1

    def _free_slot(self, session: str) -> None:
        """The slot goes straight to the next leg whose session may have it, never free between."""
        self._busy -= 1
        self._slots[session] -= 1
        if not self._slots[session]:
            del self._slots[session]
        while (found := self._queue.pop_of(self._may_have)) is not None:
            of_session, waiting = found
            if not waiting.done():
                self._take_slot(of_session)
                waiting.set_result(None)

    def _on_release(self, worker: Worker) -> None:
        self._leased.discard(worker)
        self._free_slot(worker.session)

    def _pool(self, flavour: Flavour) -> Pool:
        pool = self._pools.get(flavour)
        if pool is None:
            common = self._counters, self._processors
            if self.settings.is_native and flavour != "javascript":
                pool = Pool(flavour, self.settings.for_checkers, *common, lambda _: None)
            else:
                pool = Pool(flavour, self.settings, *common, self._on_release, self._checks)
            self._pools[flavour] = pool
        return pool

    def _pool_of(self, build: str) -> Pool:
        """Of the image of another build; nothing of it is kept warm."""
        pool = self._other_pools.get(build)
        if pool is None:
            image = self._images.get(build)
            if image is None:
                raise RuntimeUnavailable(f"the guest image of build {build[:12]} is not here")
            common = self._counters, self._processors
            settings = self.settings.for_other_builds
            pool = Pool("javascript", settings, *common, self._on_release, self._checks, image)
            self._other_pools[build] = pool
        return pool

    def _all_pools(self) -> list[Pool]:
        return [*self._pools.values(), *self._other_pools.values()]

    async def _take_checker(self, flavour: Flavour) -> Worker:
        return await self._pool(flavour).take()
