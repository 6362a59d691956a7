"""The plain types that cross the seam between an engine and a run store. Data only; run_store.py says what
happens to them.

Bytes in them are sealed by the engine (seals.py, envelope.py): a store keeps them as they are and never looks
inside. Times are unix milliseconds by the store's own clock, unless they stand in a label.
"""

from typing import Literal

import msgspec

from codemode_snapshots.label import Label, RunScope

How = Literal["completed", "failed", "expired", "interrupted", "aborted"]
"""In which way a run ended. `interrupted`: the node that worked on it died, and nobody knows what it did."""


class NodeInfo(msgspec.Struct, frozen=True):
    """One engine, as the others on its store know it."""

    name: str  # random, and never used twice
    builds: tuple[str, ...]  # guest images whose snapshots it can restore
    key_ids: tuple[str, ...]  # keys it can open seals with; it seals with the first
    process: str = ""  # `Owner.encode()`: on one machine the others see at once that it died
    address: str = ""  # for people


class Totals(msgspec.Struct, frozen=True):
    """What a store holds, or what one node has put there."""

    runs: int
    bytes: int


class Snapshot(msgspec.Struct, frozen=True):
    """A suspended run on its way into the store or out of it.

    `state` is small, and enough to list, wait for and decide on the run; only a claim reads the `delta`,
    which may have megabytes. `answer` is what the caller was told when the run was suspended, kept for a
    request that is sent again.
    """

    label: Label
    state: bytes
    delta: bytes | bytearray | memoryview
    answer: bytes | None = None

    @property
    def size_bytes(self) -> int:
        return len(self.state) + len(self.delta) + len(self.answer or b"")


class Pending(msgspec.Struct, frozen=True):
    """A call that goes on while its run is suspended.

    `is_held`: the node that saves the run runs it. Otherwise nobody does: it waits for an approval. A call
    that is held and asks is one that put a question while it ran.
    """

    call_id: str
    idempotent: bool = False
    is_held: bool = True
    asking: str | None = None  # the id of the approval that it waits for


class Hold(msgspec.Struct, frozen=True):
    """The right to settle a call. `take` grows each time the call changes hands: the fence of the call."""

    run_id: str
    call_id: str
    node: str
    take: int


class CallView(msgspec.Struct, frozen=True):
    """A call of a suspended or claimed run, without its outcome.

    `held_by` is None while nobody runs it. `is_orphaned`: its holder is dead, and the next claim takes it
    over. `request` is what it asks for, if it asked after its run was suspended; else the state has that.
    `decision` is what was decided last. `settled` is None, or its place in the order of settlements.
    """

    call_id: str
    held_by: str | None
    take: int
    idempotent: bool = False
    asking: str | None = None
    request: bytes | None = None
    decision: bytes | None = None
    settled: int | None = None
    is_orphaned: bool = False


class Settled(msgspec.Struct, frozen=True):
    """The outcome of a call, and under which `take` it was settled."""

    call_id: str
    take: int
    outcome: bytes


class Claim(msgspec.Struct, frozen=True):
    """The right to work on a run. `number` grows with each claim: the fence of the run."""

    run_id: str
    node: str
    number: int


class Claimed(msgspec.Struct, frozen=True):
    """A run handed to one node.

    `settled` are the outcomes in the order in which they came. `taken` are the calls of dead nodes that this
    claim has made ours: they may have taken effect, so each is either interrupted or, if it is idempotent,
    run again. `calls` are all calls as they are after the claim, those included.
    """

    claim: Claim
    snapshot: Snapshot
    calls: tuple[CallView, ...]
    settled: tuple[Settled, ...]
    taken: tuple[Hold, ...]


class NotClaimed(msgspec.Struct, frozen=True):
    """Why a run was not handed out. `build_id` is the run's own, for `wrong_build`."""

    why: Literal["unknown", "busy", "wrong_build"]
    build_id: str = ""


class View(msgspec.Struct, frozen=True):
    """A live run, to look at. `number` is that of its last claim, 0 before the first.

    `holder` is the living node that has claimed it; None if it can be claimed. `state` and `answer` are those
    of the snapshot; `state` is None while the first leg of a reserved run is under way, and its build is "-".
    """

    label: Label
    size_bytes: int
    number: int
    holder: str | None
    state: bytes | None
    calls: tuple[CallView, ...]
    answer: bytes | None = None
    digest: bytes | None = None  # of the request that began it


class Listed(msgspec.Struct, frozen=True):
    """A live run without its contents. `settled` counts the outcomes that wait for it, `asking` the calls
    that wait for an approval."""

    label: Label
    size_bytes: int
    number: int
    holder: str | None
    settled: int
    asking: int = 0


class Ending(msgspec.Struct, frozen=True):
    """A run that is over, kept for a while, with its result where there was one.

    `was` is the run as it was, of one that is over and not purged yet, where the store can tell.
    """

    run_id: str
    scope: RunScope
    how: How
    at_ms: int
    result: bytes | None = None
    digest: bytes | None = None  # of the request that began it
    was: View | None = None


class ExecRequest(msgspec.Struct, frozen=True):
    """An exec that may be sent again: its caller's scope, the id it was given, and a digest of what it asks.

    Agent, session, agent run and request id together name it; the tool call may differ.
    """

    scope: RunScope
    request_id: str
    digest: bytes


class DecidedHere(msgspec.Struct, frozen=True):
    """A decision that was written. Whoever wrote it now holds the call, and runs or refuses it. `view` is the
    run as it is after that."""

    hold: Hold
    view: View


class DecidedElsewhere(msgspec.Struct, frozen=True):
    """A decision that was written for a call that runs on a node: that node reads it with `answers`."""

    hold: Hold
