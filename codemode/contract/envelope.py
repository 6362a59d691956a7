"""Results in the form of hosts that normalise tool responses: status, data, error and meta. Pure."""

from __future__ import annotations

from typing import Any

from codemode.contract.error_codes import CALL_ERRORS, ERRORS, ErrorFacts, HealthStatus
from codemode.contract.results import CodeModeResult, Failed
from codemode.contract.telemetry import CallError, CallRecord


def to_envelope(result: CodeModeResult) -> dict[str, Any]:
    """The same result for hosts that normalise tool responses: status, data, error and meta.

    `degraded` is a failure the agent can do something about, `unavailable` one it cannot; a tool that failed
    in its own words (`ToolError`) decides itself. What a failed program wrote is in `meta`.
    """
    data = result.to_dict()
    meta = {name: data.pop(name) for name in ("status", "telemetry", "notes") if name in data}
    meta["durationMs"] = result.telemetry.duration_ms
    if not isinstance(result, Failed):
        return envelope(data, meta)
    meta |= {"phase": result.phase, "output": data["output"]}
    error, call = (result.code, result.error, ERRORS[result.code]), failed_call(result)
    if call is None:
        return envelope(None, meta, error)
    return envelope(None, {**(call.meta or {}), **meta, "tool": call.tool}, error, call.error)


def envelope(
    data: dict[str, Any] | None,
    meta: dict[str, Any],
    error: tuple[str, str, ErrorFacts] | None = None,
    said: CallError | None = None,
) -> dict[str, Any]:
    """`error` is its code, its text and what is fixed about the code. `said` is what the tool that caused it
    says: where it has words of its own they stand, and what they stand for is in `meta`."""
    if error is None:
        return {"status": "healthy", "data": data, "error": None, "meta": meta}
    code, message, facts = error
    recoverable, suggestion = facts.recoverable, facts.suggestion
    status: HealthStatus | None = None
    if said is not None:
        recoverable = recoverable if said.recoverable is None else said.recoverable
        suggestion, status = said.suggestion or suggestion, said.status
        if said.message is not None:
            meta = {**meta, "code": code, "text": message}
            code, message = said.code, said.message
    told = {"code": code, "message": message, "recoverable": recoverable, "suggestion": suggestion}
    status = status or ("degraded" if recoverable else "unavailable")
    return {"status": status, "data": None, "error": told, "meta": meta}


def facts_of_call(code: str) -> ErrorFacts:
    """What is fixed about the failure of a call; a code of the tool's own is a `tool_error`."""
    return CALL_ERRORS.get(code, CALL_ERRORS["tool_error"])


def failed_call(result: Failed) -> CallRecord | None:
    """The call whose failure ended the run."""
    wanted = result.telemetry.failed_call
    return next((call for call in result.telemetry.calls if call.id == wanted), None)
