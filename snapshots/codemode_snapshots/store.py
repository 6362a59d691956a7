"""The seam between the engine and a store of snapshots: the protocol, and the types that cross it.

Life of a run in a store: suspended → resuming (claimed by one owner) → suspended again (a new snapshot) |
gone. A run whose owner dies while it is resuming is never handed out again, because calls may have been
dispatched since the claim. Stores are plain synchronous objects for one thread at a time; the caller always
gives the time, `now_ms` (unix milliseconds).
"""

from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

from codemode_snapshots.journal import Recorded
from codemode_snapshots.label import Label, RunScope
from codemode_snapshots.owner import Owner

Ending = Literal["expired", "interrupted", "aborted"]
"""Why a run that did not finish is gone; what a tombstone tells the run's own scope."""


class StoreLimits(msgspec.Struct, frozen=True):
    """Bounds of one store. Bytes count envelopes and recorded settlements."""

    max_snapshot_bytes: int = 10 * 1024 * 1024
    max_snapshots: int = 10_000
    max_total_bytes: int = 1024 * 1024 * 1024
    max_tombstones: int = 1_000
    tombstone_ttl_ms: int = 3_600_000
    # A day, the longest lifetime that can be configured, and an hour: if a clock is set back a little, the
    # newest run must not be taken for one from a wrong year.
    longest_ttl_ms: int = 90_000_000
    stuck_claim_ms: int = 600_000


class Snapshot(msgspec.Struct, frozen=True):
    """An envelope on its way into the store, with the label it was sealed under."""

    label: Label
    envelope: bytes


class Claim(msgspec.Struct, frozen=True):
    """The right to resume a run. `number` grows with each claim, so an old one never passes for the new."""

    run_id: str
    owner: Owner
    number: int


class Claimed(msgspec.Struct, frozen=True):
    """A run handed to one caller, with what settled while it was suspended, in order."""

    claim: Claim
    snapshot: Snapshot
    settlements: tuple[Recorded, ...]


class NotClaimed(msgspec.Struct, frozen=True):
    """Why a run was not handed out. `scope` is the run's own: it decides how much the caller may be told."""

    why: Literal["unknown", "busy"] | Ending
    scope: RunScope | None


class RunMeta(msgspec.Struct, frozen=True):
    """A live run without its body. `claimed_by` is set exactly while the run is resuming.

    `settled` counts the recorded calls, and no decisions.
    """

    label: Label
    size_bytes: int
    saved_by: Owner
    claimed_by: Owner | None
    claimed_at_ms: int | None
    settled: int


class Tombstone(msgspec.Struct, frozen=True):
    """A run that ended before its result was fetched. Kept for a bounded time, and in bounded number."""

    run_id: str
    scope: RunScope
    ending: Ending
    at_ms: int


class Totals(msgspec.Struct, frozen=True):
    """What the store holds now."""

    snapshots: int
    total_bytes: int


class SnapshotStore(Protocol):
    """A dict of runs with claims. Each method is atomic; each may raise StoreUnavailable, nothing done.

    What it keeps is taken to outlive the process, unless it has an attribute `is_durable` that is False.
    """

    def save(self, snapshot: Snapshot, owner: Owner, *, claim: Claim | None = None) -> None:
        """Suspend a new run, or with a claim the claimed run again, which ends the claim.

        Drops the settlements that the claim delivered; those recorded since stay for the next claim. Raises
        NotHeld if the claim is no longer valid, or without one if the run exists or has ended; StoreFull
        before anything is written.
        """
        ...

    def claim(
        self, run_id: str, owner: Owner, *, now_ms: int, saved_by: Owner | None = None
    ) -> Claimed | NotClaimed:
        """Hand the run to exactly one caller, of all processes. Check the scope by `lookup` first.

        With `saved_by` only while that owner's snapshot is the present one, else `busy`: between a lookup and
        the claim another engine may have taken the run over and suspended it as its own.
        """
        ...

    def peek(self, run_id: str) -> Snapshot | None:
        """A live run's snapshot, claimed or not, to look at; never resume it."""
        ...

    def release(self, claim: Claim) -> None:
        """Give a claim back unchanged: only if nothing ran since. NotHeld if it is no longer valid."""
        ...

    def delete(self, run_id: str, *, now_ms: int, leave: Ending | None = None) -> bool:
        """Forget a run, claimed or not, and what was recorded for it; False if there was none.

        With `leave` a tombstone remains. The holder of a claim learns of it by NotHeld at its next save.
        """
        ...

    def lookup(self, run_id: str) -> RunMeta | Tombstone | None: ...

    def list_runs(self, *, agent: str | None = None, session: str | None = None) -> list[RunMeta]:
        """Live runs, oldest snapshot first, of one agent and session where they are given."""
        ...

    def ids_of(self, owner: Owner) -> set[str]:
        """The ids of live runs that this owner saved last."""
        ...

    def disown(self, owner: Owner) -> None:
        """The owner goes: give the suspended runs it saved to NOBODY, so that any engine may claim them."""
        ...

    def totals(self) -> Totals: ...

    def record_settlement(self, run_id: str, settlement: Recorded) -> bool:
        """Keep what settled until the run is claimed next; the first of a kind and call id wins.

        False if nothing was written: the run is not here, or it was recorded before. StoreFull like `save`.
        """
        ...

    def expire(self, now_ms: int) -> list[Tombstone]:
        """Purge what retention.py says, give space back, return the runs that this ended."""
        ...

    def recover(self, now_ms: int, is_alive: Callable[[Owner], bool]) -> list[Tombstone]:
        """End the runs that dead owners were resuming: they are `interrupted` and never claimed again."""
        ...

    def close(self) -> None:
        """Idempotent. An in-memory store forgets everything; a durable one keeps it."""
        ...
