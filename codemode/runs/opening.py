"""How a leg begins, and what it may do. The same for exec, wait and Tool Search.

An `Opening` makes the worker compute: `Start` with a program, resume.py's `Resume` with a snapshot. A
`LegPolicy` says what happens when a program would have to wait longer than its leg.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from codemode_runtime import wire
from msgspec import Struct

from codemode.contract.explained import Explained
from codemode.contract.results import CodeModeResult, Failed
from codemode.contract.scope import UNSAID
from codemode.runs.run import Run
from codemode.workers.kept import Tenant
from codemode.workers.worker import Worker

if TYPE_CHECKING:
    from codemode.runs.leg import Leg


class LegPolicy(Struct, frozen=True):
    """exec and wait use the default. A leg that may not suspend fails when its budget is spent;
    `tell_timeout` (run, budget in ms) then writes the error's text."""

    may_suspend: bool = True
    tell_timeout: Callable[[Run, int], str] | None = None


class Opening(Protocol):
    """Begins one leg; used once."""

    async def lease(self, leg: Leg) -> Worker:
        """Waits for a worker. Raises SupervisorError."""
        ...

    async def no_worker(self, leg: Leg, why: Explained) -> Failed:
        """The leg's result when there is no worker: nothing has begun."""
        ...

    async def begin(self, leg: Leg, worker: Worker, queue_us: int) -> wire.Outcome | CodeModeResult:
        """Has the worker compute until its guest is idle or has ended. Raises SupervisorError.

        If it returns a result, that is the leg's: the run could not go on, and the worker did nothing.
        """
        ...


def tenant_of(run: Run) -> Tenant | None:
    """Whose legs a worker may serve beside this run's, if workers are used again within a session.

    Nobody's for callers who name no session, because they may be anybody, and for a run of another engine's,
    because its tools are only known when it is opened.
    """
    scope = run.scope
    if scope.session == UNSAID.session or run.is_adoptable:
        return None
    return Tenant(scope.agent, scope.session, run.environment.catalog)


class Start:
    """Begins the first leg: starts the run's program in a fresh guest."""

    def __init__(self, budget_ms: int) -> None:
        self._budget_ms = budget_ms

    async def lease(self, leg: Leg) -> Worker:
        run = leg.run
        return await leg.services.supervisor.lease(
            session=run.scope.session, flavour=run.active.language, tenant=tenant_of(run)
        )

    async def no_worker(self, leg: Leg, why: Explained) -> Failed:
        return await leg.fail(why)

    async def begin(self, leg: Leg, worker: Worker, queue_us: int) -> wire.Outcome:
        run = leg.run
        leg.services.recorder.leased(run, worker.pid, queue_us)
        leg.set_budget(self._budget_ms)  # queueing and cold start do not count
        worker.record(run.active.tape)
        active = run.active
        return await worker.start(
            active.program,
            active.language,
            leg.limits,
            self._budget_ms,
            run.environment,
            leg.late_ms,
            None if active.world is None else active.world.delta,
        )
