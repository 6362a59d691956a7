"""One audit event for each call, however it ended. Records the names of arguments, not their values."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Literal, cast

from msgspec import Struct

from codemode.executor.calls import CallFailed, CallOk, CallRequest, CallResult, NeedsApproval, Via
from codemode.executor.host_code import ends_the_task

_log = logging.getLogger("codemode.audit")

_MAX_WORD = 200
_MAX_NAMES = 64


class AuditEvent(Struct, frozen=True):
    tool: str  # the tool's real name; the name in the call if no tool has it
    tool_id: str | None
    outcome: Literal["ok", "error", "denied", "aborted", "pending"]
    code: str | None
    via: Via
    run_id: str
    call_id: str
    agent_id: str
    session_id: str
    sender: str
    channel: str
    argument_names: tuple[str, ...]
    bytes_out: int
    started_at_ms: int
    duration_ms: float
    approval_id: str | None = None


Audit = Callable[[AuditEvent], "Awaitable[None] | None"]


def audit_event(
    request: CallRequest,
    tool: tuple[str, str] | None,
    result: CallResult,
    *,
    started_at_ms: int,
    duration_ms: float,
    approval_id: str | None,
) -> AuditEvent:
    """`tool` is the tool's name and id, or None for a call to an unknown tool."""
    context = request.context
    arguments: object = request.arguments
    names = list(cast("dict[object, object]", arguments)) if isinstance(arguments, dict) else []
    return AuditEvent(
        tool=tool[0] if tool else request.tool[:_MAX_WORD],
        tool_id=tool[1] if tool else None,
        outcome=result.status,
        code=result.code if isinstance(result, CallFailed) else None,
        via=request.via,
        run_id=context.run_id,
        call_id=request.call_id,
        agent_id=context.agent_id,
        session_id=context.session_id,
        sender=context.sender,
        channel=context.channel,
        argument_names=tuple(str(name)[:_MAX_WORD] for name in names[:_MAX_NAMES]),
        bytes_out=len(result.json) if isinstance(result, CallOk) else 0,
        started_at_ms=started_at_ms,
        duration_ms=duration_ms,
        approval_id=result.approval.id if isinstance(result, NeedsApproval) else approval_id,
    )


async def tell_audit(audit: Audit | None, event: AuditEvent) -> None:
    """Hands the event to the host's audit. An audit that fails is logged; the call's result stays."""
    if audit is None:
        return
    task = asyncio.current_task()
    try:
        answer = audit(event)
        if inspect.isawaitable(answer):
            await answer
    except BaseException as error:
        if ends_the_task(error, task):
            raise
        _log.exception("the audit handler failed for %s", event.tool)
