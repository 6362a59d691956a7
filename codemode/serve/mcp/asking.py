"""Approvals of an MCP server: the server asks a person through the client.

A run that needs an approval is `waiting`. A client with elicitation asks its person: before 2026 because of a
request in the middle of the call; since then because of an answer that asks, after which it calls again.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from codemode.contract.results import PendingCall, Waiting
from codemode.executor import ApprovalRequest, Approve, Decision
from codemode.executor.approvals import ask as ask_handler
from codemode.trajectory.escape import plain

if TYPE_CHECKING:  # loaded when it is served
    from mcp import types
    from mcp.server.context import ServerRequestContext

_log = logging.getLogger("codemode.serve")

_MAX_ASKED = 500
_SCHEMA = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Allow this call"}},
    "required": ["approve"],
}


class ApprovalTexts:
    """Texts for the person, with the arguments: results leave those out, because models read results.

    Keeps the newest texts; without its text the person sees the summary alone.
    """

    def __init__(self, configured: Approve | None) -> None:
        self._configured = configured
        self._texts: OrderedDict[str, str] = OrderedDict()

    async def approve(self, request: ApprovalRequest) -> Decision | None:
        """The engine's handler. The configured handler decides; else the text is kept, and the run waits."""
        decided = await ask_handler(self._configured, request)
        if decided is None:
            lines = (plain(request.summary), plain(request.tool_id), *request.lines())
            self._texts[request.id] = "\n".join(lines)
            if len(self._texts) > _MAX_ASKED:
                self._texts.popitem(last=False)
        return decided

    def text_of(self, call: PendingCall) -> str:
        assert call.approval is not None, "only calls that wait for one are asked about"
        return self._texts.get(call.approval.id, f"{plain(call.approval.summary)}\n{plain(call.tool or '')}")


def can_elicit(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client shows forms. A client that names no mode does: forms were once the only mode."""
    able = context.session.client_capabilities
    asking = None if able is None else able.elicitation
    return asking is not None and (asking.form is not None or asking.url is None)


def open_approvals(result: Waiting, undecided: Iterable[str]) -> list[PendingCall]:
    """The calls to ask about: those that wait for an approval and that no person has put aside."""
    aside = frozenset(undecided)
    return [
        call
        for call in result.pending_tool_calls
        if call.approval is not None and call.approval.id not in aside
    ]


def question(text: str) -> types.ElicitRequest:
    from mcp import types

    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(
            message=f"Allow this tool call?\n{text}", requested_schema=_SCHEMA
        )
    )


async def ask_now(context: ServerRequestContext[Any, Any], text: str) -> types.ElicitResult | None:
    """Asks in the middle of a call. None if the client does not answer after all."""
    from mcp import MCPError, types
    from mcp.shared.message import ServerMessageMetadata
    from pydantic import ValidationError

    try:
        return await context.session.send_request(
            question(text),
            types.ElicitResult,
            metadata=ServerMessageMetadata(related_request_id=context.request_id),
        )
    except (MCPError, ValidationError) as problem:
        _log.warning("the client could not be asked for an approval: %s", type(problem).__name__)
        return None


def decision_of(answer: object) -> Decision | None:
    """The person's decision, None without one. A form without a plain yes is a no."""
    from mcp import types

    if not isinstance(answer, types.ElicitResult) or answer.action == "cancel":
        return None
    if answer.action == "accept" and (answer.content or {}).get("approve") is True:
        return Decision(True)
    return Decision(False, "the user said no")
