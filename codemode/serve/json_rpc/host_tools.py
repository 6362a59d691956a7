"""Tools that a host describes: a call of one asks the host, over the connection it came by."""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec
from msgspec import Struct, field

from codemode.config import ConfigError
from codemode.contract.error_codes import HealthStatus
from codemode.executor import ApprovalRequest, Decision
from codemode.serve.json_rpc import messages as rpc
from codemode.serve.json_rpc.messages import RpcError
from codemode.serve.json_rpc.peer import HostRefused, Peer
from codemode.tools import CallContext, InvalidArguments, Tool, ToolError, ToolFunction, ToolHints


class Hints(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    requires_approval: bool = False
    timeout_ms: int = ToolHints().timeout_ms
    concurrency: int = ToolHints().concurrency
    required_permissions: tuple[str, ...] = ()


class HostToolSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool as a host describes it. Texts of `client` and `mcp` tools never enter a prompt."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    returns: dict[str, Any] | None = None
    source: Literal["openclaw", "plugin", "mcp", "client"] = "openclaw"
    owner: str = "core"
    label: str | None = None
    hints: Hints = Hints()


class _Answer(Struct, frozen=True, forbid_unknown_fields=True):
    value: Any = None


class _OwnError(Struct, frozen=True, forbid_unknown_fields=True):
    name: str = "ToolError"
    code: str = "tool_error"
    data: Any = None
    recoverable: bool | None = None
    retryable: bool | None = None
    suggestion: str | None = None
    status: HealthStatus | None = None
    meta: dict[str, Any] | None = None


class _Verdict(Struct, frozen=True, forbid_unknown_fields=True):
    decision: Literal["approve", "deny", "later"]
    reason: str = ""


def host_tools(peer: Peer, descriptors: list[HostToolSpec]) -> list[Tool]:
    """Raises RpcError for a tool that cannot be offered."""
    return [_tool(peer, described) for described in descriptors]


def _tool(peer: Peer, described: HostToolSpec) -> Tool:
    hints = described.hints
    try:
        return Tool(
            described.name,
            described.description,
            described.parameters,
            _runner(peer, described.name),
            described.returns,
            described.source,
            described.owner,
            described.label,
            ToolHints(**msgspec.structs.asdict(hints)),
        )
    except ConfigError as problem:
        raise RpcError(rpc.INVALID_PARAMS, str(problem)) from None


def _runner(peer: Peer, name: str) -> ToolFunction:
    async def run(arguments: dict[str, Any], context: CallContext) -> Any:
        params = {
            "tool": context.tool_id,
            "name": name,
            "arguments": arguments,
            "runId": context.run_id,
            "callId": context.call_id,
            "idempotencyKey": context.idempotency_key,
            "session": context.session_id,
            "agent": context.agent_id,
        }
        try:
            answer = await peer.ask("tools/call", params, context.update)
            return rpc.read_params(answer, _Answer).value
        except HostRefused as refused:
            if refused.error.code == rpc.INVALID_PARAMS:
                raise InvalidArguments(refused.error.message) from None
            raise _own_error(refused.error) from None
        except RpcError as problem:
            raise ToolError(f"the host's answer to {name} must be {{value}}: {problem}") from None

    return run


def _own_error(error: rpc.ErrorObject) -> ToolError:
    """A host says of a failed tool what a tool in Python says with ToolError: as `toolError` in the data."""
    data: Any = error.data
    if not isinstance(data, dict) or "toolError" not in data:
        return ToolError(error.message, data=cast("object", data))
    try:
        said = msgspec.convert(data["toolError"], _OwnError)
    except msgspec.ValidationError as problem:
        return ToolError(f"{error.message} (its toolError cannot be read: {problem})")
    return ToolError(error.message, **msgspec.structs.asdict(said))


async def ask_host(peer: Peer, request: ApprovalRequest) -> Decision | None:
    """None leaves the decision to `approve` and `deny`. Any answer that is not a verdict denies."""
    params = {
        "id": request.id,
        "summary": request.summary,
        "tool": request.tool_id,
        "name": request.tool,
        "arguments": request.arguments,
        "lines": request.lines(),
        "runId": request.run_id,
        "callId": request.call_id,
        "session": request.session_id,
        "agent": request.agent_id,
    }
    try:
        verdict = rpc.read_params(await peer.ask("approvals/ask", params), _Verdict)
    except (HostRefused, RpcError) as problem:
        return Decision(False, f"the host could not be asked: {problem}")
    return None if verdict.decision == "later" else Decision(verdict.decision == "approve", verdict.reason)
