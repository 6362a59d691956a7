"""The open approvals of a run, for a person at a terminal; also of a run that another process left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemode.trajectory.escape import plain

if TYPE_CHECKING:
    from codemode.contract.scope import Scope
    from codemode.engine import Engine
    from codemode.executor import ApprovalRequest


async def open_approvals(engine: Engine, run_id: str, scope: Scope) -> tuple[ApprovalRequest, ...]:
    """In the order of the calls; none for a run that is not in the scope."""
    found = await engine.run_info(run_id, scope=scope)
    return () if found is None else found.approvals


def lines_of(asked: ApprovalRequest) -> list[str]:
    """What would be done, each line with its indentation: the summary, then the arguments."""
    return [f"  {plain(asked.summary)}", *(f"    {line}" for line in asked.lines())]
