"""What a result says of its run beside value and output: effect ledger, counts, durations, bytes, snapshots.

A result carries these structs; its JSON leaves out empty parts. Nothing here holds an argument, a result or
an environment value: inputs come in through `redact` only, which keeps their shape alone. runs/meter.py fills
the structs in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec
from codemode_runtime.shapes import LossyValue
from msgspec import Struct

from codemode.contract.error_codes import HealthStatus

CallMethod = Literal["call", "search", "describe", "namespace"]
CallStatus = Literal["ok", "error", "pending", "denied", "aborted"]
SnapshotEventKind = Literal["taken", "stored", "restored", "expired", "dropped"]

CALL_METHODS: tuple[CallMethod, ...] = ("call", "namespace")  # those that do something
DEFAULT_MAX_OUTPUT_BYTES = 65_536  # where the configuration does not set it
ANSWERED_BY = "answeredBy"  # in the meta of a call that a hook answered in place of its tool
_SHOWN_KEYS = 20
_MAX_KEY = 40


class CallError(Struct, frozen=True, omit_defaults=True):
    """Why a call failed, in the words that its tool chose. `code` is the one that the program sees.

    The rest is there where the tool said it (`ToolError`), `message` only together with some of it: the words
    of any other exception may hold what a log should not.
    """

    code: str
    retryable: bool  # always told
    recoverable: bool | None = None
    status: HealthStatus | None = None
    suggestion: str | None = None
    message: str | None = None


class CallEnd(Struct, frozen=True):
    """How one call ended; its record takes these values. `meta` is what the tool adds."""

    id: str
    status: CallStatus
    ms: float
    bytes_out: int
    error: CallError | None = None
    meta: dict[str, Any] | None = None


class CallRecord(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One nested call; `tool` is its catalog id, empty for a method without a tool."""

    id: str
    tool: str
    name: str
    method: CallMethod
    status: CallStatus
    ms: float
    bytes_in: int
    bytes_out: int
    error: CallError | None = None
    meta: dict[str, Any] | None = None

    def ended(self, end: CallEnd) -> CallRecord:
        how = (end.status, round(end.ms, 3), self.bytes_in, end.bytes_out, end.error, end.meta)
        return CallRecord(self.id, self.tool, self.name, self.method, *how)


class SnapshotCost(Struct, frozen=True, rename="camel"):
    """The cost of the snapshot with which a leg ended, or else of the one with which it began."""

    bytes: int
    capture_us: int
    restore_us: int


class SnapshotEvent(Struct, frozen=True):
    event: SnapshotEventKind
    bytes: int = 0
    us: int = 0


class CatalogFacts(Struct, frozen=True):
    size: int
    sources: dict[str, int]


class Telemetry(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`calls` and the counts cover the whole run; durations are milliseconds by phase. Of a run with more
    calls than 1,500 the first 1,000 and the last 500 are in `calls`, and `more_calls` counts the other calls
    of tools by name and by status.

    `duration_ms` is how long whoever called this exec or wait has waited. `failed_call` is the call whose
    failure ended the run.
    """

    calls: tuple[CallRecord, ...]
    more_calls: dict[str, dict[str, int]] = {}
    duration_ms: float = 0
    failed_call: str | None = None
    unawaited: tuple[str, ...] = ()  # ids of calls that were under way when the program returned
    clamped: tuple[str, ...] = ()  # limits that the program asked for and did not get
    ignored: tuple[str, ...] = ()  # locales, time zones and options that do not exist here
    lossy: tuple[LossyValue, ...] = ()
    hints: tuple[str, ...] = ()
    snapshot: SnapshotCost | None = None
    snapshot_events: tuple[SnapshotEvent, ...] = ()
    visible_tools: tuple[str, ...] = ()
    catalog: CatalogFacts | None = None
    parked: int = 0  # how often the run let go of its worker while it waited
    counts: dict[str, int] = {}
    called_tools: tuple[str, ...] = ()
    durations_ms: dict[str, float] = {}
    bytes: dict[str, int] = {}
    cap_failures: dict[str, int] = {}
    tokens_saved: int = 0
    max_output_bytes: int = DEFAULT_MAX_OUTPUT_BYTES  # the result's cap; the JSON leaves out the default


def redact(value: object) -> dict[str, Any]:
    """The shape of an input: its type, its size, and an object's own keys."""
    match value:
        case Mapping():
            keys = [str(key)[:_MAX_KEY] for key in cast("Mapping[object, object]", value)]
            shape: dict[str, Any] = {"type": "object", "keys": sorted(keys[:_SHOWN_KEYS])}
            if len(keys) > _SHOWN_KEYS:
                shape["moreKeys"] = len(keys) - _SHOWN_KEYS
        case list() | tuple():
            shape = {"type": "array", "length": len(cast("list[object]", value))}
        case str():
            shape = {"type": "string", "length": len(value)}
        case None:
            shape = {"type": "null"}
        case bool():
            shape = {"type": "boolean"}
        case int() | float():
            shape = {"type": "number"}
        case _:
            shape = {"type": "other"}
    return shape | {"bytes": _json_bytes(cast("object", value))}


def utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def estimate_tokens_saved(direct_chars: int, shown_chars: int) -> int:
    """Tokens the model did not read: schemas of all tools less those of exec and wait, 4 characters each."""
    return max(0, direct_chars - shown_chars) // 4


def _json_bytes(value: object) -> int:
    """The size as JSON, 0 for a value that is not JSON: an estimate must not fail a call."""
    try:
        return len(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError, OverflowError):
        return 0
