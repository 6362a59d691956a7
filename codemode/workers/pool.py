"""The workers of one flavour: keeps some warm before a leg asks, and replaces them off the critical path.

The supervisor bounds how many are leased at once; a pool only makes sure that there is a worker. Each flavour
has its own pool because a confined zygote can load nothing later: TypeScript is in it from the start or
never.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import sys
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path

from codemode_runtime.zygote_wire import Flavour, Setup
from msgspec import Struct, field

from codemode.workers.busy_wait import Processors
from codemode.workers.checks import Checks
from codemode.workers.confinement import Confinement
from codemode.workers.errors import Aborted, RuntimeUnavailable, SupervisorError
from codemode.workers.kept import KeptWorkers, Tenant
from codemode.workers.settings import WorkerSettings
from codemode.workers.worker import Worker
from codemode.workers.zygote import Zygote

# From a lease to the fork that replaces its worker, unless a leg waits for one: longer than most legs take.
# While a leg takes longer and another worker is ready, the pool waits again, up to this many times, because
# forking takes a processor for a while.
_REFILL_SECONDS = 0.02
_REFILL_DELAYS = 10


_SEND_BYTES = 1 << 20
# With workerReuse "session": so that what a broken-into process can gather is bounded in number too.
_SESSION_LEGS = 1000


class Wanted(Struct, eq=False):
    """A leg that waits for a worker: a fresh one, or one of its own tenant's."""

    tenant: Tenant | None
    worker: asyncio.Future[Worker]


class Counters(Struct):
    """Counts over all pools since the supervisor started; `tokens` numbers the workers."""

    spawned: int = 0
    killed: int = 0
    crashed: int = 0
    restarts: int = 0
    tokens: itertools.count[int] = field(default_factory=lambda: itertools.count(1))


class Pool:
    """Starts its zygote at the first demand, and again if the zygote dies. Do not use it after `close`."""

    def __init__(
        self,
        flavour: Flavour,
        settings: WorkerSettings,
        counters: Counters,
        processors: Processors,
        on_release: Callable[[Worker], None],
        checks: Checks | None = None,
        image: Path | None = None,
    ) -> None:
        """`image` is the folder of the guest image, for one that is not our own."""
        self.flavour: Flavour = flavour
        self.zygotes: list[Zygote] = []
        self.ready: deque[Worker] = deque()
        self.kept = KeptWorkers(settings.engine.max_workers)
        self.starting: set[Worker] = set()
        self.confinement = Confinement()
        self.build_id = ""
        self._homes: dict[int, Zygote] = {}  # the zygote of every worker whose process lives, by token
        self._settings = settings
        self._counters = counters
        self._processors = processors
        self._on_release = on_release
        self._checks = checks
        self._image = image
        self._loop = asyncio.get_running_loop()
        self._demand: deque[Wanted] = deque()
        self._target = settings.engine.warm_workers
        self._idle_check: asyncio.TimerHandle | None = None
        self._last_used = self._loop.time()
        self._refill_timer: asyncio.TimerHandle | None = None
        self._refill_delays = 0
        self._lent = 0
        self._is_closed = False
        self._all_ended = asyncio.Event()

    async def take(self, tenant: Tenant | None = None) -> Worker:
        """A fresh worker, or one that has served this tenant alone, or anybody, as `workerReuse` says.

        Raises RuntimeUnavailable if none can be started; cancel to give up waiting.
        """
        by_session = self._settings.engine.worker_reuse == "session"
        tenant = tenant if by_session else None
        self._last_used = self._loop.time()
        self._target = self._settings.engine.warm_workers
        self._watch_idleness()
        while True:
            worker = None if tenant is None else self.kept.take(tenant)
            if worker is None:
                # takes the worker that was busy last: its pages and caches are the warmest
                worker = self.ready.pop() if self.ready else await self._wait_for_one(tenant)
            if worker.is_usable:
                if worker.tenant is None:
                    self._refill_soon()
                worker.lend(tenant, is_last=by_session and tenant is None)
                self._lent += 1
                return worker

    async def wait_ready(self) -> None:
        """Returns when a worker is ready; raises RuntimeUnavailable if none can be started."""
        if not self.ready:
            self._hand_out(await self._wait_for_one())

    async def close(self) -> None:
        """Kills every worker and its zygote, and returns when their processes are gone."""
        self._is_closed = True
        for timer in (self._idle_check, self._refill_timer):
            if timer is not None:
                timer.cancel()
        self._fail_demand(Aborted("the supervisor was closed"))
        for zygote in list(self.zygotes):
            zygote.close()
        if self.zygotes:
            self._all_ended.clear()
            stuck = self._loop.call_later(5.0, self._kill_zygotes)
            await self._all_ended.wait()
            stuck.cancel()

    async def _wait_for_one(self, tenant: Tenant | None = None) -> Worker:
        waiting: asyncio.Future[Worker] = self._loop.create_future()
        self._demand.append(Wanted(tenant, waiting))
        self._refill()
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                self._hand_out(waiting.result())
            raise

    # ---- filling

    def _refill_soon(self) -> None:
        """Waits a moment before it forks: forking would compete with a short leg for the processor."""
        if self._refill_timer is None:
            self._refill_delays = _REFILL_DELAYS
            self._refill_timer = self._loop.call_later(_REFILL_SECONDS, self._refill_if_quiet)

    def _refill_if_quiet(self) -> None:
        if self._lent and self.ready and self._refill_delays:
            self._refill_delays -= 1
            self._refill_timer = self._loop.call_later(_REFILL_SECONDS, self._refill_if_quiet)
        else:
            self._refill()

    def _refill(self) -> None:
        if self._refill_timer is not None:
            self._refill_timer.cancel()
            self._refill_timer = None
        if self._is_closed:
            return
        wanted_now = self._wanted_now()
        for number in range(wanted_now + self._target - len(self.ready)):
            try:
                self._spawn(hurry=number < wanted_now)
            except OSError as error:  # no descriptors left; the next demand tries again
                told = f"a worker cannot be started: {error.strerror or error}"
                self._fail_demand(RuntimeUnavailable(told), keep=self._coming())
                return

    def _wanted_now(self) -> int:
        """How many legs wait for a worker that is not on its way; less than 0 if more are on their way."""
        returning = Counter(worker.tenant for worker in self.starting if worker.tenant is not None)
        unserved = 0
        for wanted in self._demand:
            if wanted.worker.done():
                continue
            if wanted.tenant is not None and returning[wanted.tenant]:
                returning[wanted.tenant] -= 1
            else:
                unserved += 1
        return unserved - self._coming()

    def _coming(self) -> int:
        """Workers on their way that any leg may have."""
        return sum(1 for worker in self.starting if worker.tenant is None)

    def _spawn(self, hurry: bool) -> None:
        zygote = self._zygote()
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            # as much as the system allows: each time it is full, both processes have to be woken for the rest
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
        reuse = self._settings.engine.worker_reuse
        worker = Worker(
            next(self._counters.tokens),
            ours,
            self,
            legs=_SESSION_LEGS if reuse == "session" else reuse,
            grace_ms=self._settings.grace_ms,
            memory_bytes=self._settings.memory_bytes,
            processors=self._processors,
            checks=self._checks,
        )
        self._homes[worker.token] = zygote
        self.starting.add(worker)
        self._counters.spawned += 1
        zygote.spawn(worker, theirs, hurry)

    def _zygote(self) -> Zygote:
        if self._settings.forks and self.zygotes:
            return self.zygotes[-1]
        settings = self._settings
        setup = Setup(
            self.flavour,
            str(settings.cache_folder or ""),
            settings.engine.confinement != "off",
            settings.memory_bytes,
            settings.forks,
        )
        zygote = Zygote(setup, settings.entry, self, self._image)
        self.zygotes.append(zygote)
        return zygote

    def _watch_idleness(self) -> None:
        if self._idle_check is None:
            self._idle_check = self._loop.call_later(self._settings.idle_seconds, self._shrink_if_idle)

    def _shrink_if_idle(self) -> None:
        self._idle_check = None
        if self._loop.time() - self._last_used < self._settings.idle_seconds:
            self._watch_idleness()
            return
        self._target = min(self._settings.idle_warm, self._settings.engine.warm_workers)
        while len(self.ready) > self._target:
            self._retire(self.ready.popleft())
        for worker in self.kept.empty():
            self._retire(worker)
        if self.starting:  # a worker that becomes ready after this would stay for good
            self._watch_idleness()

    # ---- what workers tell

    def worker_is_ready(self, worker: Worker) -> None:
        self.starting.discard(worker)
        home = self._homes[worker.token]
        home.has_served = True
        self.confinement = self.confinement.updated(home.layers, worker.layers)
        if self._settings.engine.confinement == "require" and self.confinement.unmet:
            self._retire(worker)
            lacking = ", ".join(self.confinement.unmet)
            self._fail_demand(RuntimeUnavailable(f"confinement is required and lacks: {lacking}"))
        else:
            self._hand_out(worker)

    def worker_is_free(self, worker: Worker, reusable: bool) -> None:
        self._lent -= 1
        if reusable:
            self.starting.add(worker)
        elif worker.token in self._homes:
            self._homes[worker.token].expect_exit(worker)
        self._on_release(worker)

    def worker_has_exited(self, worker: Worker, status: int | None) -> None:
        del self._homes[worker.token]
        if self._is_closed:
            return
        if status != 0 and not (worker.was_killed or worker.was_dismissed or worker.refusal):
            self._counters.crashed += 1
        self.kept.discard(worker)
        if worker in self.ready:
            self.ready.remove(worker)
            self._refill_soon()
        elif worker in self.starting:
            self.starting.remove(worker)
            if status is not None:  # if None, its zygote ended: zygote_has_ended deals with that
                # not replaced until the next demand: the replacement would probably fail in the same way
                told = f"a worker ended with status {status} as it started"
                if worker.refusal:
                    told = f"the system refused a process for a worker: {worker.refusal}"
                self._fail_demand(RuntimeUnavailable(told), keep=self._coming())

    def kill_worker(self, worker: Worker) -> None:
        if worker.token in self._homes:
            if worker.was_killed:
                self._counters.killed += 1
            self._homes[worker.token].kill(worker)

    # ---- what zygotes tell

    def zygote_is_compiling(self, zygote: Zygote) -> None:  # noqa: ARG002 - the protocol's shape
        if sys.stderr is not None and sys.stderr.isatty():
            print("codemode: compiling the guest for this machine (once) ...", file=sys.stderr)

    def zygote_is_ready(self, zygote: Zygote) -> None:
        self.build_id = zygote.build_id

    def zygote_has_ended(self, zygote: Zygote, reason: str) -> None:
        self.zygotes.remove(zygote)
        if not self.zygotes:
            self._all_ended.set()
        if self._is_closed:
            return
        if not zygote.has_served:
            self._fail_demand(RuntimeUnavailable(f"the worker runtime did not start: {reason}"))
        elif zygote.forks:
            self._counters.restarts += 1
            self._refill()

    # ---- helpers

    def _hand_out(self, worker: Worker) -> None:
        """Gives the worker to the leg that has waited longest and may have it, else keeps it."""
        for wanted in list(self._demand):
            if wanted.worker.done():
                self._demand.remove(wanted)
            elif worker.tenant is None or worker.tenant == wanted.tenant:
                self._demand.remove(wanted)
                wanted.worker.set_result(worker)
                return
        if worker.tenant is not None:
            put_out = self.kept.put(worker, worker.tenant)
            if put_out is not None:
                self._retire(put_out)
            return
        # one that was asked for in a hurry and is not needed any more; reused ones are kept until it is quiet
        if self._settings.engine.worker_reuse in (1, "session") and len(self.ready) >= self._target:
            self._retire(worker)
        else:
            self.ready.append(worker)

    def _retire(self, worker: Worker) -> None:
        worker.retire()
        self._homes[worker.token].expect_exit(worker)

    def _fail_demand(self, error: SupervisorError, keep: int = 0) -> None:
        """Fails the waiting legs, except the `keep` oldest: a worker is on its way for each of those."""
        waiting = [wanted for wanted in self._demand if not wanted.worker.done()]
        self._demand = deque(waiting[:keep])
        for wanted in waiting[keep:]:
            wanted.worker.set_exception(error)

    def _kill_zygotes(self) -> None:
        for zygote in self.zygotes:
            zygote.kill_process()
