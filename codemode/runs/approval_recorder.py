"""The recorder's part about approvals: trace, events, spans, hooks and debug log hear of them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from codemode import clock
from codemode.contract import events
from codemode.contract.events import ApprovalOutcome
from codemode.executor import ApprovalRequest
from codemode.runs.approval_bell import ApprovalBell
from codemode.runs.event_hub import EventHub
from codemode.runs.run import Run
from codemode.runs.work import Work, is_question
from codemode.trajectory.debug_log import note

if TYPE_CHECKING:  # for engines that were asked for it
    from codemode.otel.spans import Spans

_log = logging.getLogger("codemode.calls")


class ApprovalRecorder:
    """Recorder is one."""

    hub: EventHub
    _bell: ApprovalBell
    _spans: Spans | None

    def approval_asked(self, run: Run, work: Work, approval: ApprovalRequest) -> None:
        run.in_flight.note_asked(approval.id)
        at_ms = clock.wall_ms()
        run.trace.ask(work.id, approval.id, at_ms)
        if self._spans is not None:
            self._spans.approval_asked(run, work, approval.id, is_running=is_question(approval))
        debug(_log, "approval_asked", run.id, call=work.id, approval=approval.id)
        if self.hub.listeners:
            told = {"tool": approval.tool_id, "name": approval.tool, "summary": approval.summary}
            call = {"call_id": str(work.id), "approval_id": approval.id}
            self.hub.publish(events.ApprovalOpened(run_id=run.id, at_ms=at_ms, **call, **told))
        self._bell.opened(approval)

    def approval_decided(self, run: Run, work: Work, approval: ApprovalRequest, approved: bool) -> None:
        run.trace.decide(work.id, approved, clock.wall_ms())
        if self._spans is not None:
            self._spans.approval_decided(run, work, approved, is_running=is_question(approval))
        debug(_log, "approval_decided", run.id, call=work.id, approved=approved)
        self.approval_closed(run, work, approval, "approved" if approved else "denied")

    def approval_closed(
        self, run: Run, work: Work, approval: ApprovalRequest, outcome: ApprovalOutcome = "gone"
    ) -> None:
        """The call does not ask any more, whoever decided."""
        if not (self.hub.listeners or self._bell.rings):
            return
        ids = {"approval_id": approval.id, "call_id": str(work.id), "tool": approval.tool_id}
        closed = events.ApprovalClosed(run_id=run.id, at_ms=clock.wall_ms(), outcome=outcome, **ids)
        self.hub.publish(closed)
        self._bell.closed(closed)


def debug(log: logging.Logger, event: str, run_id: str, **fields: object) -> None:
    if log.isEnabledFor(logging.DEBUG):
        note(log, event, run_id, **fields)
