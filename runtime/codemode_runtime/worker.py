"""The worker process: runs one leg of one run at a time, for a host at the other end of a socket.

It forwards and decides nothing: what a guest sends goes to the host unread. The guest exists before its
program arrives, so that only evaluation is on the critical path. zygote.py starts it; any failure here ends
the process, and the host fails that one run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from codemode_runtime import batches, wire
from codemode_runtime.compile import SourceError, prepare
from codemode_runtime.delta import DeltaRefused
from codemode_runtime.frames import Data, FrameRefused
from codemode_runtime.guest import Guest, GuestOutcome
from codemode_runtime.line import Line, Nowhere
from codemode_runtime.offered import OfferedDescriptor
from codemode_runtime.parts import MAX_PARTS, measure
from codemode_runtime.shapes import Layer, Limits, Settlement, Stop, pack_settlements
from codemode_runtime.watchdog import Interruptible, Watchdog

_HEAD = 200  # characters of a value that is not told whole


class WorkerLoop:
    """Serves frames until the host closes the socket. Make it before confinement: it starts a thread."""

    def __init__(self, line: Line, make_guest: Callable[[], Guest], memory_bytes: int) -> None:
        self._line: Line | Nowhere = line
        self._make_guest = make_guest
        self._memory_bytes = memory_bytes
        self._watchdog = Watchdog(self._answer_and_exit)
        self._watchdog.start()
        self._deadline = self._late = 0.0  # of the leg
        self._expects_soon = False  # a request is announced, or the guest waits for calls, which may be quick

    def serve(self, layers: Sequence[Layer]) -> None:
        """`layers` is what confinement did to this process."""
        self._reset(layers)
        while (frame := self._line.receive(soon=self._expects_soon)) is not None:
            self._obey(wire.decode_to_worker(frame.head), frame.tail)

    def rehearse(self) -> None:
        """Runs a leg that the host does not see: a fork shares its parent's pages until it touches them.

        Touching them all takes longer than a short leg, so it is done now and not while a program waits.
        """
        line, self._line = self._line, Nowhere()
        self._guest = self._make_guest()
        program, limits = "return await tools.call('x')", Limits(memory_bytes=self._memory_bytes)
        start = wire.StartLeg(program, "javascript", limits, 60_000, wire.Offer())
        self._obey(wire.decode_to_worker(wire.encode(start)), b"")
        delta = self._guest.capture()
        settled = pack_settlements([Settlement(1)])
        self._obey(wire.decode_to_worker(wire.encode(wire.Deliver())), settled)
        self._guest.close()
        self._guest = self._make_guest()
        resume = wire.ResumeLeg(limits, 60_000, wire.Offer(), len(settled))
        self._obey(wire.decode_to_worker(wire.encode(resume)), settled + delta)
        self._guest.close()
        self._line = line

    def _obey(self, order: wire.ToWorker, tail: Data) -> None:
        match order:
            case wire.Attend():
                self._expects_soon = True
                self._line.attend()
            case wire.StartLeg() as start:
                self._start(start)
            case wire.ResumeLeg() as resume:
                self._resume(resume, tail)
            case wire.Deliver():
                self._deliver(tail)
            case wire.Capture(max_bytes):
                self._capture(max_bytes)
            case wire.Reset():
                self._guest.close()
                self._reset(())
            case wire.LookupAnswer():
                raise FrameRefused("an answer to no question")

    def _reset(self, layers: Sequence[Layer]) -> None:
        self._watchdog.arm(None)
        self._expects_soon = False
        self._guest = self._make_guest()
        self._line.send(wire.encode(wire.Ready(tuple(layers))))

    def _begin(self, limits: Limits, budget_ms: int, late_ms: int, offer: wire.Offer) -> None:
        self._deadline, self._late = time.monotonic() + budget_ms / 1000, late_ms / 1000
        self._watchdog.arm(self._deadline)
        if limits.memory_bytes > self._memory_bytes:
            raise FrameRefused(
                f"{limits.memory_bytes} bytes for a guest that has room for {self._memory_bytes}"
            )
        self._guest.configure(limits, OfferedDescriptor(offer, self._line))

    def _start(self, start: wire.StartLeg) -> None:
        self._begin(start.limits, start.budget_ms, start.late_ms, start.offer)
        began = time.perf_counter_ns()
        self._watchdog.enter(None)
        try:
            prepared = prepare(start.program, start.language, allow={start.language})
        except SourceError as error:
            self._watchdog.leave()
            refused = wire.Refused(error.code, error.message, error.line, error.column, error.source_line)
            self._line.send(wire.encode(refused))
            return
        self._watchdog.leave()
        self._compute(lambda: self._guest.start(prepared.code), prepare_us=_micros_since(began))

    def _resume(self, resume: wire.ResumeLeg, tail: Data) -> None:
        settlements, delta = tail[: resume.settlements_bytes], memoryview(tail)[resume.settlements_bytes :]
        self._begin(resume.limits, resume.budget_ms, resume.late_ms, resume.offer)
        began = time.perf_counter_ns()
        try:
            self._guest.restore(delta, resume.limits)
        except DeltaRefused as error:
            self._refuse_restore(wire.RestoreRefused("snapshot_restore_failed", str(error)))
        except MemoryError as error:
            self._refuse_restore(wire.RestoreRefused("memory_limit_exceeded", str(error)))
        else:
            self._deliver(settlements, restore_us=_micros_since(began))

    def _deliver(self, settlements: Data, restore_us: int = 0) -> None:
        """What came late may be computed with for a while, so that a small computation is no timeout."""
        late = min(time.monotonic() + self._late, self._deadline + self._late)
        self._watchdog.arm(max(self._deadline, late))
        self._compute(lambda: self._guest.deliver_packed(settlements), restore_us=restore_us)

    def _refuse_restore(self, refused: wire.RestoreRefused) -> None:
        self._line.send(wire.encode(refused))

    def _compute(self, step: Callable[[], GuestOutcome], prepare_us: int = 0, restore_us: int = 0) -> None:
        began = time.perf_counter_ns()
        self._watchdog.enter(self._guest)
        outcome = step()
        self._watchdog.leave()
        self._report(outcome, wire.Spent(prepare_us, restore_us, _micros_since(began)))

    def _report(self, outcome: GuestOutcome, spent: wire.Spent) -> None:
        self._expects_soon = isinstance(outcome, wire.Idle) and outcome.pending_calls > 0
        measured: dict[str, Any] = {"spent": spent}
        try:
            head, tail = _encode(outcome, measured)
        except batches.TooMuch:
            head, tail = wire.encode(wire.Stopped(Raw(b"[]"), Stop.MESSAGES, **measured)), b""
        self._line.send(head, tail)

    def _capture(self, max_bytes: int) -> None:
        began = time.perf_counter_ns()
        delta = self._guest.capture()
        captured = wire.Captured(len(delta), _micros_since(began))
        self._line.send(wire.encode(captured), delta if len(delta) <= max_bytes else b"")

    def _answer_and_exit(self, guest: Interruptible | None) -> NoReturn:
        """Runs in the watchdog's thread. The guest computes on, so its messages may be half written."""
        try:
            sent = b"[]" if guest is None else guest.read_messages()
            try:
                batches.split(sent)
                head, tail = _encode(wire.Interrupted(sent), {})
            except (batches.TooMuch, FrameRefused):
                head, tail = _encode(wire.Interrupted(b"[]"), {})
            self._line.send(head, tail)
        finally:
            os._exit(0)


def _encode(outcome: GuestOutcome, measured: dict[str, Any]) -> tuple[bytes, bytes]:
    """Head and tail of the frame: the guest's JSON as it is, in the tail if it is large."""
    chunks: list[bytes] = []
    own = {"messages": Raw(outcome.messages)}
    if len(outcome.messages) > batches.INLINE_BYTES:
        chunks = batches.split(outcome.messages)
        own["messages"] = Raw(b"[]")
        measured["chunks"] = len(chunks)
    match outcome:
        case wire.Done(result=result) if len(result) > MAX_PARTS and measure(result).parts > MAX_PARTS:
            failure = _too_many_parts(result)
            outcome = wire.Threw(outcome.messages, failure)
            return _encode_end(outcome, "failure", failure, b"", own, chunks, measured)
        case wire.Done(result=result):
            return _encode_end(outcome, "result", result, b'{"value":null,"lossy":[]}', own, chunks, measured)
        case wire.Threw(failure=failure):
            return _encode_end(outcome, "failure", failure, b'{"kind":"exception"}', own, chunks, measured)
        case _:
            return wire.encode(replace(outcome, **own, **measured)), batches.pack(chunks)


def _encode_end(
    outcome: GuestOutcome,
    field: str,
    said: bytes,
    stand_in: bytes,
    own: dict[str, Raw],
    chunks: list[bytes],
    measured: dict[str, Any],
) -> tuple[bytes, bytes]:
    """`said` is how the program ended, as its guest says it."""
    own[field] = Raw(said)
    if len(said) > batches.INLINE_BYTES:
        own[field] = Raw(stand_in)
        measured["apart"] = True
        chunks.append(said)
    return wire.encode(replace(outcome, **own, **measured)), batches.pack(chunks)


def _too_many_parts(result: bytes) -> bytes:
    """The failure for a value that the host would not decode."""
    begins = result[: _HEAD + 20].decode(errors="ignore").removeprefix('{"value":')[:_HEAD]
    facts = {"bytes": len(result), "parts": measure(result).parts, "head": begins}
    return msgspec.json.encode({"kind": "value_too_large", **facts})


def _micros_since(began: int) -> int:
    return (time.perf_counter_ns() - began) // 1000
