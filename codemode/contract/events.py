"""What happens in runs, as it happens: a typed event for each step. The engine's hub hands them out
(runs/event_hub.py)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct

from codemode.contract.error_codes import ErrorCode
from codemode.contract.results import Output, WaitReason
from codemode.contract.telemetry import CallMethod, CallStatus

ApprovalOutcome = Literal["approved", "denied", "gone"]


class _Event(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", omit_defaults=True):
    """`at_ms` is wall time since 1970."""

    run_id: str
    at_ms: int

    def to_dict(self) -> dict[str, Any]:
        return msgspec.json.decode(msgspec.json.encode(self))


class RunStarted(_Event, frozen=True, tag="started"):
    """`tool_call` is the caller's argument of exec; by it the caller learns the id of its running run."""

    type: ClassVar[Literal["started"]] = "started"
    session: str
    language: str
    tool_call: str = ""


class OutputAdded(_Event, frozen=True, tag="output"):
    type: ClassVar[Literal["output"]] = "output"
    item: Output


class CallStarted(_Event, frozen=True, tag="call_started"):
    type: ClassVar[Literal["call_started"]] = "call_started"
    call_id: str
    tool: str
    name: str
    method: CallMethod


class CallFinished(_Event, frozen=True, tag="call_finished"):
    type: ClassVar[Literal["call_finished"]] = "call_finished"
    call_id: str
    tool: str
    name: str
    status: CallStatus
    ms: float


class CallUpdated(_Event, frozen=True, tag="call_update"):
    """Progress that a running tool reported, in the tool's own terms. Its values are not redacted."""

    type: ClassVar[Literal["call_update"]] = "call_update"
    call_id: str
    tool: str
    progress: Any


class ApprovalOpened(_Event, frozen=True, tag="approval_opened"):
    """A call waits for somebody's yes. The arguments are in `engine.approvals()`: they are for people."""

    type: ClassVar[Literal["approval_opened"]] = "approval_opened"
    approval_id: str
    call_id: str
    tool: str
    name: str
    summary: str


class ApprovalClosed(_Event, frozen=True, tag="approval_closed"):
    """Nobody is asked any more. "gone": the run is over, or the call was decided on at another engine."""

    type: ClassVar[Literal["approval_closed"]] = "approval_closed"
    approval_id: str
    call_id: str
    tool: str
    outcome: ApprovalOutcome


class RunSuspended(_Event, frozen=True, tag="suspended"):
    type: ClassVar[Literal["suspended"]] = "suspended"
    reason: WaitReason
    bytes: int


class RunResumed(_Event, frozen=True, tag="resumed"):
    type: ClassVar[Literal["resumed"]] = "resumed"
    settled: int


class LimitHit(_Event, frozen=True, tag="limit_hit"):
    type: ClassVar[Literal["limit_hit"]] = "limit_hit"
    code: ErrorCode


class LoopLate(_Event, frozen=True, tag="loop_late"):
    """The event loop of the engine was held up for so long. It belongs to no run: `run_id` is empty."""

    type: ClassVar[Literal["loop_late"]] = "loop_late"
    ms: float


class ToolsChanged(_Event, frozen=True, tag="tools_changed"):
    """An MCP server now describes tools otherwise than before. It belongs to no run: `run_id` is empty."""

    type: ClassVar[Literal["tools_changed"]] = "tools_changed"
    server: str
    tools: tuple[str, ...]  # their ids


class RunFinished(_Event, frozen=True, tag="finished"):
    """The last event of a run. A failed run has a `code`."""

    type: ClassVar[Literal["finished"]] = "finished"
    status: Literal["completed", "failed"]
    code: ErrorCode | None = None


Event = (
    RunStarted
    | OutputAdded
    | CallStarted
    | CallUpdated
    | CallFinished
    | ApprovalOpened
    | ApprovalClosed
    | RunSuspended
    | RunResumed
    | LimitHit
    | RunFinished
    | LoopLate
    | ToolsChanged
)
