"""Whom a worker deals with: the run whose program it runs, and the pool that owns its process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from codemode_runtime import orders, wire
from codemode_runtime.shapes import Limits, Lookup, Settlement

if TYPE_CHECKING:
    from codemode.workers.worker import Worker


class RunDescriptor(Protocol):
    """What a run offers its program. The offer travels with the program; `lookup` answers the rest."""

    @property
    def offer(self) -> orders.Offer: ...
    def lookup(self, kind: Lookup, key: str) -> bytes | None: ...


class TapeSink(Protocol):
    """Writes down what a worker is asked and answers, so that it can be asked the same again."""

    def opened(
        self,
        order: Literal["start", "resume"],
        settled: Sequence[Settlement],
        limits: Limits,
        offer: orders.Offer,
        /,
    ) -> None: ...
    def delivered(self, settled: Sequence[Settlement], /) -> None: ...
    def looked_up(self, kind: Lookup, key: str, found: bytes | None, /) -> None: ...
    def answered(self, outcome: wire.Outcome, /) -> None: ...
    def captured(self, message: wire.Captured, /) -> None: ...


class _Unheard:
    def opened(self, *_: object) -> None: ...
    def delivered(self, *_: object) -> None: ...
    def looked_up(self, *_: object) -> None: ...
    def answered(self, *_: object) -> None: ...
    def captured(self, *_: object) -> None: ...


UNHEARD: TapeSink = _Unheard()  # for runs that nobody writes down


class WorkerOwner(Protocol):
    def worker_is_ready(self, worker: Worker) -> None: ...
    def worker_is_free(self, worker: Worker, reusable: bool) -> None: ...
    def worker_has_exited(self, worker: Worker, status: int | None) -> None: ...
    def kill_worker(self, worker: Worker) -> None: ...
