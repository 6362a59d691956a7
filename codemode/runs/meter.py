"""Counts while a run goes on: one meter per run, which adds everything to the engine's tally too.

A run that was suspended for an hour, or over a restart, counts on from where it was: `encode` writes the
counts into the run's stored state, `resume` reads them from there. It measures nothing: callers pass the
numbers in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from codemode.contract.error_codes import ErrorCode
from codemode.contract.telemetry import (
    CallEnd,
    CallError,
    CallMethod,
    CallRecord,
    CatalogFacts,
    LossyValue,
    SnapshotCost,
    SnapshotEvent,
    SnapshotEventKind,
    Telemetry,
)
from codemode.runs.ledger import OTHERS, Ledger

_Group = Literal["counts", "spent_us", "bytes", "cap_failures", "snapshots", "tools", "results"]
Step = Literal["queue", "prepare", "restore", "run", "capture", "store"]
Flow = Literal["callsIn", "callsOut", "output", "value", "snapshots"]

CAPS: frozenset[ErrorCode] = frozenset(
    (
        "timeout",
        "memory_limit_exceeded",
        "output_limit_exceeded",
        "snapshot_limit_exceeded",
        "too_many_pending_tool_calls",
    )
)
_PARKED = "parked"
_MAX_UNAWAITED = 200
_MAX_IGNORED = 8
_MAX_TEXTS = 200
_MAX_EVENTS = 100  # a run that is suspended more often keeps the latest

MAX_NAMES = 10_000  # in one group of sums


class Tally(Struct, rename="camel", omit_defaults=True):
    """Sums by name, for one run or for all. `results` counts status words and error codes."""

    counts: dict[str, int] = {}
    spent_us: dict[str, int] = {}
    bytes: dict[str, int] = {}
    cap_failures: dict[str, int] = {}
    snapshots: dict[str, int] = {}
    tools: dict[str, int] = {}
    results: dict[str, int] = {}
    tokens_saved: int = 0

    def add(self, group: _Group, name: str, amount: int = 1) -> None:
        sums: dict[str, int] = getattr(self, group)
        if len(sums) >= MAX_NAMES and name not in sums:
            name = OTHERS  # a run may bring tools of its own, under any ids
        sums[name] = sums.get(name, 0) + amount

    def to_dict(self) -> dict[str, Any]:
        return msgspec.json.decode(msgspec.json.encode(self))


class _Counters(Struct, omit_defaults=True):
    tally: Tally = field(default_factory=Tally)
    ledger: Ledger = field(default_factory=Ledger)
    events: list[SnapshotEvent] = []
    snapshot: SnapshotCost | None = None
    visible_tools: tuple[str, ...] = ()
    catalog: CatalogFacts | None = None
    texts: int = 0  # calls whose tool said more than a code
    last_id: int = 0
    asked: int = 0  # calls that the program wanted, in line or started
    unawaited: list[str] = []  # calls that were under way when the program returned
    clamped: list[str] = []  # limits that the program asked for and did not get
    ignored: list[str] = []  # locales, time zones and options that do not exist here


class RunMeter:
    """Counts one run over all its legs, and adds everything to the engine's tally, once."""

    def __init__(self, engine: Tally) -> None:
        self._state = _Counters()
        self._engine = engine

    @classmethod
    def resume(cls, engine: Tally, encoded: bytes) -> RunMeter:
        """Continues from what `encode` wrote. Raises msgspec.DecodeError for other bytes."""
        meter = cls(engine)
        meter._state = _decoder.decode(encoded)
        return meter

    def encode(self) -> bytes:
        return msgspec.json.encode(self._state)

    def record_surface(self, visible_tools: Sequence[str], catalog: CatalogFacts, tokens_saved: int) -> None:
        """Notes what the model saw, and how many tokens that saved."""
        self._state.visible_tools, self._state.catalog = tuple(visible_tools), catalog
        self._state.tally.tokens_saved += tokens_saved
        self._engine.tokens_saved += tokens_saved

    def begin_leg(self, kind: Literal["exec", "wait"]) -> None:
        _count(self._state.tally.counts, self._engine.counts, kind, 1)

    def park(self, capture_us: int) -> None:
        self._add("counts", _PARKED)
        self._add("spent_us", "capture", capture_us)

    def remember_waits(self, count: int) -> None:
        """Adds waits in which nothing settled: the engine counted them, the stored state lacks them."""
        if count:
            self._state.tally.add("counts", "wait", count)
            self._state.tally.add("results", "waiting", count)

    def remember_stored(self, bytes: int) -> None:
        """Adds the storing of the snapshot, which its own state cannot know; the engine has counted it."""
        if bytes:
            self._note_event(SnapshotEvent("stored", bytes))
            self._state.tally.add("snapshots", "stored")

    def spend(self, step: Step, us: int) -> None:
        _count(self._state.tally.spent_us, self._engine.spent_us, step, us)

    def transfer(self, flow: Flow, count: int) -> None:
        _count(self._state.tally.bytes, self._engine.bytes, flow, count)

    def start_call(self, id: str, *, tool: str, name: str, method: CallMethod, bytes_in: int) -> None:
        self._state.ledger.add(CallRecord(id, tool, name, method, "pending", 0, bytes_in, 0))
        own, engine = self._state.tally, self._engine
        _count(own.counts, engine.counts, method, 1)
        _count(own.bytes, engine.bytes, "callsIn", bytes_in)
        if tool and method in ("call", "namespace"):  # describing a tool is not calling it
            self._add("tools", tool)

    def set_elapsed(self, id: str, ms: float) -> None:
        """For a call that is still under way."""
        found = self._state.ledger.get(id)
        if found is not None:
            self._state.ledger.add(replace(found, ms=round(ms, 3)))

    def is_new(self, id: int) -> bool:
        """Whether no call, timer or yield had this id before: guests count up."""
        if id <= self._state.last_id:
            return False
        self._state.last_id = id
        return True

    def count_calls(self, more: int) -> int:
        """Adds the calls of a batch, and returns how many there are now."""
        self._state.asked += more
        return self._state.asked

    def note_unawaited(self, ids: Iterable[int]) -> None:
        """The program has returned, and these calls go on."""
        if not self._state.unawaited:
            self._state.unawaited = [str(id) for id in ids][:_MAX_UNAWAITED]

    def note_ignored(self, what: str) -> None:
        _add_new(self._state.ignored, what)

    def note_clamped(self, what: str) -> None:
        _add_new(self._state.clamped, what)

    def finish_call(self, end: CallEnd) -> None:
        before = self._state.ledger.get(end.id)
        if before is None:
            return  # told twice, and left out meanwhile
        self._state.ledger.add(before.ended(self._short(end)))
        more = end.bytes_out - before.bytes_out  # told twice, it counts once
        _count(self._state.tally.bytes, self._engine.bytes, "callsOut", more)

    def _short(self, end: CallEnd) -> CallEnd:
        """Of a run with very many failures the ledger keeps the texts of the first ones; the codes of all."""
        has_text = end.error is not None and end.error.message is not None
        if not has_text and end.meta is None:
            return end
        self._state.texts += 1
        if self._state.texts <= _MAX_TEXTS:
            return end
        error = end.error and replace(end.error, message=None, suggestion=None)
        return replace(end, error=error, meta=None)

    def abort_pending(self) -> None:
        """Ends the calls that end with their run, where `finish_call` was not called with their real time."""
        for call in self._state.ledger.records():
            if call.status == "pending":
                self.finish_call(CallEnd(call.id, "aborted", call.ms, 0))

    def see_snapshot(self, event: SnapshotEventKind, *, bytes: int = 0, us: int = 0) -> None:
        self._note_event(SnapshotEvent(event, bytes, us))
        _count(self._state.tally.snapshots, self._engine.snapshots, event, 1)
        cost = self._state.snapshot or SnapshotCost(bytes, 0, 0)
        match event:
            case "taken":
                self._add("bytes", "snapshots", bytes)
                self._state.snapshot = SnapshotCost(bytes, us, cost.restore_us)
            case "restored":
                self._state.snapshot = SnapshotCost(cost.bytes, cost.capture_us, us)
            case _:
                pass

    def _note_event(self, event: SnapshotEvent) -> None:
        self._state.events.append(event)
        del self._state.events[:-_MAX_EVENTS]

    def end_leg(self, outcome: Literal["completed", "waiting"] | ErrorCode) -> None:
        _count(self._state.tally.results, self._engine.results, outcome, 1)
        if outcome in CAPS:
            self._add("cap_failures", outcome)

    def undo_waiting(self) -> None:
        """Takes back the end as waiting, which was counted for the stored state, because storing failed."""
        self._add("results", "waiting", -1)

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        return self._state.ledger.records()

    @property
    def called_tools(self) -> tuple[str, ...]:
        """Ids of the tools that were called; of very many not all."""
        return tuple(tool_id for tool_id in self._state.tally.tools if tool_id != OTHERS)

    def error_of(self, id: str) -> CallError | None:
        found = self._state.ledger.get(id)
        return None if found is None else found.error

    def telemetry(
        self, lossy: Sequence[LossyValue] = (), hints: Sequence[str] = (), failed_call: str | None = None
    ) -> Telemetry:
        state, tally = self._state, self._state.tally
        counts = dict(tally.counts)
        return Telemetry(
            parked=counts.pop(_PARKED, 0),
            calls=self.calls,
            more_calls={name: dict(found) for name, found in state.ledger.left_out.items()},
            failed_call=failed_call,
            unawaited=tuple(state.unawaited),
            clamped=tuple(state.clamped),
            ignored=tuple(state.ignored),
            lossy=tuple(lossy),
            hints=tuple(hints),
            snapshot=state.snapshot,
            snapshot_events=tuple(state.events),
            visible_tools=state.visible_tools,
            catalog=state.catalog,
            counts=counts,
            called_tools=tuple(tally.tools),
            durations_ms={step: us / 1000 for step, us in tally.spent_us.items()},
            bytes=dict(tally.bytes),
            cap_failures=dict(tally.cap_failures),
            tokens_saved=tally.tokens_saved,
        )

    def _add(self, group: _Group, name: str, amount: int = 1) -> None:
        self._state.tally.add(group, name, amount)
        self._engine.add(group, name, amount)


def _add_new(told: list[str], what: str) -> None:
    if len(told) < _MAX_IGNORED and what not in told:
        told.append(what)


def _count(own: dict[str, int], engine: dict[str, int], name: str, amount: int) -> None:
    """Adds to the run's sum and to the engine's. For names of ours, which are few: `Tally.add` bounds others,
    and takes four times as long, several times for each call."""
    own[name] = own.get(name, 0) + amount
    engine[name] = engine.get(name, 0) + amount


_decoder = msgspec.json.Decoder(_Counters)
