"""What a worker says to the host: one struct per message, strict. What the host says is in orders.py.

The worker forwards what its guest sent without reading it; the host decodes it here, typed, and treats any
deviation as an attack: `decode_from_worker` returns a message or raises FrameRefused, for any bytes. Values
of programs stay raw JSON until they are needed (`decode_value`). Loads nothing of WebAssembly.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct, field

from codemode_runtime.batches import INLINE_BYTES
from codemode_runtime.frames import FrameRefused
from codemode_runtime.parts import MAX_PARTS, measure, refusal_of
from codemode_runtime.shapes import MAX_IGNORED, MAX_OUTLINE, MAX_REASON, Layer, LossyValue, Stop

WorkId = Annotated[int, Meta(ge=1, le=0xFFFFFFFF)]
Count = Annotated[int, Meta(ge=0, le=0xFFFFFFFF)]
Micros = Annotated[int, Meta(ge=0)]
Name = Annotated[str, Meta(max_length=200)]
Strip = Annotated[str, Meta(pattern="^(?:[0-9a-f]{2})*$", max_length=16_384)]
# what a guest read, in hex: the wall clock and the monotonic one (doubles, milliseconds), randomness
Reads = tuple[Strip, Strip, Strip]
T = TypeVar("T")
M = TypeVar("M")  # messages: a worker writes them raw, the host reads them typed
R = TypeVar("R")  # a result or a failure, in the same way


class Message(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag=str.lower):
    """The head of a frame. Unknown fields are refused."""


# ---- what a guest sends ------------------------------------------------------------------------------


class Call(Message, frozen=True):
    """A nested call; `args` is a JSON array."""

    id: WorkId
    method: Literal["call", "search", "describe", "namespace", "mcp"]
    target: str
    args: Raw


class Yield(Message, frozen=True):
    """`reason` is the text given to `yield_control`, clipped by the guest."""

    id: WorkId
    reason: Annotated[str, Meta(max_length=MAX_REASON)] | None = None


class Timer(Message, frozen=True):
    id: WorkId
    ms: Annotated[int, Meta(ge=0, le=0x7FFFFFFF)]


class Clear(Message, frozen=True):
    id: WorkId


class Text(Message, frozen=True, omit_defaults=True):
    """`clipped`: how many bytes the text had before the guest left out its middle."""

    text: str
    level: Literal["log", "info", "warn", "error", "debug"] | None = None
    clipped: Count | None = None


class Json(Message, frozen=True):
    value: Raw


class ContentShown(Message, frozen=True, tag="content"):
    """Shows content that the host has, by the id in its handle. The program may have made the id up."""

    as_: Literal["image", "file"] = field(name="as")
    id: Annotated[str, Meta(min_length=36, max_length=36)]


class Ignored(Message, frozen=True):
    """A locale, a time zone or an option that the program asked for in vain, by its name and value."""

    what: Annotated[str, Meta(max_length=MAX_IGNORED)]


GuestMessage = Call | Yield | Timer | Clear | Text | Json | ContentShown | Ignored
GuestOutput = Text | Json | ContentShown
GuestMessages = tuple[GuestMessage, ...]


# ---- worker to host --------------------------------------------------------------------------------------


class Spent(Struct, frozen=True, forbid_unknown_fields=True):
    """Microseconds spent on one request: preparing the text, restoring, computing."""

    prepare_us: Micros = 0
    restore_us: Micros = 0
    run_us: Micros = 0


class Value(Struct, frozen=True, forbid_unknown_fields=True):
    """`last_line` and `last_column` are there where the program returned nothing: where its last statement
    starts; line 0 if it has none."""

    value: Raw
    lossy: tuple[LossyValue, ...]
    last_line: Count | None = None
    last_column: Count = 0


class ThrownError(Struct, frozen=True, forbid_unknown_fields=True):
    name: str | None = None
    message: str | None = None
    code: str | None = None
    stack: str | None = None


class Cause(Struct, frozen=True, forbid_unknown_fields=True):
    name: str | None = None
    message: str | None = None


class Failure(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`call` is the call that failed and caused the error, 0 if none did. `bytes` and `outline` describe a
    value that is too large, `parts` and `head` one that has too many parts.

    `causes` are the errors behind the thrown one: its cause, what an AggregateError holds, and so on.
    """

    kind: Literal["exception", "syntax", "unhandled", "deadlock", "value_too_large"]
    call: Count = 0
    error: ThrownError | None = None
    causes: tuple[Cause, ...] = ()
    thrown: Raw = Raw()  # empty for undefined and for an error; a union with None would refuse every value
    bytes: Count = 0
    parts: Count = 0  # of a value that has too many of them
    head: str = ""
    outline: Annotated[str, Meta(max_length=MAX_OUTLINE)] = ""


class _Measured(Message, frozen=True, kw_only=True, omit_defaults=True):
    """What a worker adds to what its guest says. A large batch is in the frame's tail, in so many `chunks`
    (batches.py), and so is a large result or failure: `apart`, it is the last of them. `reads` are there if
    the host asked for them (orders.TapeReads); `reads_cut`: the guest read more."""

    spent: Spent = Spent()
    chunks: Count = 0
    apart: bool = False
    reads: Reads | None = None
    reads_cut: bool = False


class _Outcome(_Measured, Generic[M], frozen=True):
    """How a guest came to rest. The guest gives its own JSON as bytes; a worker sends it on, unread; the host
    reads it, typed."""

    messages: M


class Idle(_Outcome[M], Generic[M], frozen=True):
    """Waiting for the host. `returned`: the program has ended, but not the calls that it never awaited."""

    returned: bool
    pending_calls: Count
    pending_timers: Count
    pending_yields: Count


class Done(_Outcome[M], Generic[M, R], frozen=True):
    result: R


class Threw(_Outcome[M], Generic[M, R], frozen=True):
    """The program ended with an error, or could not be compiled."""

    failure: R


class Stopped(_Outcome[M], Generic[M], frozen=True):
    """Ended by a limit where no program can catch it; `messages` holds what it had sent by then."""

    reason: Stop


class Interrupted(_Outcome[M], Generic[M], frozen=True):
    """The guest was still computing at its deadline. `messages` holds what could be read."""


class Refused(Message, frozen=True):
    """The text was refused before anything ran."""

    code: Literal["invalid_input", "module_access_denied", "typescript_transform_failed"]
    message: str
    line: Count | None = None
    column: Count | None = None
    source_line: str | None = None


class Doubtful(Message, frozen=True):
    """The text may be no plain JavaScript: nothing was done with it, and a check has to say what it is."""


class Checked(Message, frozen=True):
    """A checker's answer: the frame's tail is the code to run, in UTF-8."""

    prepare_us: Micros


class RestoreRefused(Message, frozen=True):
    """The delta was not restored: it is not of this build, or larger than the limits of this leg."""

    code: Literal["snapshot_restore_failed", "memory_limit_exceeded"]
    message: str


class Ready(Message, frozen=True):
    """A fresh guest waits for its program. `layers` are those of the worker's own stage."""

    layers: tuple[Layer, ...]


class Captured(Message, frozen=True):
    """The frame's tail is the delta; empty if it exceeds `max_bytes` of the request. `names` are those of a
    world, each with the type of its value."""

    bytes: Count
    capture_us: Micros
    names: Annotated[tuple[tuple[Name, Name], ...], Meta(max_length=1000)] = ()
    reads: Reads | None = None
    reads_cut: bool = False


class LookupRequest(Message, frozen=True):
    kind: Annotated[int, Meta(ge=0, le=8)]
    key: str


Outcome = (
    Idle[GuestMessages]
    | Done[GuestMessages, Value]
    | Threw[GuestMessages, Failure]
    | Stopped[GuestMessages]
    | Interrupted[GuestMessages]
    | Refused
    | RestoreRefused
)
FromWorker = Outcome | Doubtful | Checked | Ready | Captured | LookupRequest


# ---- bytes -----------------------------------------------------------------------------------------------

_encoder = msgspec.json.Encoder()
_from_worker = msgspec.json.Decoder(FromWorker)
_value: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_chunk = msgspec.json.Decoder(GuestMessages)
_single = msgspec.json.Decoder(GuestMessage)
_done = msgspec.json.Decoder(Value)
_failed = msgspec.json.Decoder(Failure)
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError)
_MAX_FACTS = 2_000  # parts of a result beside its value, and of a failure beside what was thrown
MAX_THROWN = 16_384  # bytes of a thrown value that the guest tells, and so the most parts of it


def encode(message: Message) -> bytes:
    return _encoder.encode(message)


def decode_from_worker(head: bytes) -> FromWorker:
    """For the host. Takes any bytes: returns a message or raises FrameRefused, and nothing else."""
    message: FromWorker = _read(_from_worker, head)
    if isinstance(message, Done):
        decode_value(message.result.value)
    if isinstance(message, Done | Idle | Threw | Stopped | Interrupted):
        _check_values(message.messages)
    return message


def decode_chunk(chunk: memoryview) -> GuestMessages:
    """The messages of one chunk. A large one is a single message: that makes no more than its fields."""
    data = bytes(chunk)
    messages: GuestMessages
    if data[:1] == b"{":
        messages = (_read(_single, data),)
    elif len(data) > INLINE_BYTES:
        raise FrameRefused("a large chunk of several messages")
    else:
        messages = _read(_chunk, data)
    _check_values(messages)
    return messages


def decode_result(chunk: memoryview) -> Value:
    data = bytes(chunk)
    _require_parts(data, MAX_PARTS + _MAX_FACTS)
    result: Value = _read(_done, data)
    decode_value(result.value)
    return result


def decode_failure(chunk: memoryview) -> Failure:
    data = bytes(chunk)
    _require_parts(data, MAX_THROWN + _MAX_FACTS)
    return _read(_failed, data)


def _read(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    try:
        data.decode()  # the decoder does not check the parts that it skips
        return decoder.decode(data)
    except _REFUSED as error:
        raise FrameRefused(f"no message of a worker: {error}") from None


def _require_parts(data: bytes, most: int) -> None:
    if measure(data).parts > most:
        raise FrameRefused(f"more than {most} parts in a result")


def _check_values(messages: GuestMessages) -> None:
    """Checks that values which go into a result unread will decode later: a number of 5,000 digits is JSON,
    and yet no decoder takes it."""
    for item in messages:
        if isinstance(item, Json):
            decode_value(item.value)


def decode_value(raw: Raw | bytes) -> Any:
    """A program's JSON as Python data; FrameRefused if it is not JSON, too deep or in too many parts."""
    data = bytes(raw)
    refusal = refusal_of(data)
    if refusal is not None:
        raise FrameRefused(f"JSON {refusal}")
    try:
        return _value.decode(data)
    except _REFUSED as error:
        raise FrameRefused(f"not JSON: {error}") from None
