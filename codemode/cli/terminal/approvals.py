"""Reads a run's open approvals from its trajectory, to ask about runs that another process left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from codemode.cli.terminal.screen import escaped, escaped_json

if TYPE_CHECKING:
    from codemode.contract.scope import Scope
    from codemode.engine import Engine
    from codemode.trajectory import Approval


class OpenApproval(msgspec.Struct, frozen=True):
    """Texts are escaped. `content` is the shape of the arguments, and the values if they were recorded."""

    call_id: str
    approval_id: str
    tool: str
    content: str
    summary: str = ""  # in a result, but not in a trajectory

    def __str__(self) -> str:
        return f"{self.tool} {self.content}"


async def open_approvals(engine: Engine, run_id: str, scope: Scope) -> list[OpenApproval]:
    """In the order of the calls; none for a run that is not in the scope."""
    found = await engine.trajectory(run_id, scope=scope)
    return [
        OpenApproval(call.id, call.approval.id, escaped(call.tool), _content(call.input))
        for control in (found.calls if found is not None else ())
        for call in control.calls
        if call.status == "pending" and call.approval is not None and _is_open(call.approval)
    ]


def _is_open(approval: Approval) -> bool:
    return approval.approved is None


def _content(content: object) -> str:
    return escaped_json(msgspec.json.encode(content).decode())
