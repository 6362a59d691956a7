"""From what a trace kept to the exported form. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

import msgspec
from codemode_snapshots import Scope

from codemode.contract.telemetry import CallRecord, CallStatus
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
from codemode.trajectory.stored_trace import ApprovalMark, CallMark, LegMark, Packed, Row, TraceState

# Calls that ended while their run was suspended: id, status, milliseconds, bytes.
Late = Sequence[tuple[str, CallStatus, float, int]]
_ENDED = ("completed", "failed", "expired", "aborted")


def build(run_id: str, scope: Scope, status: RunStatus, packed: Packed | None, late: Late) -> Trajectory:
    """Without a trace only what everybody in the run's scope knows."""
    if packed is None:
        return Trajectory(
            version=VERSION, run_id=run_id, agent=scope.agent, session=scope.session, status=status,
            redaction="shape", agent_run=_given(scope.agent_run), is_partial=True,
        )  # fmt: skip
    state = packed.state
    last = state.legs[-1] if state.legs else None
    has_ended = status in _ENDED
    code = last.why if last is not None and last.status == "failed" else ""
    if status in ("expired", "aborted"):
        code = {"expired": "snapshot_expired", "aborted": "aborted"}[status]
    rows = _rows(packed, late)
    return Trajectory(
        version=VERSION,
        run_id=run_id,
        agent=scope.agent,
        session=scope.session,
        agent_run=_given(scope.agent_run),
        status=status,
        code=code,
        redaction=state.redaction,
        started_at_ms=state.started_ms,
        ended_at_ms=None if state.ended < 0 else state.started_ms + state.ended,
        calls=tuple(_control(state, leg, rows, has_ended) for leg in state.legs),
        dropped_control_calls=state.dropped_legs,
    )


def ledger(packed: Packed | None, late: Late) -> tuple[CallRecord, ...]:
    """The effects of a run that goes on no more; what had not ended has ended with it."""
    if packed is None:
        return ()
    return tuple(
        CallRecord(
            str(row.id),
            row.tool,
            row.name,
            row.method,
            "aborted" if row.status == "pending" else row.status,
            row.ms,
            row.bytes_in,
            row.bytes_out,
        )
        for row in _rows(packed, late)
    )


def _rows(packed: Packed, late: Late) -> list[Row]:
    news = {int(call_id): (status, ms, size) for call_id, status, ms, size in late}
    return [
        msgspec.structs.replace(row, status=news[row.id][0], ms=news[row.id][1], bytes_out=news[row.id][2])
        if row.id in news
        else row
        for row in packed.ledger
    ]


def _control(state: TraceState, leg: LegMark, rows: Iterable[Row], has_ended: bool) -> ControlCall:
    is_exec = leg.number == 0
    is_last = leg is state.legs[-1]
    status = leg.status or ("failed" if has_ended else "running")
    has_value = is_last and status == "completed" and state.value is not None
    language = cast("Literal['javascript', 'typescript']", state.language)
    calls = [(row, state.calls[row.id]) for row in rows if state.calls[row.id].leg == leg.number]
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
        calls=tuple(_nested(state, row, mark, has_ended) for row, mark in calls),
        more_calls=leg.more_calls,
    )


def _nested(state: TraceState, row: Row, mark: CallMark, has_ended: bool) -> NestedCall:
    status: CallStatus = "aborted" if row.status == "pending" and has_ended else row.status
    return NestedCall(
        id=str(row.id),
        tool=row.tool,
        # what has no id was named by the program, in words that may be anything
        name=row.name if row.tool or state.redaction != "shape" else "",
        method=row.method,
        status=status,
        started_at_ms=state.started_ms + mark.start,
        ended_at_ms=_ended_at(state, row, mark, status),
        ms=row.ms,
        bytes_in=row.bytes_in,
        bytes_out=row.bytes_out,
        input=_input(state, row, mark),
        result=_content(state, f"r{row.id}", mark.result, row.bytes_out) if mark.result else None,
        error=mark.error,
        approval=_approval(state, state.approvals.get(row.id)),
    )


def _ended_at(state: TraceState, row: Row, mark: CallMark, status: CallStatus) -> int | None:
    if status == "pending":
        return None
    if row.status == "pending" or (status == "aborted" and not row.ms):  # it ended with its run
        return None if state.ended < 0 else state.started_ms + state.ended
    return state.started_ms + mark.start + round(row.ms)


def _input(state: TraceState, row: Row, mark: CallMark) -> Content | None:
    shape: dict[str, Any] = msgspec.json.decode(state.shapes[mark.shape]) if mark.shape >= 0 else {}
    recorded = state.recorded.get(f"i{row.id}")
    if recorded is not None:
        shape["value"] = msgspec.json.decode(recorded)
    return shape | {"bytes": row.bytes_in} if shape else None


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


def _given(field: str) -> str:
    return "" if field == "-" else field
