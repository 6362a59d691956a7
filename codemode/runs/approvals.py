"""Carries out approvals and refusals from outside, whichever engine suspended the run.

A decision once begun is carried out even if its caller is cancelled: half a decision would lose its call. And
it is carried out once: it is stored first, and a decision that cannot be stored is not carried out.
"""

from __future__ import annotations

import asyncio

import msgspec
from codemode_snapshots import NO_VALUE, DecidedElsewhere, RunScope, StoreFull, StoreUnavailable, View

from codemode.contract.inputs import InputRefused, read_scope, read_wait
from codemode.contract.results import Failed
from codemode.executor import Decision
from codemode.runs.adopt import Adopter
from codemode.runs.known_runs import KnownRuns
from codemode.runs.leg import Services
from codemode.runs.phases import RunState
from codemode.runs.run import Run
from codemode.runs.work import Work


class Approvals:
    """Carries out approvals; one per engine."""

    def __init__(self, runs: KnownRuns, adopter: Adopter, services: Services) -> None:
        self._runs = runs
        self._adopter = adopter
        self._stored = services.stored
        self._work = services.work
        self._recorder = services.recorder
        self._supervisor = services.supervisor
        self._under_way: dict[asyncio.Task[bool], str] = {}

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
        self._under_way[deciding] = known_id
        deciding.add_done_callback(self._under_way.pop)
        return await asyncio.shield(deciding)

    def is_open(self, run_id: str, approval_id: str) -> bool:
        """Whether a run of this engine still asks for it."""
        run = self._runs.get(run_id)
        return run is not None and run.in_flight.asking(approval_id) is not None

    async def settle(self, run_id: str | None = None) -> None:
        """Returns when no decision is under way, or none for this run: a wait has to know what was decided,
        and a closing engine waits for all."""
        while own := [task for task, about in self._under_way.items() if run_id in (None, about)]:
            await asyncio.wait(own)

    async def _decide(self, run_id: str, approval_id: str, decision: Decision, caller: RunScope) -> bool:
        try:
            run = await self._runs.look_up(run_id, caller)
        except InputRefused:
            return False
        if not isinstance(run, Run):
            return False
        work = run.in_flight.asking(approval_id)
        if run.state is RunState.RUNNING and (work is None or work.id not in run.in_flight.rows):
            return work is not None and self._carry_out(run, work, decision)
        if run.is_unopened and not self._supervisor.build_id:
            return False  # this engine has no worker: others do better
        if (work is None and not self._stored.is_private) or run.is_unopened:
            found = await self._adopter.look_in(run)
            if not isinstance(found, View):
                if run.caller_task is None:
                    self._runs.drop(run)
                if isinstance(found, Failed) and found.code == "internal_error":
                    raise StoreUnavailable(found.error)
                return False
            work = run.in_flight.asking(approval_id)
        if work is None:
            return False
        # Nobody looks at the run between the store's word and the carrying out: a wait would find the call
        # decided and nobody to ask about it, and the decision would be lost.
        async with run.opening:
            return await self._decide_stored(run, work, approval_id, decision, caller)

    async def _decide_stored(
        self, run: Run, work: Work, approval_id: str, decision: Decision, caller: RunScope
    ) -> bool:
        """The store decides who decides: after a crash no engine asks again or repeats what may have been
        done, and of several engines that decide at once one carries it out."""
        if (
            not self._stored.may_dispatch
        ):  # others may take this engine for dead, and its calls as interrupted
            raise StoreUnavailable("this engine has not reached its store for a while, and begins no call")
        try:
            decided = await self._stored.decide(run.id, caller, approval_id, msgspec.json.encode(decision))
        except StoreFull as error:
            raise StoreUnavailable(f"the decision could not be recorded: {error}") from error
        if decided is None:
            return False
        work = run.in_flight.pending.get(work.id, work)
        if isinstance(decided, DecidedElsewhere) and decided.hold.node != self._stored.node:
            asked = work.take_approval()  # the engine that runs the call gets the answer
            if asked is not None:
                self._recorder.approval_closed(
                    run, work, asked, "approved" if decision.approved else "denied"
                )
            return True
        if work.id in run.in_flight.pending:  # else the run ended meanwhile
            run.in_flight.take(work.id, decided.hold.take)
            self._carry_out(run, work, decision)
        self._stored.watch(run.id, soon=False)
        return True

    def _carry_out(self, run: Run, work: Work, decision: Decision) -> bool:
        approval = work.take_approval()
        if approval is not None:
            self._work.decide(run, work, approval, decision)
        return approval is not None
