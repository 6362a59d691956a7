"""How a leg begins, and what it may do. One way in for exec, wait and Tool Search.

An `Opening` gets the worker going: `Start` with a program, resume.py's `Resume` with a snapshot. A
`LegPolicy` says what happens where a program would have to wait longer than its leg.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from codemode_runtime import wire
from codemode_runtime.zygote_wire import Flavour

from codemode.contract.results import Failed
from codemode.failures import Explained
from codemode.runs.run import Run
from codemode.workers.worker import Worker

if TYPE_CHECKING:
    from codemode.runs.leg import Leg


@dataclass(frozen=True, slots=True)
class LegPolicy:
    """The default is exec's and wait's. A leg that may not suspend gives control back to a program that
    yields, and ends with its budget; `tell_timeout` then says so in its own words (run, budget in ms)."""

    may_suspend: bool = True
    tell_timeout: Callable[[Run, int], str] | None = None


class Opening(Protocol):
    """Used once, by one leg."""

    def flavour_of(self, run: Run) -> Flavour:
        """Which kind of worker it wants."""
        ...

    async def lease(self, leg: Leg, flavour: Flavour) -> Worker:
        """Waits for a worker. Raises SupervisorError."""
        ...

    async def no_worker(self, leg: Leg, why: Explained) -> Failed:
        """There is none, so nothing has begun."""
        ...

    async def begin(self, leg: Leg, worker: Worker, queue_us: int) -> wire.Outcome | Failed:
        """Has the worker compute until its guest is idle or has ended. Raises SupervisorError.

        A Failed is the leg's result: the run could not go on, and the worker has done nothing.
        """
        ...


class Start:
    """The first leg: the run's program, in a fresh guest."""

    def __init__(self, budget_ms: int) -> None:
        self._budget_ms = budget_ms

    def flavour_of(self, run: Run) -> Flavour:
        return run.active.language

    async def lease(self, leg: Leg, flavour: Flavour) -> Worker:
        return await leg.services.supervisor.lease(session=leg.run.scope.session, flavour=flavour)

    async def no_worker(self, leg: Leg, why: Explained) -> Failed:
        return await leg.fail(why)

    async def begin(self, leg: Leg, worker: Worker, queue_us: int) -> wire.Outcome:
        run = leg.run
        leg.services.recorder.leased(run, worker.pid, queue_us)
        leg.set_budget(self._budget_ms)  # queueing and cold start do not count
        active = run.active
        return await worker.start(
            active.program, active.language, leg.limits, self._budget_ms, run.environment
        )
