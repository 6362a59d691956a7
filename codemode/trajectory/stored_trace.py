"""The stored form of a trace. Structs are stored as arrays: new fields go at the end, with a default."""

from __future__ import annotations

from msgspec import Struct

from codemode.contract.error_codes import HealthStatus
from codemode.contract.telemetry import CallError, CallMethod, CallRecord, CallStatus
from codemode.trajectory.shapes import Redaction

# Of an error: whether it is retryable, and what its tool said: recoverable, status.
Failure = tuple[bool, bool | None, HealthStatus | None]


class LegMark(Struct, array_like=True):
    """One exec or wait. Times are milliseconds since the run began; -1 means not yet."""

    number: int  # 0 is the exec
    start: int
    end: int = -1
    status: str = ""
    why: str = ""  # the reason of a waiting leg, the code of a failed one
    tool_call: str = ""
    items: int = 0
    output_bytes: int = 0
    snapshot_bytes: int = 0
    capture_us: int = 0
    restore_us: int = 0
    more_calls: int = 0


class CallMark(Struct, array_like=True):
    """What the ledger does not say about a call."""

    start: int
    leg: int
    shape: int = -1
    result: str = ""
    error: str = ""
    failure: Failure | None = None
    answered_by: str = ""


class ApprovalMark(Struct, array_like=True):
    id: str
    asked: int
    decided: int = -1
    approved: bool = False


class TraceState(Struct, array_like=True):
    """`recorded` is JSON by key: p the program, i2 and r2 input and result of call 2, o1.0 the first output
    of leg 1, v the value."""

    started_ms: int
    language: str
    program_bytes: int
    legs: list[LegMark] = []
    calls: dict[int, CallMark] = {}
    shapes: list[bytes] = []
    approvals: dict[int, ApprovalMark] = {}
    value: tuple[str, int] | None = None
    dropped_legs: int = 0
    redaction: Redaction = "shape"
    recorded: dict[str, bytes] = {}
    recorded_bytes: int = 0
    ended: int = -1


# A line of the ledger: the fields of a CallRecord in their order, its id as a number.
Row = tuple[int, str, str, CallMethod, CallStatus, float, int, int]


class Packed(Struct, array_like=True):
    """A trace with its part of the ledger: everything that a trajectory is built from."""

    state: TraceState
    ledger: list[Row]


def row_of(call: CallRecord) -> Row:
    return (
        int(call.id), call.tool, call.name, call.method, call.status, call.ms, call.bytes_in, call.bytes_out
    )  # fmt: skip


def record_of(row: Row, mark: CallMark | None) -> CallRecord:
    if mark is None or mark.failure is None:
        return CallRecord(str(row[0]), *row[1:])
    retryable, recoverable, status = mark.failure
    return CallRecord(str(row[0]), *row[1:], CallError(mark.error, retryable, recoverable, status))
