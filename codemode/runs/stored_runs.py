"""Keeps suspended runs: seals, stores, claims and ends them. The engine's only way to a store.

A suspended run is its delta and its own state, sealed together under the run's scope and the engine build. It
belongs to nobody: whichever engine claims it goes on with it. SQLite and stores of a host's own are called in
one thread, so that the event loop never waits for a disk or a network; the engine's own store in memory is
called directly, and nobody else can change what is in it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TypeVar

from codemode_runtime.frames import Data
from codemode_snapshots import (
    Claim,
    Claimed,
    DecidedElsewhere,
    DecidedHere,
    Ending,
    EnvelopeRefused,
    ExecRequest,
    Feed,
    Hold,
    How,
    Label,
    Listed,
    MemoryStore,
    NotClaimed,
    Pending,
    RunScope,
    RunStore,
    Snapshot,
    StoreFull,
    StoreLimits,
    StoreUnavailable,
    Totals,
    View,
    new_key,
)

from codemode import clock
from codemode.config.store_argument import StoreArgument, read_store
from codemode.contract.results import CodeModeResult
from codemode.contract.scope import UNSAID, is_run
from codemode.gate.shares import SessionShares
from codemode.runs.claimed_run import ClaimedRun
from codemode.runs.frozen import Memory, pack_state, read_memory
from codemode.runs.node import Node
from codemode.runs.seals import Seals, off_loop
from codemode.runs.store_line import StoreLine
from codemode.runs.store_places import StorePlace, is_kept_elsewhere, open_place, threads_for

_log = logging.getLogger("codemode.engine")
T = TypeVar("T")
# These reasons lie with this engine: one with another key, build or limit can resume the run.
_STAYS = ("wrong_key", "wrong_build", "wrong_version", "too_large")

Told = Callable[..., None]
_nothing: Told = lambda *_: None  # noqa: E731 - nobody listens


class StoredRuns:
    """The suspended runs of all engines on one store, as one engine sees them.

    A store of the host's own has its own limits, and the engine does not close it.
    """

    def __init__(
        self,
        store: StoreArgument,
        limits: StoreLimits,
        keys: Sequence[bytes] = (),
        share_percent: int = 100,
        keep_ms: int = 900_000,
    ) -> None:
        """A session other than that of hosts who name none may have `share_percent` of the limits."""
        self.place = read_store(store)
        self.limits = limits
        self.seals = Seals(keys, limits.max_snapshot_bytes)
        self._keep_ms = keep_ms
        bounds = limits.max_snapshots, limits.max_total_bytes
        self._shares = SessionShares(*bounds, share_percent, UNSAID.session)
        self.is_roomy = self._shares.is_roomy
        self._store: RunStore | None = None
        self._line = StoreLine()
        self._node: Node | None = None
        self._feed: Feed | None = None

    @property
    def is_durable(self) -> bool:
        return self.place is not None and is_kept_elsewhere(self.place)

    @property
    def is_open(self) -> bool:
        return self._store is not None

    @property
    def is_private(self) -> bool:
        """Nobody but this engine uses the store, so nothing changes in it by itself."""
        return self.place is None

    @property
    def node(self) -> str:
        """The name under which this engine holds claims and calls now."""
        return "" if self._node is None else self._node.name

    @property
    def may_dispatch(self) -> bool:
        return self._node is None or self._node.may_dispatch()

    # ---- opening and closing -------------------------------------------------------------------------------

    async def open(self, fenced: Told = _nothing, changed: Told = _nothing) -> list[Ending]:
        """Opens the store and joins it; answers the runs that dead engines left half done. Raises
        StoreUnavailable. `fenced` and `changed` are called in the event loop."""
        loop = asyncio.get_running_loop()
        if self.place is None:
            self.seals.provide(new_key)
            self._store = MemoryStore(self.limits, clock.wall_ms)
            self._join(self._store, lambda: None)
            return []

        def in_loop(told: Told, *given: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(told, *given)

        self._line.open(threads_for(self.place))
        try:
            await self._line.do(partial(self._open_place, self.place, partial(in_loop, fenced)))
            self._feed = await self._call(lambda store: store.feed(self.node, partial(in_loop, changed)))
            return await self.expire()
        except BaseException:
            await self.close()
            raise

    def _open_place(self, place: StorePlace, fenced: Callable[[], None]) -> None:
        """In the thread: done also for a caller who is cancelled, and then `_close_store` finds it."""
        self._store = open_place(place, self.limits, self.seals)
        self._join(self._store, fenced)

    def _join(self, store: RunStore, fenced: Callable[[], None]) -> None:
        self._node = Node(store, self.seals.key_ids, lambda: Totals(*self._shares.total))
        self._node.join(fenced)

    async def join_anew(self) -> None:
        """After the lease was lost: under another name, and with nothing of what was held."""
        node = self._node
        if node is not None:
            await self._call(lambda _: node.join_anew())

    async def drain(self) -> None:
        if (node := self._node) is not None:
            await self._call(lambda _: node.drain())

    def _close_store(self) -> None:
        store, self._store = self._store, None
        if self._feed is not None:
            self._feed.close()
        if store is None:
            return
        if not self.is_durable and self.place is not None:  # the host's memory: no engine can resume them
            for listed in store.list_runs():
                if self._shares.has(listed.label.run_id):
                    store.finish(listed.label.run_id, "aborted", caller=listed.label.scope, keep_ms=0)
        try:
            if self._node is not None:
                self._node.leave()
        except StoreUnavailable as error:
            _log.warning("the store did not hear that this engine leaves: %s", error)
        store.close()

    async def close(self) -> None:
        """What this engine holds can be taken over by others at once; it has to have stopped it before."""
        await self._line.close(self._close_store)

    # ---- hints ---------------------------------------------------------------------------------------------

    def watch(self, run_id: str, *, soon: bool) -> None:
        """Asks to be told when another engine changes the run; `soon` while a caller waits for it."""
        if self._feed is not None:
            self._feed.watch(run_id, soon=soon)

    def unwatch(self, run_id: str) -> None:
        if self._feed is not None:
            self._feed.forget(run_id)

    # ---- runs ----------------------------------------------------------------------------------------------

    async def reserve(self, request: ExecRequest, run_id: str) -> Claim | View | Ending:
        return await self._claim(lambda store: store.reserve(request, run_id, self.node, self._keep_ms))

    async def save(
        self,
        build_id: str,
        run_id: str,
        scope: RunScope,
        ttl_ms: int,
        state: bytes,
        delta: Data,
        claim: Claim | None,
        calls: Sequence[Pending] = (),
        answer: CodeModeResult | None = None,
        holder: str = "",  # of the calls, if it is not this engine
    ) -> tuple[int, int]:
        """Returns the size and when it expires. Raises StoreFull, NotHeld, StoreUnavailable."""
        now = clock.wall_ms()
        label = Label(build_id, run_id, scope, now, now + ttl_ms)
        sealed = await self.seals.seal_state(label, await pack_state(state), delta)
        kept = None if answer is None else self.seals.seal_result("answer", run_id, scope, answer)
        snapshot = Snapshot(label, sealed, delta, kept)
        self._check_share(run_id, scope.session, snapshot.size_bytes)
        # a cancelled caller abandons the run, which ends what was saved: so it has to be saved by then
        store = self._opened_store()
        await self._line.do_to_end(lambda: store.save(snapshot, calls, holder or self.node, claim=claim))
        self._shares.put(run_id, scope.session, snapshot.size_bytes)
        return snapshot.size_bytes, label.expires_at_ms

    def _check_share(self, run_id: str, session: str, size: int) -> None:
        """Raises StoreFull if the session would have more than its share, as far as this engine knows."""
        found = self._shares.excess(run_id, session, size)
        if found is not None:
            raise StoreFull(found.limit, found.allowed, found.wanted)

    async def look(self, run_id: str, caller: RunScope) -> View | Ending | None:
        """None if the store is closed, as `runs` then returns nothing: the caller came too late."""
        return await self._call(lambda store: store.look(run_id, caller)) if self._store else None

    async def read(self, view: View | Ending | None) -> Memory | None:
        """The state of a run, of any build and expired or not; None if it cannot be read."""
        if not isinstance(view, View) or view.state is None:
            return None
        try:
            state = self.seals.open_state(view.label, view.state, is_past_ok=True).state
        except EnvelopeRefused:
            return None
        return await off_loop(len(state), "unpack", partial(read_memory, state))

    async def runs(self, session: str | None = None) -> list[Listed]:
        return [one for one in await self.listed(None, session) if is_run(one.label.scope)]

    async def listed(self, agent: str | None, session: str | None) -> list[Listed]:
        """All that is stored for them: runs, worlds and what was kept of a run's past."""
        asked = {"agent": agent, "session": session}
        return await self._call(lambda store: store.list_runs(**asked)) if self._store else []

    async def numbers(self, run_ids: Collection[str]) -> dict[str, int] | None:
        """The claim numbers of those runs that are still there; None if only this engine can end one."""
        if self.is_private or self._store is None:
            return None
        found = await self._call(lambda store: store.numbers(run_ids))
        for run_id in set(run_ids) - found.keys():
            self._shares.drop(run_id)
        return found

    async def claim(
        self, builds: Sequence[str], run_id: str, scope: RunScope
    ) -> ClaimedRun | NotClaimed | Ending:
        """Claims the run, so that no other engine can.

        Raises EnvelopeRefused; the run is then gone, unless another engine can open it.
        """
        claimed = await self._claim(lambda store: store.claim(run_id, scope, builds, self.node))
        if not isinstance(claimed, Claimed):
            return claimed
        try:
            state, expires = await self.seals.open_snapshot(claimed.snapshot)
            outcomes = await self.seals.open_outcomes(run_id, claimed.settled)
        except EnvelopeRefused as refused:
            if refused.reason in _STAYS:
                await self.release(claimed.claim)
            else:
                how: How = "expired" if refused.reason == "expired" else "failed"
                keep_ms = self.limits.tombstone_ttl_ms if how == "expired" else 0
                await self._call(
                    lambda store: store.finish(run_id, how, claim=claimed.claim, keep_ms=keep_ms)
                )
            raise
        return ClaimedRun(claimed, state, outcomes, expires)

    async def touch(self, claim: Claim) -> bool:
        """To be called before what must not be repeated; False if the run is not this engine's any more."""
        return self.is_private or await self._call(lambda store: store.touch(claim))

    async def collect(self, claim: Claim, calls: Collection[str]) -> list[tuple[str, bytes]]:
        """Outcomes of calls that other engines run for the claimed run."""
        found = await self._call(lambda store: store.collect(claim, calls))
        return await self.seals.open_outcomes(claim.run_id, found)

    async def release(self, claim: Claim) -> bool:
        return await self._call(lambda store: store.release(claim))

    async def finish(
        self, claim: Claim, scope: RunScope, how: How, result: CodeModeResult, *, is_kept: bool
    ) -> bool:
        """Ends a claimed run; its result can be asked for again, from any engine."""
        self._shares.drop(claim.run_id)
        kept = (
            None
            if self.is_private and not is_kept
            else self.seals.seal_result("result", claim.run_id, scope, result)
        )
        keep_ms = 0 if kept is None else self._keep_ms
        store = self._opened_store()
        return await self._line.do_to_end(
            lambda: store.finish(claim.run_id, how, claim=claim, result=kept, keep_ms=keep_ms)
        )

    async def end(
        self, run_id: str, scope: RunScope, how: How, *, claim: Claim | None = None, is_kept: bool = True
    ) -> bool:
        """Ends a run, also one that another engine holds; with a claim only if that is valid. With `is_kept`
        its scope can ask how it ended."""
        self._shares.drop(run_id)
        keep_ms, caller = self.limits.tombstone_ttl_ms if is_kept else 0, None if claim else scope
        return await self._call(
            lambda store: store.finish(run_id, how, caller=caller, claim=claim, keep_ms=keep_ms)
        )

    def result_of(self, ending: Ending) -> CodeModeResult | None:
        """The result that was kept with the end of a run."""
        return self.seals.open_result("result", ending.run_id, ending.scope, ending.result)

    def answer_of(self, view: View) -> CodeModeResult | None:
        """What the request that began the run was told when it was suspended."""
        return self.seals.open_result("answer", view.label.run_id, view.label.scope, view.answer)

    # ---- calls ---------------------------------------------------------------------------------------------

    async def settle(self, hold: Hold, session: str, outcome: bytes) -> bool:
        """Stores the outcome of a call whose run is suspended; False if it is not this engine's to tell."""
        names = (hold.run_id, hold.call_id)
        sealing = partial(self.seals.seal_part, "outcome", names, outcome, hold.take)
        sealed = await off_loop(len(outcome), "seal", sealing)
        size = self._shares.size_of(hold.run_id) + len(sealed)
        self._check_share(hold.run_id, session, size)
        is_written = await self._call(lambda store: store.settle(hold, sealed))
        if is_written:
            self._shares.put(hold.run_id, session, size)
        return is_written

    async def ask(self, hold: Hold, approval_id: str, request: bytes, *, is_held: bool) -> bool:
        sealed = self.seals.seal_part("request", (hold.run_id, approval_id), request)
        return await self._call(lambda store: store.ask(hold, approval_id, sealed, is_held=is_held))

    async def decide(
        self, run_id: str, scope: RunScope, approval_id: str, decision: bytes
    ) -> DecidedHere | DecidedElsewhere | None:
        """Stores a decision; of all engines that decide on it, one does."""
        sealed = self.seals.seal_part("decision", (run_id, approval_id), decision)
        return await self._call(lambda store: store.decide(run_id, scope, approval_id, sealed, self.node))

    async def answers(self, run_id: str) -> dict[str, bytes]:
        """Sealed decisions on questions of calls that this engine runs, by call."""
        return dict(await self._call(lambda store: store.answers(run_id, self.node)))

    # ---- upkeep --------------------------------------------------------------------------------------------

    async def peek(self, action: Callable[[RunStore], T]) -> T:
        return await self._call(action)  # for looks, and for the history: none of a run's business

    async def expire(self) -> list[Ending]:
        gone = await self._call(lambda store: store.expire())
        for ending in gone:
            self._shares.drop(ending.run_id)
        return [ending for ending in gone if is_run(ending.scope)]

    # ---- inside --------------------------------------------------------------------------------------------

    def _opened_store(self) -> RunStore:
        if self._store is None:
            raise StoreUnavailable("the store is closed; an engine is used between its start and its close")
        return self._store

    async def _call(self, action: Callable[[RunStore], T]) -> T:
        return await self._line.do(partial(action, self._opened_store()))

    async def _claim(self, action: Callable[[RunStore], T]) -> T:
        """A claim that no caller gets any more is released."""

        async def release(late: T) -> None:
            claim = late.claim if isinstance(late, Claimed) else late
            if isinstance(claim, Claim):
                await self.release(claim)

        return await self._line.do_to_end(partial(action, self._opened_store()), release)
