"""The seam between engines and the store of their runs: one protocol for memory, SQLite and PostgreSQL.

Six things are in a store. A *node* is an engine with a lease. A *run* that is suspended belongs to nobody;
at most one node has claimed it. A *call* is host work that outlives a leg, held by one node. An *ending* is a
run that is over, kept for a while. A *past run* is what is told of one later. A *feed* hints that a run has
changed. Every step below is one conditional update: it happens completely, or it answers that it was too
late. No step needs another one first.

A run's life: (reserved →) suspended ⇄ claimed → ended. A call's life: held, or asking → held; then settled,
delivered with a claim, and gone with the save or the end that follows.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from codemode_snapshots.label import RunScope
from codemode_snapshots.past import PastRuns
from codemode_snapshots.records import (
    Claim,
    Claimed,
    DecidedElsewhere,
    DecidedHere,
    Ending,
    ExecRequest,
    Hold,
    How,
    Listed,
    NodeInfo,
    NotClaimed,
    Pending,
    Settled,
    Snapshot,
    Totals,
    View,
)

Changed = Callable[[Collection[str]], None]
"""Takes the ids of runs that may have changed. It is called in any thread, and returns at once."""


class Feed(Protocol):
    """Hints for one node. Nothing depends on them but how soon a node looks: a hint may come late, twice, for
    a change of the node's own, or not at all, so a node that awaits a run looks again now and then."""

    def watch(self, run_id: str, *, soon: bool = False) -> None:
        """Hint at changes of this run from now on: other nodes' saves, claims, settlements, decisions and
        ends. With `soon` a caller waits for it; a store that has to poll does so every few milliseconds then,
        else a few times a second. The last call counts."""
        ...

    def forget(self, run_id: str) -> None: ...

    def close(self) -> None:
        """No hint comes after this. Idempotent."""
        ...


class RunStore(Protocol):
    """Runs, calls and endings of any number of nodes. Each method is atomic, and safe in any thread.

    Each may raise StoreUnavailable: it may or may not have happened then, and may be done again. What is
    asked with a `caller` is only told to that caller: agent, session and agent run are compared (not the tool
    call), and for everybody else the run does not exist. Ids come from models: any text, or what is no text
    at all, is an unknown run, never an error."""

    is_durable: bool
    """Whether its runs outlive the processes that use it."""

    lease_ms: int
    """How long a node lives without a beat; 0 if it lives until it leaves."""

    @property
    def past(self) -> PastRuns:
        """Runs that are over, for people who look back. An engine keeps them where a store has none."""
        ...

    # ---- nodes ---------------------------------------------------------------------------------------------

    def join(self, node: NodeInfo) -> None:
        """Enter a node; its lease begins. Raises KeyRefused if the store's nodes use other keys, and
        ValueError for a name that was used before and is still remembered."""
        ...

    def beat(self, node: str, totals: Totals, *, draining: bool = False) -> bool:
        """Renew the lease. False if it had lapsed, or the node left: it is dead for ever, and joins anew
        under another name. `totals` is what the node has in the store, for stores that only sum up."""
        ...

    def leave(self, node: str) -> None:
        """The node ends by itself: what it holds can be taken over at once. Idempotent."""
        ...

    # ---- runs ----------------------------------------------------------------------------------------------

    def reserve(self, request: ExecRequest, run_id: str, node: str, ttl_ms: int) -> Claim | View | Ending:
        """Begin a run for a request that may be sent twice. The first gets a claim on a run that has no
        snapshot yet; it ends with `save`, `release` (which forgets the run) or `finish`.

        A later one gets what has become of that run. If the node that had claimed it died, and its claim was
        not `touch`ed, the caller gets a new claim on the same run id; the claim's `run_id` tells which.
        """
        ...

    def save(
        self, snapshot: Snapshot, calls: Sequence[Pending], node: str, *, claim: Claim | None = None
    ) -> None:
        """Suspend a new run, or with a claim the claimed run again, which ends the claim.

        `calls` are all that the run still waits for. One that is in the store already stays as it is there,
        also settled; a new one is held by `node`, with `take` 1, or by nobody; others are gone. Raises
        NotHeld if the claim is no longer valid, or without one if the run exists or has ended; StoreFull
        before anything is written, and the claim is then kept."""
        ...

    def look(self, run_id: str, caller: RunScope) -> View | Ending | None:
        """The run as it is now. One past its time that no living node has claimed is an Ending, `expired`,
        also before it is purged; so is a run whose touched claim is of a dead node, `interrupted`."""
        ...

    def claim(
        self, run_id: str, caller: RunScope, builds: Collection[str], node: str
    ) -> Claimed | NotClaimed | Ending:
        """Hand the run to exactly one node, if its build is among `builds`.

        A claim whose node is dead and had not `touch`ed it is taken over; after a `touch` the run is over, as
        `look` tells it. Calls that dead nodes held are ours with this: their `take` grows by one,
        and what they asked while they ran is withdrawn.
        """
        ...

    def touch(self, claim: Claim) -> bool:
        """The holder is about to do what must not be repeated: if its node dies now, the run ends as
        `interrupted`. Survives a power loss when it returns. False: the claim is not ours any more."""
        ...

    def collect(self, claim: Claim, calls: Collection[str]) -> tuple[Settled, ...]:
        """The outcomes that there are for these calls by now, in order. Nothing if the claim is not ours."""
        ...

    def release(self, claim: Claim) -> bool:
        """Give a claim back: only if the program did not go on since. The calls stay as the claim left them.
        False: it is not ours any more."""
        ...

    def finish(
        self,
        run_id: str,
        how: How,
        *,
        caller: RunScope | None = None,
        claim: Claim | None = None,
        result: bytes | None = None,
        keep_ms: int,
    ) -> bool:
        """End a run and forget its calls. With a claim only while that is valid; without one whoever holds
        it, if it is the caller's: the holder learns of it by a hint, and by what its next step answers.

        The ending is kept for `keep_ms` with its `result`, as far as the store's bounds allow; with `keep_ms`
        0 nothing is kept. False if there was no such run. Without a claim it survives a power loss.
        """
        ...

    # ---- calls ---------------------------------------------------------------------------------------------

    def settle(self, hold: Hold, outcome: bytes) -> bool:
        """Keep the outcome until a claim fetches it. Only the holder, and only once: False if the call was
        settled before, is not ours any more, or its run is gone. StoreFull as `save`."""
        ...

    def ask(self, hold: Hold, approval_id: str, request: bytes, *, is_held: bool) -> bool:
        """A call of a suspended run wants an approval. With `is_held` it runs on and waits for the answer;
        else nobody holds it from now on. False as `settle`. An earlier decision is forgotten."""
        ...

    def decide(
        self, run_id: str, caller: RunScope, approval_id: str, decision: bytes, node: str
    ) -> DecidedHere | DecidedElsewhere | None:
        """Write a decision; of all who decide, one does. Survives a power loss when it returns.

        The call is then held by `node` (its `take` grows by one), unless it runs on a living node and only
        asked. None if no call of a run of this caller asks for this approval now. StoreFull as `save`."""
        ...

    def answers(self, run_id: str, node: str) -> tuple[tuple[str, bytes], ...]:
        """Call ids and decisions of the unsettled calls that this node holds in the run."""
        ...

    # ---- upkeep --------------------------------------------------------------------------------------------

    def expire(self) -> list[Ending]:
        """End what is past its time, and runs whose touched claim is of a dead node; forget reserved runs of
        dead nodes, old endings and dead nodes. Of several nodes that do this, one reports each run."""
        ...

    def numbers(self, run_ids: Collection[str]) -> dict[str, int]:
        """The number of the last claim of each of these runs that lives; the others are gone."""
        ...

    def list_runs(self, *, agent: str | None = None, session: str | None = None) -> list[Listed]:
        """Live runs that have a snapshot, oldest first; of one agent and session where they are given."""
        ...

    def totals(self) -> Totals:
        """What is suspended: runs, and bytes of snapshots and outcomes. May lag in a store of many nodes."""
        ...

    def feed(self, node: str, changed: Changed) -> Feed:
        """Hints for this node. After a gap in them it is told all the runs that it watches."""
        ...

    def close(self) -> None:
        """Idempotent. Closes what this process has open; a store in memory forgets everything."""
        ...
