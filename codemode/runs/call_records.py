"""What the store is told of calls that go on here for suspended runs, and what it tells them.

Whichever engine goes on with a run finds there what its calls came to, and what they ask.
"""

from __future__ import annotations

import logging

import msgspec
from codemode_snapshots import Hold, SnapshotError

from codemode.executor import ApprovalRequest, Decision
from codemode.runs.outcomes import encode_outcome
from codemode.runs.phases import RunState
from codemode.runs.run import Run
from codemode.runs.stored_runs import StoredRuns
from codemode.runs.work import Work, is_question

_log = logging.getLogger("codemode.nested")


class CallRecords:
    """Records calls; one per engine."""

    def __init__(self, stored: StoredRuns) -> None:
        self._stored = stored

    async def settled(self, run: Run) -> None:
        """Stores what settled while the run is suspended, for whichever engine goes on with it."""
        for settled in run.in_flight.take_unrecorded():
            take = run.in_flight.takes.pop(settled.id, None)
            content = run.contents.freeze_unstored(settled.id)
            if take is None or self._stored.is_private:
                continue
            payload = encode_outcome(settled, content)
            hold = Hold(run.id, str(settled.id), self._stored.node, take)
            try:
                if not await self._stored.settle(hold, run.scope.session, payload):
                    _log.debug("the result of call %s of run %s came too late", settled.id, run.id)
            except SnapshotError as error:  # this engine still has the result
                _log.warning("a result of run %s could not be kept: %s", run.id, error)

    async def asked(self, run: Run, work: Work, approval: ApprovalRequest, *, is_held: bool) -> bool:
        """Stores what a call of a suspended run asks, so that it can be answered at any engine. False if the
        call is not this engine's any more, or there is no room."""
        take = run.in_flight.takes.get(work.id)
        if take is None or run.state is RunState.RUNNING:
            return True  # the next snapshot has it
        hold = Hold(run.id, str(work.id), self._stored.node, take)
        try:
            is_kept = await self._stored.ask(
                hold, approval.id, msgspec.json.encode(approval), is_held=is_held
            )
        except SnapshotError as error:
            _log.warning("a question of run %s could not be kept: %s", run.id, error)
            return False
        if is_kept and not is_held:
            run.in_flight.takes.pop(work.id, None)
        return is_kept

    async def answers(self, run: Run) -> list[tuple[Work, ApprovalRequest, Decision]]:
        """The answers that were given at other engines to questions of calls that run here; takes them."""
        decided, found = await self._stored.answers(run.id), list[tuple[Work, ApprovalRequest, Decision]]()
        for work in run.in_flight.pending.values():
            approval, sealed = work.approval, decided.get(str(work.id))
            if approval is None or sealed is None or not is_question(approval):
                continue
            opened = self._stored.seals.open_part("decision", run.id, approval.id, sealed)
            if opened is not None and work.take_approval() is not None:
                found.append((work, approval, msgspec.json.decode(opened, type=Decision)))
        return found
