"""Questions of a running call (an MCP server's elicitation): shown and answered as approvals.

The executor asks for an approval before a call, which then starts anew. Here the call is under way and waits:
its run is suspended meanwhile, and the answer goes back into the call. After a restart that call is gone and
ends like every call that was in flight.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from codemode.executor import ApprovalRequest, Approve, Decision
from codemode.executor.approvals import ask as ask_handler
from codemode.runs.run import Run
from codemode.runs.work import QUESTION, Work
from codemode.tools import CallContext


class Questions:
    """Holds the open questions of running calls; one per engine."""

    def __init__(
        self,
        find_run: Callable[[str], Run | None],
        tell_asked: Callable[[Run, Work, ApprovalRequest], None],
        tell_closed: Callable[[Run, Work, ApprovalRequest], None],
        approve: Approve | None,
        record: Callable[[Run, Work, ApprovalRequest], Awaitable[bool]],
    ) -> None:
        self._find_run = find_run
        self._tell_asked = tell_asked
        self._tell_closed = tell_closed
        self._approve = approve
        self._record = record
        self._open: dict[str, asyncio.Future[Decision]] = {}

    async def ask(self, context: CallContext, tool: str, summary: str, details: dict[str, Any]) -> Decision:
        """Returns the decision. The call's own time-out bounds the wait."""
        request = ApprovalRequest(
            id=QUESTION + secrets.token_hex(16),
            summary=summary,
            tool_id=context.tool_id,
            tool=tool,
            arguments=details,
            run_id=context.run_id,
            call_id=context.call_id,
            agent_id=context.agent_id,
            session_id=context.session_id,
            sender=context.sender,
            channel=context.channel,
        )
        decision = await ask_handler(self._approve, request)
        if decision is not None:
            return decision
        run = self._find_run(context.run_id)
        known = run is not None and context.call_id.isdecimal()
        work = run.in_flight.pending.get(int(context.call_id)) if run is not None and known else None
        if run is None or work is None or work.approval is not None:
            return Decision(False, "nobody can be asked")
        if not await self._record(run, work, request):
            return Decision(False, "nobody can be asked")
        work = run.in_flight.pending.get(work.id, work)
        work.ask(request)
        self._tell_asked(run, work, request)
        run.in_flight.wake()
        waiting = self._open[request.id] = asyncio.get_running_loop().create_future()
        try:
            return await waiting
        finally:
            del self._open[request.id]
            if work.is_asking(request.id):
                work.take_approval()
                self._tell_closed(run, work, request)

    def answer(self, approval_id: str, decision: Decision) -> bool:
        """False if no call here waits for it: an engine that is gone asked."""
        waiting = self._open.get(approval_id)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(decision)
        return True
