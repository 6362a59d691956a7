"""The run store that lives and dies with its process: dicts of runs and endings.

It keeps snapshots by reference, so a suspended run costs its bytes and some hundred more. A node lives until
it leaves: if this process stops, all its nodes do. Hints are calls.
"""

import threading
from collections.abc import Callable, Collection, Sequence

from codemode_snapshots.bounds import StoreLimits, is_past, is_stuck, require_space
from codemode_snapshots.errors import NotHeld
from codemode_snapshots.facts import MemoryFacts
from codemode_snapshots.label import NO_VALUE, Label, RunScope
from codemode_snapshots.memory_rows import (
    CallRow,
    KeptRow,
    MemoryFeed,
    RequestKey,
    RunRow,
    calls_of,
    counts_of,
    decisions_of,
    is_in,
    is_of,
    new_call,
    request_key,
    settled_of,
    view_of,
    wall_ms,
)
from codemode_snapshots.past import MemoryPast
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
from codemode_snapshots.run_store import Changed, Feed


class MemoryStore:
    """RunStore without a disk."""

    is_durable = False
    lease_ms = 0

    def __init__(self, limits: StoreLimits | None = None, clock: Callable[[], int] | None = None) -> None:
        """`clock` gives unix milliseconds."""
        self._limits = limits or StoreLimits()
        self._clock = clock or wall_ms
        self.past = MemoryPast()
        self._turn = threading.RLock()
        self._nodes: set[str] = set()
        self._gone: set[str] = set()
        self._runs: dict[str, RunRow] = {}
        self._endings: dict[str, KeptRow] = {}  # oldest first
        self._requests: dict[RequestKey, str] = {}
        self._feeds: list[MemoryFeed] = []
        self._count = self._bytes = self._result_bytes = self._settled = 0
        self.facts = MemoryFacts()

    # ---- nodes ---------------------------------------------------------------------------------------------

    def join(self, node: NodeInfo) -> None:
        with self._turn:
            if node.name in self._nodes or node.name in self._gone:
                raise ValueError(f"the node {node.name!r} has joined before")
            self._nodes.add(node.name)

    def beat(self, node: str, totals: Totals, *, draining: bool = False) -> bool:  # noqa: ARG002 - as all stores
        return node in self._nodes

    def leave(self, node: str) -> None:
        self._nodes.discard(node)
        self._gone.add(node)

    # ---- runs ----------------------------------------------------------------------------------------------

    def reserve(self, request: ExecRequest, run_id: str, node: str, ttl_ms: int) -> Claim | View | Ending:
        key = request_key(request)
        with self._turn:
            known = self._requests.get(key)
            found = None if known is None else self.look(known, request.scope)
            if found and not (isinstance(found, View) and found.state is None and found.holder is None):
                return found
            now = self._clock()
            if isinstance(found, View):
                run = self._runs[found.label.run_id]
            else:
                require_space(self.totals(), self._limits, part_bytes=0, new_runs=1)
                label = Label(NO_VALUE, run_id, request.scope, now, now + ttl_ms)
                run = self._runs[run_id] = RunRow(label, request=key, digest=request.digest)
                self._requests[key] = run_id
            return self._hand_out(run, node)

    def save(
        self, snapshot: Snapshot, calls: Sequence[Pending], node: str, *, claim: Claim | None = None
    ) -> None:
        run_id, size = snapshot.label.run_id, snapshot.size_bytes
        with self._turn:
            if claim is None:
                if run_id in self._runs or run_id in self._endings:
                    raise NotHeld(run_id)
                require_space(self.totals(), self._limits, part_bytes=size, new_runs=1)
                run = self._runs[run_id] = RunRow(snapshot.label)
            else:
                held = self._held(claim)
                if held is None or (run_id, snapshot.label.scope) != (claim.run_id, held.label.scope):
                    raise NotHeld(run_id)
                run = held
            kept = {call.call_id: run.calls.get(call.call_id) or new_call(call, node) for call in calls}
            old_size, call_size = run.size, sum(call.size for call in kept.values())
            if claim is not None:
                require_space(
                    self.totals(), self._limits, part_bytes=size, replaced_bytes=old_size - call_size
                )
            self._count += run.snapshot is None
            run.label, run.snapshot, run.calls = snapshot.label, snapshot, kept
            run.claimed_by, run.is_touched = None, False
            self._resize(run, size + call_size)
            self._hint(run_id, node)

    def look(self, run_id: str, caller: RunScope) -> View | Ending | None:
        with self._turn:
            run = self._find(run_id, caller)
            if run is None:
                return self._ending(run_id, caller)
            return self._over(run) or self._view(run)

    def claim(
        self, run_id: str, caller: RunScope, builds: Collection[str], node: str
    ) -> Claimed | NotClaimed | Ending:
        with self._turn:
            run = self._find(run_id, caller)
            if run is None:
                return self._ending(run_id, caller) or NotClaimed("unknown")
            if (over := self._over(run)) is not None:
                return over
            if run.snapshot is None or self._holder(run) is not None:
                return NotClaimed("busy")
            if run.label.build_id not in builds:
                return NotClaimed("wrong_build", run.label.build_id)
            claim = self._hand_out(run, node)
            taken: list[Hold] = []
            for call in run.calls.values():
                if call.outcome is None and self._is_dead(call.held_by):
                    call.held_by, call.take, call.asking = node, call.take + 1, None
                    taken.append(Hold(run_id, call.call_id, node, call.take))
            settled = settled_of(run.calls.values())
            return Claimed(claim, run.snapshot, calls_of(run, self._is_dead), settled, tuple(taken))

    def touch(self, claim: Claim) -> bool:
        with self._turn:
            run = self._held(claim)
            if run is not None:
                run.is_touched = True
            return run is not None

    def collect(self, claim: Claim, calls: Collection[str]) -> tuple[Settled, ...]:
        with self._turn:
            run = self._held(claim)
            return () if run is None else settled_of(run.calls[id] for id in calls if id in run.calls)

    def release(self, claim: Claim) -> bool:
        with self._turn:
            run = self._held(claim)
            if run is None:
                return False
            if run.snapshot is None:
                self._remove(run)
            run.claimed_by, run.is_touched = None, False
            self._hint(claim.run_id, claim.node)
            return True

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
        with self._turn:
            run = self._held(claim) if claim is not None else None
            if claim is None and caller is not None:
                run = self._find(run_id, caller)
            if run is None:
                return False
            self._end(run, how, result, keep_ms)
            self._hint(run_id, "" if claim is None else claim.node)
            return True

    # ---- calls ---------------------------------------------------------------------------------------------

    def settle(self, hold: Hold, outcome: bytes) -> bool:
        with self._turn:
            found = self._call(hold)
            if found is None:
                return False
            run, call = found
            require_space(self.totals(), self._limits, part_bytes=len(outcome))
            self._settled += 1
            call.outcome, call.settled, call.asking = outcome, self._settled, None
            self._resize(run, run.size + len(outcome))
            self._hint(hold.run_id, hold.node)
            return True

    def ask(self, hold: Hold, approval_id: str, request: bytes, *, is_held: bool) -> bool:
        with self._turn:
            found = self._call(hold)
            if found is None:
                return False
            run, call = found
            old_size = call.size
            require_space(self.totals(), self._limits, part_bytes=len(request), replaced_bytes=old_size)
            call.asking, call.request, call.decision = approval_id, request, None
            call.held_by = hold.node if is_held else None
            self._resize(run, run.size - old_size + call.size)
            self._hint(hold.run_id, hold.node)
            return True

    def decide(
        self, run_id: str, caller: RunScope, approval_id: str, decision: bytes, node: str
    ) -> DecidedHere | DecidedElsewhere | None:
        with self._turn:
            run = self._find(run_id, caller)
            if run is None or self._over(run) is not None:
                return None
            call = next((call for call in run.calls.values() if call.asking == approval_id), None)
            if call is None or call.outcome is not None:
                return None
            require_space(self.totals(), self._limits, part_bytes=len(decision))
            call.asking, call.decision = None, decision
            holder = call.held_by
            if holder is None or self._is_dead(holder):
                call.held_by, call.take, holder = node, call.take + 1, None
            self._resize(run, run.size + len(decision))
            self._hint(run_id, node)
            hold = Hold(run_id, call.call_id, holder or node, call.take)
            return DecidedHere(hold, self._view(run)) if holder is None else DecidedElsewhere(hold)

    def answers(self, run_id: str, node: str) -> tuple[tuple[str, bytes], ...]:
        with self._turn:
            run = self._runs.get(run_id)
            return () if run is None else decisions_of(run.calls.values(), node)

    # ---- upkeep --------------------------------------------------------------------------------------------

    def expire(self) -> list[Ending]:
        with self._turn:
            ended: list[Ending] = []
            for run in list(self._runs.values()):
                over = self._over(run)
                if over is not None:
                    ended.append(self._end(run, over.how, None, self._limits.tombstone_ttl_ms))
                    self._hint(over.run_id, "")
                elif run.snapshot is None and self._is_dead(run.claimed_by):
                    self._remove(run)
            self._purge()
            return ended

    def numbers(self, run_ids: Collection[str]) -> dict[str, int]:
        with self._turn:
            return {run_id: self._runs[run_id].number for run_id in run_ids if run_id in self._runs}

    def list_runs(self, *, agent: str | None = None, session: str | None = None) -> list[Listed]:
        with self._turn:
            found = [
                Listed(run.label, run.size, run.number, self._holder(run), *counts_of(run.calls.values()))
                for run in self._runs.values()
                if run.snapshot is not None and is_in(run.label.scope, agent, session)
            ]
        return sorted(found, key=lambda listed: (listed.label.created_at_ms, listed.label.run_id))

    def totals(self) -> Totals:
        return Totals(self._count, self._bytes)

    def feed(self, node: str, changed: Changed) -> Feed:
        feed = MemoryFeed(node, changed, self._feeds)
        with self._turn:
            self._feeds.append(feed)
        return feed

    def close(self) -> None:
        with self._turn:
            for kept in (self._runs, self._endings, self._requests, self._feeds, self.facts):
                kept.clear()
            self._count = self._bytes = self._result_bytes = 0

    # ---- inside --------------------------------------------------------------------------------------------

    def _find(self, run_id: object, caller: RunScope) -> RunRow | None:
        run = self._runs.get(run_id) if isinstance(run_id, str) else None  # a list would raise TypeError
        return run if run is not None and is_of(run.label.scope, caller) else None

    def _ending(self, run_id: object, caller: RunScope) -> Ending | None:
        kept = self._endings.get(run_id) if isinstance(run_id, str) else None
        if kept is None or not is_of(kept.ending.scope, caller) or not self._is_current(kept):
            return None
        return kept.ending

    def _held(self, claim: Claim) -> RunRow | None:
        run = self._runs.get(claim.run_id) if claim.node in self._nodes else None
        return run if run and (run.claimed_by, run.number) == (claim.node, claim.number) else None

    def _call(self, hold: Hold) -> tuple[RunRow, CallRow] | None:
        run = self._runs.get(hold.run_id)
        call = None if run is None else run.calls.get(hold.call_id)
        if run is None or call is None or call.outcome is not None:
            return None
        return (run, call) if (call.held_by, call.take) == (hold.node, hold.take) else None

    def _is_dead(self, node: str | None) -> bool:
        return node is not None and node not in self._nodes

    def _holder(self, run: RunRow) -> str | None:
        return run.claimed_by if run.claimed_by in self._nodes else None

    def _over(self, run: RunRow) -> Ending | None:
        """How a run is over that nobody has ended yet."""
        now, expires = self._clock(), run.label.expires_at_ms
        how: How | None = None
        if run.claimed_by is None or (self._is_dead(run.claimed_by) and not run.is_touched):
            how = "expired" if is_past(expires, self._limits, now) else None
        elif self._is_dead(run.claimed_by) or is_stuck(expires, run.claimed_at_ms, self._limits, now):
            how = "interrupted"
        id, scope = run.label.run_id, run.label.scope
        return None if how is None else Ending(id, scope, how, now, None, run.digest, self._view(run))

    def _hand_out(self, run: RunRow, node: str) -> Claim:
        run.number += 1
        run.claimed_by, run.claimed_at_ms, run.is_touched = node, self._clock(), False
        self._hint(run.label.run_id, node)
        return Claim(run.label.run_id, node, run.number)

    def _view(self, run: RunRow) -> View:
        return view_of(run, self._holder(run), self._is_dead)

    def _resize(self, run: RunRow, size: int) -> None:
        self._bytes += size - run.size
        run.size = size

    def _remove(self, run: RunRow) -> None:
        del self._runs[run.label.run_id]
        self._bytes -= run.size
        self._count -= run.snapshot is not None
        if run.request is not None:
            self._requests.pop(run.request, None)

    def _end(self, run: RunRow, how: How, result: bytes | None, keep_ms: int) -> Ending:
        self._remove(run)
        now = self._clock()
        if result is not None and len(result) > self._limits.max_result_bytes:
            result = None
        ending = Ending(run.label.run_id, run.label.scope, how, now, result, run.digest)
        if keep_ms > 0:
            self._endings[ending.run_id] = KeptRow(ending, now + keep_ms, run.request)
            self._result_bytes += len(result or b"")
            if run.request is not None:
                self._requests[run.request] = ending.run_id
            self._bound_endings()
        return ending

    def _is_current(self, kept: KeptRow) -> bool:
        return not is_past(kept.until_ms, self._limits, self._clock())

    def _purge(self) -> None:
        for run_id in [run_id for run_id, kept in self._endings.items() if not self._is_current(kept)]:
            self._drop(run_id)

    def _bound_endings(self) -> None:
        most, size = self._limits.max_tombstones, self._limits.max_result_bytes
        while len(self._endings) > most or self._result_bytes > size:
            self._drop(next(iter(self._endings)))

    def _drop(self, run_id: str) -> None:
        kept = self._endings.pop(run_id)
        self._result_bytes -= len(kept.ending.result or b"")
        if kept.request is not None:
            self._requests.pop(kept.request, None)

    def _hint(self, run_id: str, by: str) -> None:
        for feed in self._feeds:
            feed.hint(run_id, by)
