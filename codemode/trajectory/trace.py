"""Notes what happens in a run while it happens: which leg, which call began when, how it was suspended.

A trace is small, because it is stored with every snapshot: it does not repeat the ledger, times are offsets,
equal shapes are kept once, and everything has a bound. While its run is suspended a trace is packed; what
happens then is noted when it is unpacked. The recorder (runs/recorder.py) tells it what happened, and when.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVarTuple

import msgspec
from msgspec.structs import replace

from codemode.contract.results import (
    Completed,
    Failed,
    JsonOutput,
    Output,
    TextOutput,
    Waiting,
    output_bytes,
)
from codemode.contract.telemetry import CallError, CallRecord, utf8_bytes
from codemode.trajectory.recording import (
    MAX_VALUE_BYTES,
    Content,
    PartKind,
    Recording,
    ValueShape,
    shape_of,
    shape_of_type,
    type_of,
)
from codemode.trajectory.stored_trace import (
    ApprovalMark,
    CallMark,
    Failure,
    LegMark,
    Packed,
    TraceState,
    row_of,
)

MAX_LEGS = 256
MAX_CALLS = 1_000  # the first of a run, which its ledger has in full
MAX_RECORDED_BYTES = 1 << 20
_MAX_SHAPES = 64
_WORTH_COMPRESSING = 1024

Facts = TypeVarTuple("Facts")
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Packed)
_arguments = msgspec.json.Decoder(list[msgspec.Raw])
_MAX_CODE = 80


class Trace:
    """The notes on a run; one per run. Every note may be made at any time; nothing here can fail a run."""

    __slots__ = ("_late", "_packed", "_recording", "_run_id", "_state", "_suspended_for")

    def __init__(self, run_id: str, recording: Recording) -> None:
        self._run_id = run_id
        self._recording = recording
        self._state: TraceState | None = None  # None while the run is suspended: packed, or only in the store
        self._packed = b""
        self._suspended_for = ""  # the reason, once `suspend` has noted the leg's end
        self._late: tuple[Callable[[TraceState], None], ...] = ()

    # ---- notes ---------------------------------------------------------------------------------------------

    def start(self, program: str, language: str, at_ms: int) -> None:
        self._state = TraceState(at_ms, language, utf8_bytes(program))
        _record(self._state, "p", self._take("program", "", lambda: msgspec.json.encode(program)))

    def begin_leg(self, tool_call: str, at_ms: int) -> None:
        self._suspended_for = ""

        def begin(state: TraceState) -> None:
            number = state.legs[-1].number + 1 if state.legs else 0
            state.legs.append(LegMark(number, at_ms - state.started_ms, tool_call=tool_call))
            if self._recording.keeps_values:
                state.redaction = self._recording.redaction
            if len(state.legs) > MAX_LEGS:
                _drop_leg(state, 1)  # the exec stays, and the latest waits

        self._note(begin)

    def drop_open_leg(self) -> None:
        """Removes the last leg if it has not ended: its wait was cancelled."""

        def drop(state: TraceState) -> None:
            if state.legs and state.legs[-1].end < 0:
                state.legs.pop()

        self._note(drop)

    def restore(self, restore_us: int) -> None:
        self._note(lambda state: setattr(state.legs[-1], "restore_us", restore_us))

    def suspend(self, reason: str, output: Sequence[Output], size: int, capture_us: int, at_ms: int) -> None:
        """Call before the run is frozen, so that the snapshot knows how its leg ended."""
        end = self._ending("waiting", reason, output, at_ms)
        self._suspended_for = reason

        def suspend(state: TraceState) -> None:
            state.legs[-1].snapshot_bytes, state.legs[-1].capture_us = size, capture_us
            end(state)

        self._note(suspend)

    def end_leg(self, result: Completed | Waiting | Failed, at_ms: int) -> None:
        why = why_of(result)
        value: tuple[str, int] | None = None
        taken: bytes | None = None
        if isinstance(result, Completed):
            raw = result.raw_value
            value, taken = (
                (type_of(bytes(memoryview(raw)[:1])), len(raw)),
                self._take("value", "", lambda: bytes(raw)),
            )
        if why != "" and why == self._suspended_for:
            return  # `suspend` noted it before the run was frozen: a suspended run holds no more than it must
        end = self._ending(result.status, why, result.output, at_ms)

        def finish(state: TraceState) -> None:
            end(state)
            state.value = value
            _record(state, "v", taken)

        self._note(finish)

    def end(self, at_ms: int) -> None:
        """The run is over; only the first call counts."""

        def end(state: TraceState) -> None:
            if state.ended < 0:
                state.ended = at_ms - state.started_ms

        self._note(end)

    def begin_call(
        self, call_id: int, tool: str, args: bytes, arguments: list[Any] | None, at_ms: int
    ) -> Content | None:
        """`args` is the guest's JSON array of arguments; `arguments` is the same decoded, None if it is too
        large for that. Returns the shape of the first."""
        shape: ValueShape | None = None
        taken: bytes | None = None
        if arguments is None or len(args) > MAX_VALUE_BYTES:
            shape = shape_of_type(args[1:2])
        elif arguments:
            shape = shape_of(arguments[0], len(args))
            if self._recording.keeps_values:
                taken = self._take("input", tool, lambda: _first(args))
        encoded = b"" if shape is None else shape.json
        self._note(_begin_call, call_id, at_ms, encoded, taken)
        return None if shape is None else shape.content

    def finish_call(
        self, call_id: int, tool: str, data: bytes, error: CallError | None, answered_by: str = ""
    ) -> None:
        """`data` is the result, or what the program is told of an error. Of that, texts are values too.
        `answered_by` says who answered in place of the tool."""
        if answered_by:
            self._note(_mark_answered, call_id, answered_by)
        taken = self._take("result", tool, lambda: data) if self._recording.keeps_values else None
        if error is None:
            self._note(_finish_call, call_id, type_of(data[:1]), "", None, taken)
        else:
            failure = (error.retryable, error.recoverable, error.status)
            self._note(_finish_call, call_id, "", error.code[:_MAX_CODE], failure, taken)

    def ask(self, call_id: int, approval_id: str, at_ms: int) -> None:
        self._note(
            lambda state: state.approvals.update(
                {call_id: ApprovalMark(approval_id, at_ms - state.started_ms)}
            )
        )

    def decide(self, call_id: int, approved: bool, at_ms: int) -> None:
        def decide(state: TraceState) -> None:
            mark = state.approvals.get(call_id)
            if mark is not None:
                mark.approved, mark.decided = approved, at_ms - state.started_ms

        self._note(decide)

    # ---- keeping -------------------------------------------------------------------------------------------

    def freeze(self) -> TraceState | None:
        """The state for the snapshot; later notes still change this object."""
        return self._state

    def thaw(self, stored: TraceState | None) -> None:
        """Prefers what is packed here: it knows waits in which nothing settled, the snapshot does not."""
        self._state = _decoder.decode(_inflate(self._packed)).state if self._packed else stored
        self._packed = b""
        self._catch_up()

    def pack(self, calls: Sequence[CallRecord]) -> None:
        """Makes the trace small while its run is suspended or over; `look` can still read it."""
        if self._state is not None:
            self._packed = _deflate(_encoder.encode(self._record_of(self._state, calls)))
            self._state = None

    @property
    def size(self) -> int:
        return len(self._packed)

    @property
    def packed(self) -> bytes:
        """What `pack` made; `unpacked` reads it."""
        return self._packed

    def forget(self) -> None:
        """Frees the packed bytes. A suspended run's trace is still in its snapshot."""
        self._packed = b""

    def look(self, calls: Sequence[CallRecord]) -> Packed | None:
        """What is known now; `calls` is the ledger of a run that goes on. None if the trace was forgotten."""
        if self._state is not None:
            return _decoder.decode(_encoder.encode(self._record_of(self._state, calls)))
        if not self._packed:
            return None
        packed = _decoder.decode(_inflate(self._packed))
        for late in self._late:
            late(packed.state)
        return packed

    def _note(self, change: Callable[[TraceState, *Facts], None], *facts: *Facts) -> None:
        """Changes the state, now or when there is one again."""
        if self._state is None:
            self._late = (*self._late, lambda state: change(state, *facts))
        else:
            change(self._state, *facts)

    def _catch_up(self) -> None:
        if self._state is not None:
            for late in self._late:
                late(self._state)
            self._late = ()

    def _record_of(self, state: TraceState, calls: Sequence[CallRecord]) -> Packed:
        return Packed(state, [row_of(call) for call in calls if int(call.id) in state.calls])

    def _ending(
        self, status: str, why: str, output: Sequence[Output], at_ms: int
    ) -> Callable[[TraceState], None]:
        """The change that ends a leg. Holds nothing large: a suspended run keeps it until it goes on."""
        items = len(output)
        sizes = [output_bytes(item) for item in output]
        taken = [self._take("output", "", lambda item=item: _json(item)) for item in output]

        def end(state: TraceState) -> None:
            if state.legs:
                leg = state.legs[-1]
                leg.end, leg.status, leg.why = at_ms - state.started_ms, status, why
                leg.items, leg.output_bytes = items, sum(sizes)
                for index, data in enumerate(taken):
                    _record(state, f"o{leg.number}.{index}", data)

        return end

    def _take(self, kind: PartKind, tool: str, data: Callable[[], bytes]) -> bytes | None:
        return self._recording.take(kind, tool, data()) if self._recording.keeps_values else None


def unpacked(data: bytes) -> Packed:
    """Raises msgspec.MsgspecError or zlib.error for what no trace packed."""
    return _decoder.decode(_inflate(data))


def why_of(result: Completed | Waiting | Failed) -> str:
    """The reason of a waiting result, the code of a failed one."""
    match result:
        case Waiting(reason=reason):
            return reason
        case Failed(code=code):
            return code
        case Completed():
            return ""


def _begin_call(state: TraceState, call_id: int, at_ms: int, shape: bytes, taken: bytes | None) -> None:
    leg = state.legs[-1]
    if len(state.calls) >= MAX_CALLS:
        leg.more_calls += 1
        return
    state.calls[call_id] = CallMark(at_ms - state.started_ms, leg.number, _intern(state.shapes, shape))
    if taken is not None:
        _record(state, f"i{call_id}", taken)


def _finish_call(
    state: TraceState, call_id: int, kind: str, error: str, failure: Failure | None, taken: bytes | None
) -> None:
    mark = state.calls.get(call_id)
    if mark is None:
        return
    mark.result, mark.error, mark.failure = kind, error, failure
    if taken is not None:
        _record(state, f"r{call_id}", taken)


def _mark_answered(state: TraceState, call_id: int, answered_by: str) -> None:
    mark = state.calls.get(call_id)
    if mark is not None:
        mark.answered_by = answered_by


def _record(state: TraceState, key: str, data: bytes | None) -> None:
    """Past the bound only the shape of a value is kept."""
    if data is None or key in state.recorded or state.recorded_bytes + len(data) > MAX_RECORDED_BYTES:
        return
    state.recorded[key] = data
    state.recorded_bytes += len(data)


def _drop_leg(state: TraceState, index: int) -> None:
    gone = state.legs.pop(index)
    state.dropped_legs += 1
    for call_id in [call_id for call_id, mark in state.calls.items() if mark.leg == gone.number]:
        del state.calls[call_id]


def _intern(shapes: list[bytes], shape: bytes) -> int:
    """The shape's index; -1 if it is not known or too many are kept."""
    if shape in shapes:
        return shapes.index(shape)
    if not shape or len(shapes) >= _MAX_SHAPES:
        return -1
    shapes.append(shape)
    return len(shapes) - 1


def _first(args: bytes) -> bytes:
    try:
        found = _arguments.decode(args)
    except (msgspec.DecodeError, RecursionError):
        return b""
    return bytes(found[0]) if found else b""


def _json(item: Output) -> bytes:
    """Of content, its type and size: never the bytes."""
    match item:
        case TextOutput(text):
            return msgspec.json.encode(text)
        case JsonOutput():
            return bytes(item.raw_value)
        case _:
            return msgspec.json.encode(replace(item, data=None))


def _deflate(data: bytes) -> bytes:
    return b"\1" + zlib.compress(data, 1) if len(data) > _WORTH_COMPRESSING else b"\0" + data


def _inflate(data: bytes) -> bytes:
    return zlib.decompress(data[1:]) if data[:1] == b"\1" else data[1:]
