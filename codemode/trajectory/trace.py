"""Noting what happens in a run while it happens: which leg, which call began when, how it was suspended.

Small, because it is stored with every snapshot: what the ledger knows is not said again, times are offsets, equal
shapes are kept once, and there is a bound on everything. While its run is suspended a trace is packed, and what
happens then is noted when it is unpacked. Each note is also a line of the debug log.
"""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from codemode.contract import Completed, Failed, Output, Waiting
from codemode.telemetry import CallRecord
from codemode.trajectory.debug_log import note
from codemode.trajectory.marks import ApprovalMark, CallMark, LegMark, Packed, Row, TraceState
from codemode.trajectory.recording import PartKind, Recording, shape_of, type_of

_run_log = logging.getLogger("codemode.run")
_call_log = logging.getLogger("codemode.calls")
_snapshot_log = logging.getLogger("codemode.snapshots")

MAX_LEGS = 256
MAX_CALLS = 2000
MAX_RECORDED_BYTES = 1 << 20
_MAX_SHAPES = 64
_WORTH_COMPRESSING = 1024

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Packed)
_arguments = msgspec.json.Decoder(list[msgspec.Raw])


class _Code(Struct):
    code: str = ""


_code = msgspec.json.Decoder(_Code)


class Trace:
    """Of one run. Every note may be made at any time; nothing here can fail a run."""

    __slots__ = ("_late", "_packed", "_recording", "_run_id", "_state")

    def __init__(self, run_id: str, recording: Recording) -> None:
        self._run_id = run_id
        self._recording = recording
        self._state: TraceState | None = None  # while the run is suspended it is packed, or only in the store
        self._packed = b""
        self._late: list[Callable[[TraceState], None]] = []

    # ---- notes ---------------------------------------------------------------------------------------------

    def start(self, program: str, language: str, tools: int) -> None:
        size = len(program.encode(errors="replace"))
        self._state = TraceState(_now(), language, size)
        if self._recording.keeps_values:
            self._record(self._state, "program", "", "p", msgspec.json.encode(program))
        note(_run_log, "run_started", self._run_id, language=language, bytes=size, tools=tools)

    def begin_leg(self, tool_call: str) -> None:
        now, tool_call = _now(), "" if tool_call == "-" else tool_call

        def begin(state: TraceState) -> None:
            number = state.legs[-1].number + 1 if state.legs else 0
            state.legs.append(LegMark(number, now - state.started_ms, tool_call=tool_call))
            if self._recording.keeps_values:
                state.redaction = self._recording.redaction
            if len(state.legs) > MAX_LEGS:
                _drop_leg(state, 1)  # the exec stays, and the latest waits

        self._note(begin)

    def lease(self, pid: int | None) -> None:
        note(_run_log, "leg_started", self._run_id, worker=pid)

    def restore(self, restore_us: int) -> None:
        self._note(lambda state: setattr(state.legs[-1], "restore_us", restore_us))
        note(_snapshot_log, "restored", self._run_id, us=restore_us)

    def suspend(self, reason: str, output: Sequence[Output], size: int, capture_us: int) -> None:
        """Before the run is frozen, so that a snapshot knows how the leg that took it ended."""
        now = _now()

        def suspend(state: TraceState) -> None:
            leg = state.legs[-1]
            leg.snapshot_bytes, leg.capture_us = size, capture_us
            self._end(state, leg, now, "waiting", reason, output)

        self._note(suspend)
        note(_snapshot_log, "taken", self._run_id, bytes=size, us=capture_us)

    def end_leg(self, result: Completed | Waiting | Failed) -> None:
        now = _now()
        why = ""
        match result:
            case Waiting(reason=reason):
                why = reason
            case Failed(code=code):
                why = code
            case Completed():
                pass

        def end(state: TraceState) -> None:
            if not state.legs:
                return  # a run whose state could not be read again
            self._end(state, state.legs[-1], now, result.status, why, result.output)
            if isinstance(result, Completed):
                state.value = (type_of(result.raw_value), len(result.raw_value))
                self._record(state, "value", "", "v", bytes(result.raw_value))

        self._note(end)
        calls = len(result.telemetry.calls)
        note(_run_log, "leg_ended", self._run_id, status=result.status, why=why, calls=calls)

    def begin_call(self, call_id: int, tool: str, args: bytes) -> None:
        """`args` is the guest's JSON array of arguments."""
        now, given = _now(), _first(args)
        shape = shape_of(given) if given else None

        def begin(state: TraceState) -> None:
            leg = state.legs[-1]
            if len(state.calls) >= MAX_CALLS:
                leg.more_calls += 1
                return
            known = _intern(state.shapes, shape)
            state.calls[call_id] = CallMark(now - state.started_ms, leg.number, known)
            if given:
                self._record(state, "input", tool, f"i{call_id}", given)

        self._note(begin)
        note(_call_log, "call_started", self._run_id, call=call_id, tool=tool, input=shape)

    def finish_call(self, call_id: int, tool: str, status: str, data: bytes, rejected: bool) -> None:
        code = _code_of(data) if rejected else ""

        def finish(state: TraceState) -> None:
            mark = state.calls.get(call_id)
            if mark is not None:
                mark.result, mark.error = "" if rejected else type_of(data), code
                self._record(state, "result", tool, f"r{call_id}", data)

        self._note(finish)
        note(
            _call_log, "call_ended", self._run_id,
            call=call_id, tool=tool, status=status, code=code, bytes=len(data),
        )  # fmt: skip

    def ask(self, call_id: int, approval_id: str) -> None:
        now = _now()
        self._note(
            lambda state: state.approvals.update({call_id: ApprovalMark(approval_id, now - state.started_ms)})
        )
        note(_call_log, "approval_asked", self._run_id, call=call_id, approval=approval_id)

    def decide(self, call_id: int, approved: bool) -> None:
        now = _now()

        def decide(state: TraceState) -> None:
            mark = state.approvals.get(call_id)
            if mark is not None:
                mark.approved, mark.decided = approved, now - state.started_ms

        self._note(decide)
        note(_call_log, "approval_decided", self._run_id, call=call_id, approved=approved)

    # ---- keeping -------------------------------------------------------------------------------------------

    def freeze(self) -> TraceState | None:
        """For the snapshot. The same object goes on being written to."""
        return self._state

    def thaw(self, stored: TraceState | None) -> None:
        """What is packed here knows more than the snapshot: of waits in which nothing settled."""
        self._state = _decoder.decode(_inflate(self._packed)).state if self._packed else stored
        self._packed = b""
        self._catch_up()

    def pack(self, calls: Sequence[CallRecord]) -> None:
        """While nothing runs: small, and readable by itself."""
        if self._state is not None:
            self._packed = _deflate(_encoder.encode(self._record_of(self._state, calls)))
            self._state = None

    @property
    def size(self) -> int:
        return len(self._packed)

    def forget(self) -> None:
        """Its place is needed. A suspended run's trace is still in its snapshot."""
        self._packed = b""

    def look(self, calls: Sequence[CallRecord]) -> Packed | None:
        """What is known now; `calls` is the ledger while the run goes on. None if it was forgotten."""
        if self._state is not None:
            return _decoder.decode(_encoder.encode(self._record_of(self._state, calls)))
        if not self._packed:
            return None
        packed = _decoder.decode(_inflate(self._packed))
        for late in self._late:
            late(packed.state)
        return packed

    def _note(self, change: Callable[[TraceState], None]) -> None:
        if self._state is None:
            self._late.append(change)
        else:
            change(self._state)

    def _catch_up(self) -> None:
        if self._state is not None:
            for late in self._late:
                late(self._state)
            self._late = []

    def _record_of(self, state: TraceState, calls: Sequence[CallRecord]) -> Packed:
        kept = [call for call in calls if int(call.id) in state.calls]
        return Packed(
            state,
            [
                Row(int(c.id), c.tool, c.name, c.method, c.status, c.ms, c.bytes_in, c.bytes_out)
                for c in kept
            ],
        )

    def _end(
        self, state: TraceState, leg: LegMark, now: int, status: str, why: str, output: Sequence[Output]
    ) -> None:
        leg.end, leg.status, leg.why = now - state.started_ms, status, why
        leg.items = len(output)
        leg.output_bytes = sum(
            len(item.text.encode(errors="replace")) if item.type == "text" else len(item.raw_value)
            for item in output
        )
        if self._recording.keeps_values:
            for index, item in enumerate(output):
                data = msgspec.json.encode(item.text) if item.type == "text" else bytes(item.raw_value)
                self._record(state, "output", "", f"o{leg.number}.{index}", data)

    def _record(self, state: TraceState, kind: PartKind, tool: str, key: str, data: bytes) -> None:
        taken = self._recording.take(kind, tool, data) if key not in state.recorded else None
        if taken is not None and state.recorded_bytes + len(taken) <= MAX_RECORDED_BYTES:
            state.recorded[key] = taken
            state.recorded_bytes += len(taken)


def _drop_leg(state: TraceState, index: int) -> None:
    gone = state.legs.pop(index)
    state.dropped_legs += 1
    for call_id in [call_id for call_id, mark in state.calls.items() if mark.leg == gone.number]:
        del state.calls[call_id]


def _intern(shapes: list[bytes], shape: dict[str, object] | None) -> int:
    """-1 where the shape is not known, or there are too many to keep them all."""
    if shape is None:
        return -1
    encoded = msgspec.json.encode(shape)
    if encoded in shapes:
        return shapes.index(encoded)
    if len(shapes) >= _MAX_SHAPES:
        return -1
    shapes.append(encoded)
    return len(shapes) - 1


def _first(args: bytes) -> bytes:
    try:
        found = _arguments.decode(args)
    except (msgspec.DecodeError, RecursionError):
        return b""
    return bytes(found[0]) if found else b""


def _code_of(data: bytes) -> str:
    try:
        return _code.decode(data).code[:40]
    except (msgspec.DecodeError, RecursionError):
        return ""


def _now() -> int:
    return int(time.time() * 1000)


def _deflate(data: bytes) -> bytes:
    return b"\1" + zlib.compress(data, 1) if len(data) > _WORTH_COMPRESSING else b"\0" + data


def _inflate(data: bytes) -> bytes:
    return zlib.decompress(data[1:]) if data[:1] == b"\1" else data[1:]
