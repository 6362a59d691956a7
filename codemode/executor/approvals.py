"""Approvals: one id for one action, and whom to ask.

The id is made from the run, the call, the tool and the very arguments. It stays the same over a restart, two
different actions never share one, and no approval can be used for arguments that the approver did not see.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from codemode.contract.shown_json import shown_names
from codemode.executor.calls import TOOL_ASKS, ApprovalRequest, Decision
from codemode.executor.host_code import ends_the_task
from codemode.tools import AnswerNeeded, CallContext, Tool

_log = logging.getLogger("codemode.approvals")

MAX_QUESTION_BYTES = 256 << 10
_MAX_SUMMARY = 2_000  # characters; a model may be shown it


class QuestionTooLarge(Exception):
    """What a tool asks is more than a person reads; the text says how much."""


# True and False decide. With None the run waits for engine.approve or engine.deny.
Approve = Callable[[ApprovalRequest], "Awaitable[Decision | bool | None] | Decision | bool | None"]


class Ask(Protocol):
    """A bridge's question. The host's handler reads `details`; the model may read the summary too."""

    async def __call__(
        self, context: CallContext, tool: str, summary: str, details: dict[str, Any]
    ) -> Decision: ...


def request_approval(
    tool: Tool, arguments: dict[str, Any], context: CallContext, why: str
) -> ApprovalRequest:
    definition = definition_of(tool)
    return ApprovalRequest(
        id=approval_id(context, tool.id, arguments, definition),
        summary=why or f"Run {tool.name}({shown_names(arguments, len(arguments))})",
        tool_id=tool.id,
        tool=tool.name,
        arguments=arguments,
        run_id=context.run_id,
        call_id=context.call_id,
        agent_id=context.agent_id,
        session_id=context.session_id,
        sender=context.sender,
        channel=context.channel,
        definition=definition,
    )


def request_answer(
    tool: Tool, arguments: dict[str, Any], context: CallContext, needed: AnswerNeeded
) -> ApprovalRequest:
    """What a tool asks in its call. Raises TypeError or ValueError for a question that is not JSON, and
    QuestionTooLarge: it is kept while the program waits, and stored with it."""
    encoded = msgspec.json.encode(needed.question)
    if len(encoded) > MAX_QUESTION_BYTES:
        raise QuestionTooLarge(f"a question of {len(encoded):,} bytes; it may have {MAX_QUESTION_BYTES:,}")
    question, summary = msgspec.json.decode(encoded), str(needed.summary)
    if len(summary) > _MAX_SUMMARY:
        summary = summary[: _MAX_SUMMARY - 1] + "…"
    asked = request_approval(tool, arguments, context, summary)
    name = answer_id(context, tool.id, arguments, question, context.answers)
    return msgspec.structs.replace(asked, id=name, question=question, answers=context.answers)


def approval_id(context: CallContext, tool_id: str, arguments: dict[str, Any], definition: str) -> str:
    return f"apr_{_digest([context.run_id, context.call_id, tool_id, arguments, definition])}"


def answer_id(
    context: CallContext, tool_id: str, arguments: dict[str, Any], question: Any, answers: tuple[Any, ...]
) -> str:
    said = [context.run_id, context.call_id, tool_id, arguments, question, answers]
    return f"{TOOL_ASKS}{_digest(said)}"


def proper_id(context: CallContext, tool_id: str, asked: ApprovalRequest) -> str:
    """The id that this request has if it is for this very call."""
    if asked.is_asked_by_tool:
        return answer_id(context, tool_id, asked.arguments, asked.question, asked.answers)
    return approval_id(context, tool_id, asked.arguments, asked.definition)


def definition_of(tool: Tool) -> str:
    """Changes with what the tool says it is and does, and not with how long it may take."""
    hints = tool.hints
    traits = [hints.read_only, hints.destructive, hints.idempotent]
    return _digest([tool.id, tool.description, tool.parameters, tool.returns, traits])


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:32]


async def ask(approve: Approve | None, request: ApprovalRequest) -> Decision | None:
    """Asks the host's handler; None if the handler leaves it open. A handler that fails has not approved."""
    if approve is None:
        return None
    task = asyncio.current_task()
    try:
        answer = approve(request)
        answer = await answer if inspect.isawaitable(answer) else answer
    except BaseException as error:
        if ends_the_task(error, task):
            raise
        _log.exception("the approval handler failed for %s", request.tool_id)
        return Decision(False, "the approval handler failed")
    match answer:
        case None | Decision():
            return answer
        case bool():
            return Decision(answer)
        case _:
            _log.error("the approval handler answered with a %s", type(answer).__name__)
            return Decision(False, "the approval handler failed")
