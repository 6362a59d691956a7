"""Workers that have served a leg and wait for another one of the same tenant, and of nobody else.

A `Tenant` is an agent, a session and the tools of its runs: with another one's programs a process that was
broken into could read what it may not, and call what it may not. Pure: the pool ends what is put out.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from codemode.workers.worker import Worker


class Tenant(Struct, frozen=True):
    """Whose legs a worker may serve. `tools` is compared by identity: runs with tools of their own share no
    worker, nor do runs for which a policy has changed what they may call."""

    agent: str
    session: str
    tools: object

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tenant)
            and self.agent == other.agent
            and self.session == other.session
            and self.tools is other.tools
        )

    def __hash__(self) -> int:
        return hash((self.agent, self.session, id(self.tools)))


# A worker may compute for 600 s before the kernel ends it (confine.c). One that was lent for so long serves
# no further leg, so that the longest of them, a minute, never meets that limit.
_SERVES_SECONDS = 120.0


class Service:
    """How many legs a worker may still serve."""

    __slots__ = ("_began", "_left", "_lent")

    def __init__(self, legs: int) -> None:
        self._left = legs
        self._began = self._lent = 0.0

    def begin(self, now: float, is_last: bool) -> None:
        self._began = now
        self._left = 0 if is_last else self._left - 1

    def end(self, now: float) -> bool:
        """Whether it may serve another one."""
        self._lent += now - self._began
        return self._left > 0 and self._lent < _SERVES_SECONDS


class KeptWorkers:
    """At most `most` of them; of too many, the one that was not used for longest is put out."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._workers: dict[Worker, None] = {}  # the one that was used last comes last
        self._of: dict[Tenant, deque[Worker]] = {}

    def __len__(self) -> int:
        return len(self._workers)

    def put(self, worker: Worker, tenant: Tenant) -> Worker | None:
        """Returns the one that has to end for it."""
        self._workers[worker] = None
        self._of.setdefault(tenant, deque()).append(worker)
        if len(self._workers) <= self._most:
            return None
        oldest = next(iter(self._workers))
        self.discard(oldest)
        return oldest

    def take(self, tenant: Tenant) -> Worker | None:
        """The one that was used last: its pages and caches are the warmest."""
        found = self._of.get(tenant)
        if found is None:
            return None
        worker = found[-1]
        self.discard(worker)
        return worker

    def discard(self, worker: Worker) -> None:
        if worker not in self._workers:
            return
        del self._workers[worker]
        tenant = worker.tenant
        assert tenant is not None, "kept without a tenant"
        self._of[tenant].remove(worker)
        if not self._of[tenant]:
            del self._of[tenant]

    def empty(self) -> list[Worker]:
        """Puts all of them out."""
        workers = list(self._workers)
        self._workers.clear()
        self._of.clear()
        return workers
