"""Whom a worker deals with: the run whose program it runs, and the pool that owns its process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from codemode_runtime import orders
from codemode_runtime.shapes import Lookup

if TYPE_CHECKING:
    from codemode.workers.worker import Worker


class RunDescriptor(Protocol):
    """What a run offers its program. The offer travels with the program; `lookup` answers the rest."""

    @property
    def offer(self) -> orders.Offer: ...
    def lookup(self, kind: Lookup, key: str) -> bytes | None: ...


class WorkerOwner(Protocol):
    def worker_is_ready(self, worker: Worker) -> None: ...
    def worker_is_free(self, worker: Worker, reusable: bool) -> None: ...
    def worker_has_exited(self, worker: Worker, status: int | None) -> None: ...
    def kill_worker(self, worker: Worker) -> None: ...
