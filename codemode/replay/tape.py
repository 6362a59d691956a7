"""Writes down a run as it goes: what its worker is asked, and what it answers.

A worker tells its tape of every request (workers/parties.py TapeSink), so that the order of settlements, the
batches in which they were delivered and the moments of each capture are those of the run itself. Bounded:
what is too much is given up as a whole, because half of a run cannot be run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

import msgspec
from codemode_runtime import orders, wire
from codemode_runtime.shapes import Limits, Lookup, Settlement
from msgspec.structs import replace

from codemode.replay.bundle import (
    NOTHING_READ,
    FoundName,
    KnownTool,
    Offered,
    Recorded,
    RecordedAnswer,
    WorkerTurn,
    decode_recorded,
    encode,
    raw,
)

MAX_TAPE_BYTES = 4 << 20
_TOO_LARGE = f"it was told more than {MAX_TAPE_BYTES >> 20} MiB, or did more"
_READ_TOO_MUCH = "it read the clock, or randomness, more often than is written down (1,000 times, 8 KiB)"
_INTERRUPTED = "it was stopped while it computed, at a moment that no replay meets again"
NOT_RECORDED = b"!it went on in an engine that records no values"
_NO_SPENT = wire.Spent()
O = TypeVar("O", bound=wire.Outcome)  # noqa: E741 - an outcome


NOTHING = Recorded("", "javascript", "", 1, 0)


class Tape:
    """Of one run. `cut` says why it cannot be replayed, and then nothing is kept."""

    def __init__(self, head: Recorded, cut: str = "") -> None:
        self._head = head  # without turns and names; not known before `thaw` in a leg that goes on
        self._turns: list[WorkerTurn] = []
        self._names: dict[tuple[int, str], FoundName] = {}
        self._offer: Offered | None = None
        self._size = 0
        self.cut = cut

    @classmethod
    def new(
        cls,
        program: str,
        language: Literal["javascript", "typescript"],
        build: str,
        timeout_ms: int,
        started_at_ms: int,
        tools: tuple[KnownTool, ...],
    ) -> Tape:
        return cls(Recorded(program, language, build, timeout_ms, started_at_ms, tools))

    # ---- what a worker tells -------------------------------------------------------------------------------

    def opened(
        self,
        order: Literal["start", "resume"],
        settled: Sequence[Settlement],
        limits: Limits,
        offer: orders.Offer,
    ) -> None:
        offered = Offered.of(offer)
        is_new, self._offer = offered != self._offer, offered
        size = sum(len(one.json) + len(one.key) for one in offer.answers) if is_new else 0
        self._add(WorkerTurn(order, (), NOTHING_READ, limits, offered if is_new else None), settled, size)

    def delivered(self, settled: Sequence[Settlement]) -> None:
        self._add(WorkerTurn("deliver"), settled)

    def _add(self, turn: WorkerTurn, settled: Sequence[Settlement], size: int = 0) -> None:
        self._count(size + sum(len(one.json) + 60 for one in settled))
        if not self.cut:
            self._turns.append(replace(turn, settled=tuple(RecordedAnswer.of(one) for one in settled)))

    def looked_up(self, kind: Lookup, key: str, found: bytes | None) -> None:
        self._count(len(key) + len(found or b""))
        if not self.cut:
            self._names[int(kind), key] = FoundName(int(kind), key, raw(found or b""))

    def answered(self, outcome: wire.Outcome) -> None:
        self._told(getattr(outcome, "reads", None), is_cut=getattr(outcome, "reads_cut", False))
        if isinstance(outcome, wire.Interrupted):
            self._give_up(_INTERRUPTED)
        self._count(len(msgspec.json.encode(outcome)))
        if not self.cut and self._turns:
            self._turns[-1] = replace(self._turns[-1], outcome=without_measures(outcome))

    def captured(self, message: wire.Captured) -> None:
        self._add(WorkerTurn("capture"), ())
        self._told(message.reads, is_cut=message.reads_cut)

    def _told(self, reads: wire.Reads | None, *, is_cut: bool) -> None:
        if is_cut:
            self._give_up(_READ_TOO_MUCH)
        elif reads is not None and not self.cut and self._turns:
            self._count(sum(map(len, reads)))
            self._turns[-1] = replace(self._turns[-1], reads=reads)

    def _count(self, size: int) -> None:
        self._size += size + 100
        if self._size > MAX_TAPE_BYTES:
            self._give_up(_TOO_LARGE)

    def _give_up(self, why: str) -> None:
        self.cut = self.cut or why
        self._turns, self._names = [], {}

    # ---- in and out of a snapshot --------------------------------------------------------------------------

    def recorded(self) -> Recorded | None:
        """All of it up to the last answer; None if it was given up."""
        if self.cut:
            return None
        turns = self._turns
        if turns and turns[-1].outcome is None and turns[-1].order != "capture":
            turns = turns[:-1]  # the worker is still at it
        return replace(self._head, names=tuple(self._names.values()), turns=tuple(turns))

    def freeze(self) -> bytes:
        """For the run's snapshot: JSON, or why there is none."""
        recorded = self.recorded()
        return b"!" + self.cut.encode() if recorded is None else encode(recorded)

    @classmethod
    def thawed(cls, data: bytes) -> Tape:
        cut = data[1:].decode() if data[:1] == b"!" else ""
        tape = cls(NOTHING, cut)
        tape.thaw(data)
        return tape

    def thaw(self, data: bytes) -> None:
        """Puts what the snapshot holds before what has been told since it was opened."""
        if data[:1] == b"!":
            self._give_up(data[1:].decode())
        if self.cut or not data:
            return
        found = decode_recorded(data)
        self._head = replace(found, names=(), turns=())
        self._turns[:0] = found.turns
        self._names = {(one.kind, one.key): one for one in found.names} | self._names
        self._offer = next((turn.offer for turn in reversed(self._turns) if turn.offer is not None), None)
        self._count(len(data))


def without_measures(outcome: O) -> O:
    """What depends on the program alone."""
    if isinstance(outcome, wire.Refused | wire.RestoreRefused):
        return outcome
    return replace(outcome, spent=_NO_SPENT, chunks=0, apart=False, reads=None, reads_cut=False)
