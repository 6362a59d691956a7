"""Makes the exported form of a run from what its trace kept. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

import msgspec
from codemode_snapshots import RunScope
from codemode_snapshots.label import value_given

from codemode.contract.telemetry import CallEnd, CallError, CallRecord, CallStatus
from codemode.trajectory.shapes import (
    VERSION,
    Approval,
    Content,
    ControlCall,
    NestedCall,
    OutputFacts,
    Resumption,
    RunStatus,
    Suspension,
    Trajectory,
)
from codemode.trajectory.stored_trace import ApprovalMark, CallMark, LegMark, Packed, TraceState, record_of

_ENDED = ("completed", "failed", "expired", "aborted")


def build(
    run_id: str, scope: RunScope, status: RunStatus, packed: Packed | None, late: Sequence[CallEnd]
) -> Trajectory:
    """Without a trace it tells only what everybody in the run's scope knows, and is partial."""
    if packed is None:
        return Trajectory(
            version=VERSION, run_id=run_id, agent=scope.agent, session=scope.session, status=status,
            redaction="shape", agent_run=value_given(scope.agent_run), is_partial=True,
        )  # fmt: skip
    state = packed.state
    last = state.legs[-1] if state.legs else None
    has_ended = status in _ENDED
    code = last.why if last is not None and last.status == "failed" else ""
    if status in ("expired", "aborted"):
        code = {"expired": "snapshot_expired", "aborted": "aborted"}[status]
    calls = _calls(packed, late)
    return Trajectory(
        version=VERSION,
        run_id=run_id,
        agent=scope.agent,
        session=scope.session,
        agent_run=value_given(scope.agent_run),
        status=status,
        code=code,
        redaction=state.redaction,
        started_at_ms=state.started_ms,
        ended_at_ms=None if state.ended < 0 else state.started_ms + state.ended,
        calls=tuple(_control(state, leg, calls, has_ended) for leg in state.legs),
        dropped_control_calls=state.dropped_legs,
    )


def ledger(packed: Packed | None, late: Sequence[CallEnd], *, is_over: bool = True) -> tuple[CallRecord, ...]:
    """The calls of a run; with `is_over` those that had not ended are `aborted`."""
    if packed is None:
        return ()
    return tuple(
        msgspec.structs.replace(call, status="aborted") if is_over and call.status == "pending" else call
        for call in _calls(packed, late)
    )


def _calls(packed: Packed, late: Sequence[CallEnd]) -> list[CallRecord]:
    """`late`: the ends of calls that ended while their run was suspended."""
    news = {end.id: end for end in late}
    calls = [record_of(row, packed.state.calls.get(row[0])) for row in packed.ledger]
    return [call.ended(news[call.id]) if call.id in news else call for call in calls]


def _control(state: TraceState, leg: LegMark, calls: Iterable[CallRecord], has_ended: bool) -> ControlCall:
    is_exec = leg.number == 0
    is_last = leg is state.legs[-1]
    status = leg.status or ("failed" if has_ended else "running")
    has_value = is_last and status == "completed" and state.value is not None
    language = cast("Literal['javascript', 'typescript']", state.language)
    marked = [(call, state.calls[int(call.id)]) for call in calls]
    return ControlCall(
        name="exec" if is_exec else "wait",
        tool_kind="code_mode_exec" if is_exec else "code_mode_wait",
        tool_input_kind=language if is_exec else "run_id",
        tool_call_id=leg.tool_call,
        started_at_ms=state.started_ms + leg.start,
        ended_at_ms=None if leg.end < 0 else state.started_ms + leg.end,
        status=cast("Literal['running', 'completed', 'waiting', 'failed']", status),
        reason=leg.why if status == "waiting" else "",
        code=(leg.why or "aborted") if status == "failed" else "",
        input=_content(state, "p", "string", state.program_bytes) if is_exec else None,
        value=_content(state, "v", *state.value) if has_value and state.value is not None else None,
        output=_output(state, leg) if leg.items else None,
        resumed=Resumption(restore_us=leg.restore_us) if leg.restore_us else None,
        suspended=Suspension(bytes=leg.snapshot_bytes, capture_us=leg.capture_us)
        if leg.snapshot_bytes
        else None,
        calls=tuple(_nested(state, call, mark, has_ended) for call, mark in marked if mark.leg == leg.number),
        more_calls=leg.more_calls,
    )


def _nested(state: TraceState, call: CallRecord, mark: CallMark, has_ended: bool) -> NestedCall:
    status: CallStatus = "aborted" if call.status == "pending" and has_ended else call.status
    return NestedCall(
        id=call.id,
        tool=call.tool,
        # without an id the program chose the name, which may then hold any data
        name=call.name if call.tool or state.redaction != "shape" else "",
        method=call.method,
        status=status,
        started_at_ms=state.started_ms + mark.start,
        ended_at_ms=_ended_at(state, call, mark, status),
        ms=call.ms,
        bytes_in=call.bytes_in,
        bytes_out=call.bytes_out,
        input=_input(state, call, mark),
        result=_content(state, f"r{call.id}", mark.result, call.bytes_out) if mark.result else None,
        error=mark.error,
        answered_by=mark.answered_by,
        failure=_failure(state, call),
        approval=_approval(state, state.approvals.get(int(call.id))),
    )


def _failure(state: TraceState, call: CallRecord) -> CallError | None:
    """Texts are there only where they were recorded as values, whatever a live ledger knows."""
    if call.error is None:
        return None
    recorded = state.recorded.get(f"r{call.id}")
    found: Any = None if recorded is None else msgspec.json.decode(recorded)
    texts = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    suggestion, message = (
        text if isinstance(text := texts.get(name), str) else None for name in ("suggestion", "message")
    )
    return msgspec.structs.replace(call.error, suggestion=suggestion, message=message)


def _ended_at(state: TraceState, call: CallRecord, mark: CallMark, status: CallStatus) -> int | None:
    if status == "pending":
        return None
    if call.status == "pending" or (status == "aborted" and not call.ms):  # the call ended with its run
        return None if state.ended < 0 else state.started_ms + state.ended
    return state.started_ms + mark.start + round(call.ms)


def _input(state: TraceState, call: CallRecord, mark: CallMark) -> Content | None:
    shape: dict[str, Any] = msgspec.json.decode(state.shapes[mark.shape]) if mark.shape >= 0 else {}
    recorded = state.recorded.get(f"i{call.id}")
    if recorded is not None:
        shape["value"] = msgspec.json.decode(recorded)
    return shape | {"bytes": call.bytes_in} if shape else None


def _content(state: TraceState, key: str, kind: str, size: int) -> Content:
    recorded = state.recorded.get(key)
    content: Content = {"type": kind, "bytes": size}
    return content if recorded is None else content | {"value": msgspec.json.decode(recorded)}


def _output(state: TraceState, leg: LegMark) -> OutputFacts:
    keys = [f"o{leg.number}.{index}" for index in range(leg.items)]
    values = [msgspec.json.decode(state.recorded[key]) for key in keys if key in state.recorded]
    return OutputFacts(items=leg.items, bytes=leg.output_bytes, values=values or None)


def _approval(state: TraceState, mark: ApprovalMark | None) -> Approval | None:
    if mark is None:
        return None
    asked = state.started_ms + mark.asked
    if mark.decided < 0:
        return Approval(id=mark.id, asked_at_ms=asked)
    return Approval(
        id=mark.id, asked_at_ms=asked, approved=mark.approved, decided_at_ms=state.started_ms + mark.decided
    )
