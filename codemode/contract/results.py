"""The results of exec and wait: frozen structs that encode to exactly the JSON of the contract.

Attributes are snake_case, JSON keys camelCase. A result keeps the program's JSON as it came and decodes it
when the host asks for it. Pure: the engine fills these in, hosts and models read them.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NoReturn

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import replace

from codemode.contract.error_codes import ERRORS, ErrorCode, Phase
from codemode.contract.for_model import for_model
from codemode.contract.telemetry import Telemetry, utf8_bytes

WaitReason = Literal["pending_tools", "yield", "approval"]
PendingMethod = Literal["call", "search", "describe", "namespace", "timer", "yield"]
Bytes = bytes  # a field of that name hides the type
Level = Literal["log", "info", "warn", "error", "debug"]

_encoder = msgspec.json.Encoder()


class TextOutput(Struct, frozen=True, tag_field="type", tag="text", omit_defaults=True):
    """`level` is there for what came through console; `clipped` is there for an item that was too long, and
    says how many bytes it had before its middle was left out."""

    type: ClassVar[Literal["text"]] = "text"
    text: str
    level: Level | None = None
    clipped: int | None = None


class JsonOutput(Struct, frozen=True, tag_field="type", tag="json"):
    type: ClassVar[Literal["json"]] = "json"
    raw_value: Raw = field(name="value")

    @property
    def value(self) -> Any:
        """The value, decoded anew each time."""
        return msgspec.json.decode(self.raw_value)


class _ContentOutput(Struct, frozen=True, rename="camel", tag_field="type", omit_defaults=True):
    """`bytes` is their number. `data` (base64 in JSON) is there in results, `ref`, which names the content,
    in events and wherever else only its size is told."""

    mime_type: str
    bytes: int
    name: str | None = None
    data: Bytes | None = None
    ref: str | None = None


class ImageOutput(_ContentOutput, frozen=True, tag="image"):
    type: ClassVar[Literal["image"]] = "image"


class FileOutput(_ContentOutput, frozen=True, tag="file"):
    type: ClassVar[Literal["file"]] = "file"


Output = TextOutput | JsonOutput | ImageOutput | FileOutput


def output_bytes(item: Output) -> int:
    """About what it holds in memory."""
    match item:
        case TextOutput(text):
            return utf8_bytes(text)
        case JsonOutput():
            return len(item.raw_value)
        case _:
            return item.bytes


class PendingApproval(Struct, frozen=True):
    id: str
    summary: str


class PendingCall(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Work that the run waits for. `tool` is the catalog id, if the method has a tool; `reason` is the text
    that the program gave to `yield_control`."""

    id: str
    method: PendingMethod
    elapsed_ms: int
    tool: str | None = None
    approval: PendingApproval | None = None
    reason: str | None = None


class _Result(Struct, frozen=True, rename="camel", tag_field="status", omit_defaults=True):
    """`notes` are short sentences about what happened; the JSON of a result without notes has no such key."""

    def to_dict(self) -> dict[str, Any]:
        """The contract's JSON, as plain data."""
        return msgspec.json.decode(_encoder.encode(self))

    def to_json(self) -> str:
        return _encoder.encode(self).decode()

    def for_model(self) -> dict[str, Any]:
        """What to hand to a model: no telemetry, and at most maxOutputBytes + 8 KiB as compact JSON."""
        return for_model(self.to_dict())


class Completed(_Result, frozen=True, tag="completed"):
    status: ClassVar[Literal["completed"]] = "completed"
    raw_value: Raw = field(name="value")
    output: tuple[Output, ...]
    telemetry: Telemetry
    notes: tuple[str, ...] = ()

    @property
    def value(self) -> Any:
        """What the program returned, decoded anew each time."""
        return msgspec.json.decode(self.raw_value)

    def unwrap(self) -> Any:
        """The value. For other results, `unwrap` raises RunFailed or RunWaiting."""
        return self.value


class Waiting(_Result, frozen=True, tag="waiting"):
    status: ClassVar[Literal["waiting"]] = "waiting"
    run_id: str
    reason: WaitReason
    pending_tool_calls: tuple[PendingCall, ...]
    output: tuple[Output, ...]
    telemetry: Telemetry
    notes: tuple[str, ...] = ()

    def unwrap(self) -> NoReturn:
        """Raises RunWaiting: there is no value yet."""
        raise RunWaiting(self)


class Failed(_Result, frozen=True, tag="failed"):
    """`error` is text for the model; programs decide by `code`."""

    status: ClassVar[Literal["failed"]] = "failed"
    error: str
    code: ErrorCode
    phase: Phase
    output: tuple[Output, ...]
    telemetry: Telemetry
    notes: tuple[str, ...] = ()

    def unwrap(self) -> NoReturn:
        """Raises RunFailed, with the code and the text."""
        raise RunFailed(self)


CodeModeResult = Completed | Waiting | Failed


class RunFailed(Exception):
    """`unwrap` of a failed result raises it. The program's calls stay made: `result.notes` names them."""

    def __init__(self, result: Failed) -> None:
        super().__init__(result)
        self.result = result
        self.code: ErrorCode = result.code
        self.error = result.error

    def __str__(self) -> str:
        return f"{self.code}: {self.error}"


class RunWaiting(Exception):
    """`unwrap` of a waiting result raises it. The run stays suspended: `wait` goes on with it."""

    def __init__(self, result: Waiting) -> None:
        super().__init__(result)
        self.result = result
        self.run_id = result.run_id
        self.reason: WaitReason = result.reason

    def __str__(self) -> str:
        return f"the run {self.run_id} waits ({self.reason}): go on with wait"


_decoder: msgspec.json.Decoder[CodeModeResult] = msgspec.json.Decoder(CodeModeResult)
NOTHING_KNOWN = Telemetry(calls=())  # for a run of which this engine has no record


def failed(
    code: ErrorCode, error: str, output: tuple[Output, ...] = (), telemetry: Telemetry = NOTHING_KNOWN
) -> Failed:
    """Makes a failed result; its phase is that of the code."""
    return Failed(error, code, ERRORS[code].phase, output, telemetry)


def decode_result(data: bytes | str) -> CodeModeResult:
    """Reads the JSON of a result. Raises msgspec.DecodeError for data that is not one."""
    return _decoder.decode(data)


def with_duration(result: CodeModeResult, ms: float) -> CodeModeResult:
    """The result with how long its exec or wait took."""
    return replace(result, telemetry=replace(result.telemetry, duration_ms=round(ms, 3)))
