"""A bundle: all that a program was told and all that it did, as one JSON file that can be run again.

`read_bundle` takes any bytes: it returns a bundle or raises BundleRefused. What a worker answered is kept in
the words of the wire (codemode_runtime/wire.py), and decoded as strictly as if a worker had said it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from codemode_runtime import orders, wire
from codemode_runtime.frames import FrameRefused
from codemode_runtime.parts import refusal_of
from codemode_runtime.shapes import Limits, Settlement
from msgspec import Meta, Raw, Struct

from codemode.trajectory.shapes import save_private

VERSION = 1
MAX_BUNDLE_BYTES = 16 << 20
NOTHING_READ: wire.Reads = ("", "", "")
NO_JSON = Raw()  # is left out where it is a default; another empty one would be written, as nothing
_MAX_MEMORY = 1 << 30


class BundleRefused(Exception):
    """This is no bundle, or it cannot be replayed; the text says why. Nothing was run."""


class _BundlePart(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    pass


def raw(data: bytes) -> Raw:
    return Raw(data) if data else NO_JSON


class KnownTool(_BundlePart, frozen=True):
    """A tool that the program could call; `schema` is a hash of what it takes and says of itself."""

    id: str
    schema: str


class RecordedAnswer(_BundlePart, frozen=True):
    """What settled work of the program: the result of a call, or as a rejection its error."""

    id: wire.WorkId
    json: Raw = NO_JSON  # for timers and yields
    rejected: bool = False

    @classmethod
    def of(cls, settled: Settlement) -> RecordedAnswer:
        return cls(settled.id, raw(bytes(settled.json)), settled.rejected)

    def settlement(self, work_id: int) -> Settlement:
        return Settlement(work_id, bytes(self.json), self.rejected)


class Offered(_BundlePart, frozen=True):
    """What the program was told of its tools when a leg began."""

    has_namespaces: bool = False
    complete: bool = True
    bare: bool = False
    answers: tuple[tuple[int, str, Raw], ...] = ()

    @classmethod
    def of(cls, offer: orders.Offer) -> Offered:
        answers = tuple((int(one.kind), one.key, one.json) for one in offer.answers)
        return cls(offer.has_namespaces, offer.complete, offer.bare, answers)

    def offer(self) -> orders.Offer:
        answers = tuple(orders.OfferedAnswer(*one) for one in self.answers)
        return orders.Offer(self.has_namespaces, self.complete, answers, self.bare)


class FoundName(_BundlePart, frozen=True):
    """What a name was, when the program used it: JSON, or None for no such name."""

    kind: Annotated[int, Meta(ge=0, le=8)]
    key: str
    json: Raw = NO_JSON


class WorkerTurn(_BundlePart, frozen=True):
    """One request to the worker, and its answer. `settled` are in the order in which they were delivered;
    `reads` is what the guest read of clocks and randomness meanwhile. A capture has no outcome."""

    order: Literal["start", "resume", "deliver", "capture"]
    settled: tuple[RecordedAnswer, ...] = ()
    reads: wire.Reads = NOTHING_READ
    limits: Limits | None = None
    offer: Offered | None = None  # where it is another than before
    outcome: wire.Outcome | None = None


class Recorded(_BundlePart, frozen=True):
    """What has to be done to run the program again."""

    program: str
    language: Literal["javascript", "typescript"]
    build: str  # of the guest image
    timeout_ms: Annotated[int, Meta(ge=1)]
    started_at_ms: int
    tools: tuple[KnownTool, ...] = ()
    names: tuple[FoundName, ...] = ()
    turns: tuple[WorkerTurn, ...] = ()


class Expected(_BundlePart, frozen=True):
    """How the run ended, as its caller was told; `waiting` if it had not."""

    status: Literal["completed", "failed", "waiting"]
    value: Raw = NO_JSON
    code: str = ""
    error: str = ""


class PastCall(_BundlePart, frozen=True):
    """A call, without values."""

    id: str
    tool: str
    status: str


class Bundle(_BundlePart, frozen=True):
    """`recorded` is None for a run whose values were not recorded; `without` then says why, and `calls` is
    all that is known."""

    version: Annotated[int, Meta(ge=1)]
    made_by: str
    run_id: str
    expected: Expected
    recorded: Recorded | None = None
    without: str = ""
    calls: tuple[PastCall, ...] = ()

    @property
    def can_replay(self) -> bool:
        return self.recorded is not None

    def to_json(self) -> str:
        return encode(self).decode()

    def to_dict(self) -> dict[str, Any]:
        return msgspec.json.decode(encode(self))

    def save(self, path: str | Path) -> None:
        """Writes all or nothing. Only the owner may read the file: it holds what the program was told."""
        save_private(path, msgspec.json.format(encode(self), indent=1) + b"\n")


def encode(bundle: Bundle | Recorded) -> bytes:
    return msgspec.json.encode(bundle)


_bundle = msgspec.json.Decoder(Bundle)
_recorded = msgspec.json.Decoder(Recorded)


def decode_recorded(data: bytes) -> Recorded:
    """Out of our own snapshots."""
    return _recorded.decode(data)


def load_bundle(path: str | Path) -> Bundle:
    """Raises BundleRefused, also for a file that cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return read_bundle(file.read(MAX_BUNDLE_BYTES + 1))
    except OSError as error:
        raise BundleRefused(f"it cannot be read: {error.strerror}") from None


def read_bundle(data: bytes) -> Bundle:
    """Takes any bytes. Raises BundleRefused."""
    if len(data) > MAX_BUNDLE_BYTES:
        raise BundleRefused(f"it is larger than {MAX_BUNDLE_BYTES >> 20} MiB")
    refusal = refusal_of(data)
    if refusal is not None:
        raise BundleRefused(f"JSON {refusal}")
    try:
        data.decode()
        # values stay as they are written, and those of a guest have no spaces in between
        found = _bundle.decode(msgspec.json.format(data, indent=-1))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise BundleRefused(f"this is no bundle of `codemode runs export`: {error}") from None
    if found.version != VERSION:
        raise BundleRefused(f"it is of version {found.version}, and this codemode reads version {VERSION}")
    if found.recorded is not None:
        _check(found.recorded)
    return found


def _check(recorded: Recorded) -> None:
    """What types do not say: turns in an order that can be, values that are JSON."""
    turns = recorded.turns
    if not turns or turns[0].order != "start" or any(turn.order == "start" for turn in turns[1:]):
        raise BundleRefused("its turns do not begin with the start of the program, once")
    before = "start"
    for turn in turns:
        if (turn.order == "capture") != (turn.outcome is None):
            raise BundleRefused("a turn without an outcome")
        if turn.order == "resume" and before != "capture":
            raise BundleRefused("a program goes on that was not suspended")
        if turn.limits is None and turn.order in ("start", "resume"):
            raise BundleRefused("a leg without limits")
        if turn.limits is not None and turn.limits.memory_bytes > _MAX_MEMORY:
            raise BundleRefused(f"a program with {turn.limits.memory_bytes} bytes of memory")
        before = turn.order
    if any(not isinstance(turn.outcome, wire.Idle | None) for turn in turns[:-1]):
        raise BundleRefused("the program goes on after its end")
    try:
        for turn in turns:
            for answer in turn.settled:
                if answer.json:
                    wire.decode_value(answer.json)
    except FrameRefused as refused:
        raise BundleRefused(str(refused)) from None
