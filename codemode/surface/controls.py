"""The two tools a model sees in code mode. Schemas are flat: some providers reject unions at the top."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from codemode.contract.results import CodeModeResult
from codemode.tools import CallContext, Tool, ToolError, ToolFunction

EXEC_PARAMETERS = ("code", "command", "language")
WAIT_PARAMETERS = ("runId",)

_WAIT = """\
Continues a program that exec left "waiting": delivers the results that have arrived, runs on, and returns \
like exec. Takes the runId of that result; call it again as long as the status is "waiting"."""


async def _by_the_engine(arguments: dict[str, Any], context: CallContext) -> Any:  # noqa: ARG001 - a ToolFunction's shape
    raise ToolError("exec and wait are run by the engine, not as tools")


def bound_to(execute: Callable[..., Awaitable[CodeModeResult]], who: Mapping[str, Any]) -> ToolFunction:
    """Makes an engine's `exec` or `wait` the function of a tool, for this scope; each call has its own id.

    A call may be for another session than the one that was prepared: the context then names it, and what
    else the host says of its caller.
    """

    async def run(arguments: dict[str, Any], context: CallContext) -> Any:
        own: dict[str, Any] = {"tool_call": context.call_id} if context.call_id else {}
        if context.session_id:
            own["scope"] = msgspec.structs.replace(who["scope"], session=context.session_id)
            own |= {"context": context} if "context" in who else {}
        return (await execute(arguments, **{**who, **own})).to_dict()

    return run


def exec_tool(description: str, languages: Sequence[str], run: ToolFunction = _by_the_engine) -> Tool:
    parameters = {
        "type": "object",
        "properties": {
            "code": {"type": "string", "description": "The program. Give this one."},
            "command": {"type": "string", "description": "Another name for code. Leave it out."},
            "language": {
                "type": "string",
                "enum": list(languages),
                "description": "Default: javascript.",
            },
        },
        "additionalProperties": False,
    }
    return Tool("exec", description, parameters, run, control=True)


def wait_tool(run: ToolFunction = _by_the_engine) -> Tool:
    parameters = {
        "type": "object",
        "properties": {"runId": {"type": "string", "description": "From the result that is waiting."}},
        "required": ["runId"],
        "additionalProperties": False,
    }
    return Tool("wait", _WAIT, parameters, run, control=True)
