"""What the host tells a worker, in layouts that C and Python read alike (runtime/runner/worker.c). Pure.

The host is trusted, so this direction is kept simple for the worker: fixed words, then texts with their
lengths. What a worker says is JSON (wire.py), because the host decodes it typed and believes none of it.
Integers are unsigned and little-endian.
"""

from __future__ import annotations

import struct

from msgspec import Raw, Struct

from codemode_runtime.frames import FrameRefused
from codemode_runtime.language import Language, well_formed
from codemode_runtime.shapes import Limits

_ATTEND, _START, _RESUME, _DELIVER, _CAPTURE, _RESET, _ANSWER, _CHECK, _CHECK_TYPESCRIPT, _TAPE = range(1, 11)
_HAS_NAMESPACES, _BARE, _COMPLETE, _TYPESCRIPT, _CHECKED, _KEEPS = 1, 2, 4, 8, 16, 32
# kind, flags; budget, lateness; four limits; bytes of settlements; number and bytes of answers
_LEG = struct.Struct("<BB2xIIIIIIIII")
_LEG_HEAD = struct.Struct("<III")  # of an answer: kind, bytes of its key, of its JSON
_NUMBER = struct.Struct("<B3xI")
_CAPTURE_HEAD = struct.Struct("<BB2xI")  # of a capture: kind, whether the guest is at rest, how much
_FLAG = struct.Struct("<BB")
_MAX_WORD = 0xFFFFFFFF


class OfferedAnswer(Struct, frozen=True):
    """One answer that travels with the run, so that the worker need not ask."""

    kind: int
    key: str
    json: Raw


class Offer(Struct, frozen=True):
    """What a worker knows of the run descriptor from the start. `complete`: there is nothing else.

    `bare`: the program sees the language, console and its namespaces, nothing else.
    """

    has_namespaces: bool = False
    complete: bool = True
    answers: tuple[OfferedAnswer, ...] = ()
    bare: bool = False


class Attend(Struct, frozen=True):
    """A request follows at once: stay awake for it."""


class StartLeg(Struct, frozen=True):
    """`checked`: the text is what a check made of a program (compile), and runs as it is. `keeps`: what it
    declares stays in its world; the frame's tail is that world, or empty for a new one."""

    program: str
    language: Language
    limits: Limits
    budget_ms: int
    offer: Offer
    late_ms: int = 0  # after a late delivery the guest may compute so long, and the leg last longer by it
    checked: bool = False
    keeps: bool = False


class ResumeLeg(Struct, frozen=True):
    """The frame's tail is packed settlements, so many bytes of them, and the delta."""

    limits: Limits
    budget_ms: int
    offer: Offer
    settlements_bytes: int
    late_ms: int = 0


class Deliver(Struct, frozen=True):
    """The frame's tail is packed settlements."""


class Capture(Struct, frozen=True):
    """`at_rest`: of a program that is done, only its world."""

    max_bytes: int
    at_rest: bool = False


class Reset(Struct, frozen=True):
    """Forget the guest, make a fresh one and answer with Ready."""


class TapeReads(Struct, frozen=True):
    """Until the next one, or a reset: the worker tells what its guest reads of clocks and randomness, or with
    `replays` the guest reads what is in the frame's tail (`pack_reads`)."""

    replays: bool = False


class LookupAnswer(Struct, frozen=True):
    """The frame's tail is the JSON, if there is an answer."""

    found: bool


class CheckText(Struct, frozen=True):
    """For a checker: say whether this text is a program, and make JavaScript of it."""

    program: str
    language: Language
    budget_ms: int


Order = CheckText | Attend | StartLeg | ResumeLeg | Deliver | Capture | Reset | LookupAnswer | TapeReads
_PLAIN: dict[type[Order], int] = {Attend: _ATTEND, Deliver: _DELIVER, Reset: _RESET}


def encode(order: Order) -> bytes:
    """The head of the order's frame."""
    match order:
        case StartLeg():
            flags = _TYPESCRIPT * (order.language == "typescript") | _CHECKED * order.checked
            flags |= _KEEPS * order.keeps
            return _leg(_START, flags, order, 0, _text(order.program))
        case ResumeLeg():
            return _leg(_RESUME, 0, order, order.settlements_bytes, b"")
        case CheckText(program, language, budget_ms):
            kind = _CHECK_TYPESCRIPT if language == "typescript" else _CHECK
            return _NUMBER.pack(kind, budget_ms) + _text(program)
        case Capture(max_bytes, at_rest):
            return _CAPTURE_HEAD.pack(_CAPTURE, at_rest, min(max_bytes, _MAX_WORD))
        case LookupAnswer(found):
            return _FLAG.pack(_ANSWER, found)
        case TapeReads(replays):
            return _FLAG.pack(_TAPE, 2 if replays else 1)
        case _:
            return bytes((_PLAIN[type(order)],))


def pack_reads(reads: tuple[str, str, str]) -> bytes:
    """The tail of a TapeReads that replays: three strips in hex, as a worker told them."""
    strips = [bytes.fromhex(strip) for strip in reads]
    return struct.pack("<III", *map(len, strips)) + b"".join(strips)


def decode(head: bytes) -> Order:
    """For a worker written in Python. A failure here is a defect of the host, and ends the worker."""
    match head[0]:
        case 1:
            return Attend()
        case 2 | 3:
            return _read_leg(head)
        case 4:
            return Deliver()
        case 5:
            return Capture(_CAPTURE_HEAD.unpack(head)[2], bool(head[1]))
        case 6:
            return Reset()
        case 7:
            return LookupAnswer(bool(head[1]))
        case 8 | 9:
            language: Language = "javascript" if head[0] == _CHECK else "typescript"
            return CheckText(head[_NUMBER.size :].decode(), language, _NUMBER.unpack_from(head)[1])
        case 10:
            return TapeReads(head[1] == 2)
        case kind:
            raise FrameRefused(f"an order of kind {kind}")


def _leg(kind: int, flags: int, order: StartLeg | ResumeLeg, settlements: int, program: bytes) -> bytes:
    offer, limits = order.offer, order.limits
    flags |= _HAS_NAMESPACES * offer.has_namespaces | _BARE * offer.bare | _COMPLETE * offer.complete
    answers = b"".join([_answer(answer) for answer in offer.answers]) if offer.answers else b""
    words = (limits.memory_bytes, limits.output_bytes, limits.pending_calls, limits.message_bytes)
    times = (order.budget_ms, order.late_ms)
    fixed = _LEG.pack(kind, flags, *times, *words, settlements, len(offer.answers), len(answers))
    return b"".join((fixed, answers, program))


def _answer(answer: OfferedAnswer) -> bytes:
    key, json = answer.key.encode(), bytes(answer.json)
    return b"".join((_LEG_HEAD.pack(answer.kind, len(key), len(json)), key, json))


def _text(program: str) -> bytes:
    try:
        return program.encode()
    except UnicodeEncodeError:  # halves of surrogate pairs
        return well_formed(program).encode()


def _read_leg(head: bytes) -> StartLeg | ResumeLeg:
    kind, flags, budget, late, *limits, settlements, count, size = _LEG.unpack_from(head)
    at, answers = _LEG.size, list[OfferedAnswer]()
    for _ in range(count):
        its_kind, key, json = _LEG_HEAD.unpack_from(head, at)
        middle = at + _LEG_HEAD.size + key
        answers.append(
            OfferedAnswer(its_kind, head[middle - key : middle].decode(), Raw(head[middle : middle + json]))
        )
        at = middle + json
    if at != _LEG.size + size:
        raise FrameRefused("an offer whose lengths do not add up")
    offer = Offer(bool(flags & _HAS_NAMESPACES), bool(flags & _COMPLETE), tuple(answers), bool(flags & _BARE))
    if kind == _RESUME:
        return ResumeLeg(Limits(*limits), budget, offer, settlements, late)
    language: Language = "typescript" if flags & _TYPESCRIPT else "javascript"
    program, checked, keeps = head[at:].decode(), bool(flags & _CHECKED), bool(flags & _KEEPS)
    return StartLeg(program, language, Limits(*limits), budget, offer, late, checked, keeps)
