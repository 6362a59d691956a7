"""Carries out approvals and refusals from outside, also for runs that a dead engine left.

A decision once begun is carried out even if its caller is cancelled: half a decision would lose its call. And
it is carried out once: it is recorded first, and a decision that cannot be recorded is not carried out.
"""

from __future__ import annotations

import asyncio

import msgspec
from codemode_snapshots import NO_VALUE, Recorded, RunScope, StoreFull, StoreUnavailable

from codemode.contract.inputs import InputRefused, read_scope, read_wait
from codemode.contract.results import Failed
from codemode.executor import Decision
from codemode.runs.adopt import Adopter
from codemode.runs.in_flight import Work
from codemode.runs.known_runs import KnownRuns
from codemode.runs.leg import Services
from codemode.runs.run import Run


class Approvals:
    """Carries out approvals; one per engine."""

    def __init__(self, runs: KnownRuns, adopter: Adopter, services: Services) -> None:
        self._runs = runs
        self._adopter = adopter
        self._stored = services.stored
        self._work = services.work
        self._under_way: set[asyncio.Task[bool]] = set()

    async def decide(
        self, run_id: str, approval_id: str, decision: Decision, caller: tuple[str, str, str]
    ) -> bool:
        """False if no call of this caller (agent, session, agent run) asks for this approval now.

        Raises StoreUnavailable; the call is then undecided, as it was.
        """
        try:
            scope, known_id = read_scope(*caller, NO_VALUE), read_wait(run_id)
        except InputRefused:
            return False
        if self._runs.is_closed:
            return False
        deciding = asyncio.create_task(self._decide(known_id, approval_id, decision, scope))
        self._under_way.add(deciding)
        deciding.add_done_callback(self._under_way.discard)
        return await asyncio.shield(deciding)

    def is_open(self, run_id: str, approval_id: str) -> bool:
        """Whether a run of this engine still asks for it."""
        run = self._runs.get(run_id)
        return run is not None and run.in_flight.asking(approval_id) is not None

    async def settle(self) -> None:
        """Returns when no decision is under way; a closing engine waits for that."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def _decide(self, run_id: str, approval_id: str, decision: Decision, caller: RunScope) -> bool:
        try:
            run = await self._runs.look_up(run_id, caller)
        except InputRefused:
            return False
        if isinstance(run, Failed):
            return False
        if run.adoption is not None and (refused := await self._adopter.adopt(run)) is not None:
            if run.caller_task is None:
                self._runs.drop(run)
            if refused.code == "internal_error":
                raise StoreUnavailable(refused.error)
            return False
        work = run.in_flight.asking(approval_id)
        return False if work is None else await self._carry_out(run, work, decision)

    async def _carry_out(self, run: Run, work: Work, decision: Decision) -> bool:
        """Records the decision first, so that after a crash no engine asks again or repeats what may have
        been done. If the store refuses the record, another engine has ended the run."""
        approval = work.take_approval()
        if approval is None:
            return False
        if self._stored.is_durable and run.is_suspended:
            payload = msgspec.json.encode(decision)
            is_recorded = False
            try:
                recorded = Recorded(run.next_seq(), "decision", approval.id, payload)
                is_recorded = await self._stored.record(run.id, recorded)
            except StoreFull as error:
                raise StoreUnavailable(f"the decision could not be recorded: {error}") from error
            finally:
                if not is_recorded:
                    work.ask(approval)  # it is undecided again
            if not is_recorded:
                return False
        if work.id not in run.in_flight.pending:
            return False  # the run ended meanwhile
        self._work.decide(run, work, approval, decision)
        return True
