"""The exported form: a run as the tool calls it consists of. Frozen data; docs/observability.md has the JSON.

The outer calls (`exec`, then each `wait`) are tool calls with their nested calls under them. A trajectory
records what has happened; reading one runs nothing.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any, Literal

import msgspec
from codemode_runtime.language import Language
from msgspec import Struct

from codemode.contract.telemetry import CallError, CallMethod, CallStatus

VERSION = 1
RunStatus = Literal["running", "waiting", "completed", "failed", "expired", "aborted"]
ToolKind = Literal["code_mode_exec", "code_mode_wait"]
Redaction = Literal["shape", "custom", "none"]
# {type, bytes, ...} of a value; it has `value` only if the host chose to record values.
Content = dict[str, Any]


class _Part(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class Approval(_Part, frozen=True):
    """`approved` and `decided_at_ms` are set once a person or the host has decided."""

    id: str
    asked_at_ms: int
    approved: bool | None = None
    decided_at_ms: int | None = None


class NestedCall(_Part, frozen=True):
    """One call of a program. `tool` is the catalog id, empty if no tool ran (a search, an unknown name)."""

    id: str
    tool: str
    name: str
    method: CallMethod
    status: CallStatus
    started_at_ms: int
    ended_at_ms: int | None = None
    ms: float = 0
    bytes_in: int = 0
    bytes_out: int = 0
    input: Content | None = None
    result: Content | None = None
    error: str = ""  # the failure's code
    failure: CallError | None = None  # with `message` and `suggestion` only if the host records values
    approval: Approval | None = None
    answered_by: str = ""  # "hook": the tool did not run


class OutputFacts(_Part, frozen=True):
    """The output of text() and json() in this call. `values` only if the host chose to record them."""

    items: int
    bytes: int
    values: list[Any] | None = None


class Suspension(_Part, frozen=True):
    bytes: int
    capture_us: int


class Resumption(_Part, frozen=True):
    restore_us: int


class ControlCall(_Part, frozen=True):
    """One exec or one wait, with the nested calls that began in it."""

    name: Literal["exec", "wait"]
    tool_kind: ToolKind
    tool_input_kind: Language | Literal["run_id"]
    started_at_ms: int
    status: Literal["running", "completed", "waiting", "failed"]
    tool_call_id: str = ""  # the host's id, if it gave one
    ended_at_ms: int | None = None
    reason: str = ""  # why it is waiting
    code: str = ""  # why it failed
    input: Content | None = None
    value: Content | None = None
    output: OutputFacts | None = None
    resumed: Resumption | None = None
    suspended: Suspension | None = None
    calls: tuple[NestedCall, ...] = ()
    more_calls: int = 0  # calls that began here and were not kept


def save_private(path: str | Path, data: bytes) -> None:
    """Writes all or nothing, for its owner alone."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


class _Exported(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="format"):
    def to_dict(self) -> dict[str, Any]:
        return msgspec.json.decode(self.to_json())

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    def save(self, path: str | Path) -> None:
        """Writes all or nothing. Only the owner may read the file: it may hold recorded values."""
        save_private(path, msgspec.json.format(self.to_json()) + b"\n")


class Trajectory(_Exported, frozen=True, tag="codemode.trajectory"):
    """One run. `is_partial`: no more is known than that it existed, and its status."""

    version: int
    run_id: str
    agent: str
    session: str
    status: RunStatus
    redaction: Redaction
    agent_run: str = ""
    code: str = ""
    started_at_ms: int = 0
    ended_at_ms: int | None = None
    calls: tuple[ControlCall, ...] = ()
    dropped_control_calls: int = 0
    is_partial: bool = False

    def tree(self, width: int = 100) -> str:
        from codemode.trajectory.tree import draw_run

        return draw_run(self, width)


class SessionTrajectory(_Exported, frozen=True, tag="codemode.session"):
    """The runs of a session that are still known, oldest first."""

    version: int
    agent: str
    session: str
    runs: tuple[Trajectory, ...] = ()

    def tree(self, width: int = 100) -> str:
        from codemode.trajectory.tree import draw_session

        return draw_session(self, width)
