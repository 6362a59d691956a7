"""Approvals over HTTP: listed with their arguments, given and refused."""

from __future__ import annotations

from typing import Any

from codemode.contract.scope import Scope
from codemode.runs.open_approvals import OpenApproval, approvals_of
from codemode.serve.http.asked import HttpAsked
from codemode.serve.http.errors import HttpRefused
from codemode.serve.http.inputs import ApprovalsQuery, ApproveBody, DenyBody


async def list_approvals(asked: HttpAsked[ApprovalsQuery, Any]) -> Any:
    query, caller = asked.query, asked.caller
    own = caller.agent_filter
    if own is not None and query.agent not in (None, own):
        return {"approvals": [], "more": 0}
    found = [
        one
        for one in await asked.engine.approvals(query.session, agent=own or query.agent)
        if caller.token.reaches(one.agent, one.session) and query.run_id in (None, one.run_id)
    ]
    return {"approvals": found[: query.limit], "more": max(0, len(found) - query.limit)}


async def approve(asked: HttpAsked[Any, ApproveBody]) -> Any:
    body, (who, open_one) = asked.body, await _find(asked)
    if body.arguments_sha256 not in (None, open_one.arguments_sha256):
        raise HttpRefused(409, "These are not the arguments that the call has now: read the list again.")
    run_id, approval_id = asked.path["runId"], asked.path["approvalId"]
    if not await asked.engine.approve(run_id, approval_id, value=body.value, scope=who):
        raise _nothing_asks()
    return {"decided": True}


async def deny(asked: HttpAsked[Any, DenyBody]) -> Any:
    who, _ = await _find(asked)
    run_id, approval_id = asked.path["runId"], asked.path["approvalId"]
    if not await asked.engine.deny(run_id, approval_id, reason=asked.body.reason, scope=who):
        raise _nothing_asks()
    return {"decided": True}


async def _find(asked: HttpAsked[Any, Any]) -> tuple[Scope, OpenApproval]:
    """Raises HttpRefused: 404 for a run that the token does not reach, 409 if it asks for nothing of it."""
    body = asked.body
    run_id, approval_id = asked.path["runId"], asked.path["approvalId"]
    who = await asked.caller.owner(asked.engine, run_id, body.agent, body.session, body.agent_run)
    details = await asked.engine.run_info(run_id, scope=who)
    if details is None:
        raise HttpRefused(404, "There is no such run.")
    found = next((one for one in approvals_of(details) if one.id == approval_id), None)
    if found is None:
        raise _nothing_asks()
    return who, found


def _nothing_asks() -> HttpRefused:
    return HttpRefused(409, "Nothing asks for this approval now: it was decided, or its run is over.")
