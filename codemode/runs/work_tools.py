"""Which tool a program means by a call, and whether the call may be made again. Pure."""

from __future__ import annotations

from codemode_runtime import wire

from codemode.executor import CallFailed, Via
from codemode.runs.run import Run
from codemode.runs.work import Work
from codemode.tools import Tool

VIA: dict[str, Via] = {"mcp": "mcp", "namespace": "namespace"}


def tool_of(run: Run, method: str, target: str) -> Tool | None:
    if method in ("call", "describe"):
        return run.environment.catalog.resolve(target)
    tool_id: str | None = target
    if method == "namespace":
        tool_id = run.environment.scopes.tool_id(target) if run.environment.scopes else None
    return None if tool_id is None else run.environment.catalog.get(tool_id)


def unknown_tool(run: Run, work: Work) -> CallFailed:
    return run.environment.executor.unknown(work.target, VIA.get(work.method, "tools"))


def is_unrepeatable(run: Run, message: wire.Message) -> bool:
    """Whether it is a call that may have an effect, and must not be made twice."""
    if not isinstance(message, wire.Call) or message.method in ("search", "describe"):
        return False
    tool = tool_of(run, message.method, message.target)
    return tool is not None and not tool.hints.idempotent
