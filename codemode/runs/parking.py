"""A leg whose program waits lets go of its worker while other legs queue for one.

The idle guest is captured into the host's memory, its worker is freed, and it is restored in another one when
something has settled. Nothing of this is stored, and nothing of it shows in the result but
`telemetry.parked`: the budget, the output and the ledger go on as if the worker had stayed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemode_runtime import wire
from codemode_runtime.frames import Data
from msgspec import Struct
from msgspec.structs import replace

from codemode.contract.explained import Explained
from codemode.contract.results import Failed
from codemode.runs.opening import tenant_of
from codemode.workers.worker import Worker

if TYPE_CHECKING:
    from codemode.runs.leg import Leg


class Parked(Struct, frozen=True):
    """A guest in the host's memory. `output_left` is what its leg may still write."""

    captured: wire.Captured
    delta: Data
    output_left: int


class Unpark:
    """An opening: goes on with a parked guest. Any worker will do: its program is compiled."""

    def __init__(self, parked: Parked) -> None:
        self._parked = parked

    async def lease(self, leg: Leg) -> Worker:
        """The queue is never full for a leg that has begun."""
        run = leg.run
        return await leg.services.supervisor.lease(
            session=run.scope.session, has_begun=True, tenant=tenant_of(run), build=run.build
        )

    async def no_worker(self, leg: Leg, why: Explained) -> Failed:
        return await leg.fail(why)

    async def begin(self, leg: Leg, worker: Worker, queue_us: int) -> wire.Outcome:
        run = leg.run
        left_ms = leg.go_on(queue_us)
        limits = replace(leg.limits, output_bytes=self._parked.output_left)
        settled = run.in_flight.take_settled()
        leg.services.recorder.leased(run, worker.pid, queue_us)
        run.in_flight.give_parked()
        worker.record(run.active.tape)
        worker.send_resume(
            self._parked.delta,
            settled,
            limits,
            max(left_ms, leg.least_ms),
            run.environment,
            leg.late_ms,
        )
        return await worker.outcome()
