"""Lists what waits for somebody's yes: in runs of this engine, and in those that are only in its store."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from codemode_snapshots import RunScope
from codemode_snapshots.label import value_given
from msgspec import Struct

from codemode import clock
from codemode.executor import ApprovalRequest
from codemode.runs.known_runs import KnownRuns
from codemode.runs.run_details import RunDetails, RunLookout
from codemode.runs.stored_runs import StoredRuns

MAX_LISTED = 1_000  # runs that are looked at for one list


class OpenApproval(Struct, frozen=True, kw_only=True, rename="camel"):
    """One call that waits for a decision, with its arguments: for people, not for models.

    `arguments_sha256` is of exactly these arguments, as JSON with sorted keys; whoever decides can say what
    was shown. `question` is what a tool or an MCP server asks, `is_question` whether one does.
    """

    id: str
    run_id: str
    call_id: str
    agent: str
    session: str
    agent_run: str
    tool: str  # catalog id
    name: str
    summary: str
    arguments: dict[str, Any]
    lines: list[str]
    arguments_sha256: str
    question: Any = None
    is_question: bool = False
    asked_at_ms: int = 0
    expires_at_ms: int | None = None
    sender: str = ""
    channel: str = ""

    def to_dict(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)


class OpenApprovals:
    """Finds them; one per engine."""

    def __init__(self, runs: KnownRuns, stored: StoredRuns, lookout: RunLookout) -> None:
        self._runs = runs
        self._stored = stored
        self._lookout = lookout

    async def listed(self, agent: str | None, session: str | None) -> list[OpenApproval]:
        """The oldest first. Raises StoreUnavailable."""
        scopes = {run.id: run.scope for run in self._runs.all() if run.in_flight.has_approval}
        for one in await self._stored.runs(session):
            if one.asking:
                scopes.setdefault(one.label.run_id, one.label.scope)
        found: list[OpenApproval] = []
        for run_id, scope in list(scopes.items())[:MAX_LISTED]:
            if agent in (None, scope.agent) and session in (None, scope.session):
                found += await self._of(run_id, scope)
        return sorted(found, key=lambda one: (one.asked_at_ms, one.id))

    async def _of(self, run_id: str, scope: RunScope) -> list[OpenApproval]:
        details = await self._lookout.look(run_id, scope)
        return [] if details is None else approvals_of(details)


def approvals_of(details: RunDetails) -> list[OpenApproval]:
    """Those of one run."""
    waited = {call.id: call.elapsed_ms for call in details.pending_tool_calls}
    now = clock.wall_ms()
    return [
        OpenApproval(
            id=asked.id,
            run_id=details.run_id,
            call_id=asked.call_id,
            agent=details.agent,
            session=details.session,
            agent_run=value_given(details.agent_run),
            tool=asked.tool_id,
            name=asked.tool,
            summary=asked.summary,
            arguments=asked.arguments,
            lines=asked.lines(),
            arguments_sha256=digest_of_arguments(asked),
            question=asked.question,
            is_question=asked.is_asked_by_tool or asked.id.startswith("ask_"),
            asked_at_ms=now - waited.get(asked.call_id, 0),
            expires_at_ms=details.expires_at_ms,
            sender=asked.sender,
            channel=asked.channel,
        )
        for asked in details.approvals
    ]


def digest_of_arguments(asked: ApprovalRequest) -> str:
    return hashlib.sha256(msgspec.json.encode(asked.arguments, order="sorted")).hexdigest()
