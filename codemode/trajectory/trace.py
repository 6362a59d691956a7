"""Noting what happens in a run while it happens: which leg, which call began when, how it was suspended.

Small, because it is stored with every snapshot: what the ledger knows is not said again, times are offsets,
equal shapes are kept once, and there is a bound on everything. While its run is suspended a trace is packed,
and what happens then is noted when it is unpacked. Each note is also a line of the debug log.
"""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from codemode.contract.results import Completed, Failed, Output, Waiting
from codemode.contract.telemetry import CallRecord, utf8_bytes
from codemode.trajectory.debug_log import note
from codemode.trajectory.recording import PartKind, Recording, shape_of, type_of
from codemode.trajectory.stored_trace import ApprovalMark, CallMark, LegMark, Packed, Row, TraceState

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

    __slots__ = ("_late", "_packed", "_recording", "_run_id", "_state", "_suspended_for")

    def __init__(self, run_id: str, recording: Recording) -> None:
        self._run_id = run_id
        self._recording = recording
        self._state: TraceState | None = None  # while the run is suspended it is packed, or only in the store
        self._packed = b""
        self._suspended_for = ""  # why, once the leg has been noted as ended by that
        self._late: tuple[Callable[[TraceState], None], ...] = ()

    # ---- notes ---------------------------------------------------------------------------------------------

    def start(self, program: str, language: str, tools: int) -> None:
        size = utf8_bytes(program)
        self._state = TraceState(_now(), language, size)
        _record(self._state, "p", self._take("program", "", lambda: msgspec.json.encode(program)))
        note(_run_log, "run_started", self._run_id, language=language, bytes=size, tools=tools)

    def begin_leg(self, tool_call: str) -> None:
        now, tool_call = _now(), "" if tool_call == "-" else tool_call
        self._suspended_for = ""

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
        end = self._ending("waiting", reason, output, _now())
        self._suspended_for = reason

        def suspend(state: TraceState) -> None:
            state.legs[-1].snapshot_bytes, state.legs[-1].capture_us = size, capture_us
            end(state)

        self._note(suspend)
        note(_snapshot_log, "taken", self._run_id, bytes=size, us=capture_us)

    def end_leg(self, result: Completed | Waiting | Failed, at_ms: int) -> None:
        why = ""
        value: tuple[str, int] | None = None
        taken: bytes | None = None
        match result:
            case Waiting(reason=reason):
                why = reason
            case Failed(code=code):
                why = code
            case Completed(raw_value=raw):
                value, taken = (type_of(raw), len(raw)), self._take("value", "", lambda: bytes(raw))
        is_noted = why != "" and why == self._suspended_for  # a suspended run holds no more than it must
        if not is_noted:
            end = self._ending(result.status, why, result.output, at_ms)

            def finish(state: TraceState) -> None:
                end(state)
                state.value = value
                _record(state, "v", taken)

            self._note(finish)
        calls = len(result.telemetry.calls)
        note(_run_log, "leg_ended", self._run_id, status=result.status, why=why, calls=calls)

    def end(self, status: str, at_ms: int) -> None:
        """The run is over; told again, the first time counts."""

        def end(state: TraceState) -> None:
            if state.ended < 0:
                state.ended = at_ms - state.started_ms

        self._note(end)
        note(_run_log, "run_ended", self._run_id, status=status)

    def begin_call(self, call_id: int, tool: str, args: bytes) -> None:
        """`args` is the guest's JSON array of arguments."""
        now, given = _now(), _first(args)
        shape = shape_of(given) if given else None
        taken = self._take("input", tool, lambda: given) if given else None

        def begin(state: TraceState) -> None:
            leg = state.legs[-1]
            if len(state.calls) >= MAX_CALLS:
                leg.more_calls += 1
                return
            known = _intern(state.shapes, shape)
            state.calls[call_id] = CallMark(now - state.started_ms, leg.number, known)
            _record(state, f"i{call_id}", taken)

        self._note(begin)
        note(_call_log, "call_started", self._run_id, call=call_id, tool=tool, input=shape)

    def finish_call(self, call_id: int, tool: str, status: str, data: bytes, rejected: bool) -> None:
        code, kind = (_code_of(data), "") if rejected else ("", type_of(data))
        taken = None if rejected else self._take("result", tool, lambda: data)

        def finish(state: TraceState) -> None:
            mark = state.calls.get(call_id)
            if mark is not None:
                mark.result, mark.error = kind, code
                _record(state, f"r{call_id}", taken)

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
            self._late = (*self._late, change)
        else:
            change(self._state)

    def _catch_up(self) -> None:
        if self._state is not None:
            for late in self._late:
                late(self._state)
            self._late = ()

    def _record_of(self, state: TraceState, calls: Sequence[CallRecord]) -> Packed:
        kept = [call for call in calls if int(call.id) in state.calls]
        return Packed(
            state,
            [Row(int(c.id), c.tool, c.name, c.method, c.status, c.ms, c.bytes_in, c.bytes_out) for c in kept],
        )

    def _ending(
        self, status: str, why: str, output: Sequence[Output], at_ms: int
    ) -> Callable[[TraceState], None]:
        """Holds on to nothing large: a suspended run keeps it until it goes on."""
        items = len(output)
        sizes = [len(item.raw_value) if item.type == "json" else utf8_bytes(item.text) for item in output]
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


def _record(state: TraceState, key: str, data: bytes | None) -> None:
    """What is past the bound keeps its shape only."""
    if data is None or key in state.recorded or state.recorded_bytes + len(data) > MAX_RECORDED_BYTES:
        return
    state.recorded[key] = data
    state.recorded_bytes += len(data)


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


def _json(item: Output) -> bytes:
    return bytes(item.raw_value) if item.type == "json" else msgspec.json.encode(item.text)


def _now() -> int:
    return int(time.time() * 1000)


def _deflate(data: bytes) -> bytes:
    return b"\1" + zlib.compress(data, 1) if len(data) > _WORTH_COMPRESSING else b"\0" + data


def _inflate(data: bytes) -> bytes:
    return zlib.decompress(data[1:]) if data[:1] == b"\1" else data[1:]
