"""What happens to the runs of a store by other engines, by time, and by the loss of this engine's lease.

A hint says that runs may have changed; a round now and then does without hints. What is known here is put
right by what the store says: results of other engines reach legs that wait for them, runs that ended
elsewhere end here, and what an engine held that was taken for dead is stopped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from codemode_snapshots import Ending, EnvelopeRefused, StoreUnavailable, View

from codemode.runs.known_runs import LOST_LEASE, KnownRuns
from codemode.runs.leg import Services
from codemode.runs.phases import RunState
from codemode.runs.run import Run
from codemode.runs.work import is_question

_log = logging.getLogger("codemode.engine")


class StoreNews:
    """Listens to the store; one per engine."""

    def __init__(self, services: Services, runs: KnownRuns) -> None:
        self._services = services
        self._stored = services.stored
        self._recorder = services.recorder
        self._runs = runs
        self._hinted: set[str] = set()
        self._expiry: asyncio.Task[None] | None = None
        self._attending: asyncio.Task[None] | None = None
        self._is_closed = False
        self._rejoining: asyncio.Task[None] | None = None

    def open(self, ended: Collection[Ending]) -> None:
        """`ended` are the runs that dead engines left half done, as the store told when it was opened."""
        _warn(ended)
        self._expiry = asyncio.create_task(self._expire_for_ever(), name="codemode expiry")

    async def close(self) -> None:
        """From now on nothing is done here by itself; what has begun goes on to its end."""
        self._is_closed = True
        if self._expiry is not None:
            self._expiry.cancel()
            await asyncio.gather(self._expiry, return_exceptions=True)
        under_way = [task for task in (self._attending, self._rejoining) if task is not None]
        await asyncio.gather(*under_way, return_exceptions=True)

    # ---- time ----------------------------------------------------------------------------------------------

    async def _expire_for_ever(self) -> None:
        pause = max(0.25, min(30.0, self._services.config.snapshot_ttl_seconds / 4))
        while True:
            await asyncio.sleep(pause)
            await self.expire()

    async def expire(self) -> int:
        """Purges runs past their time and returns how many ended."""
        suspended = [run for run in self._runs.all() if run.state is RunState.WAITING]
        try:
            ended_runs = await self._stored.expire()
            numbers = await self._stored.numbers([run.id for run in suspended])
        except StoreUnavailable as error:
            _log.warning("expired runs could not be purged: %s", error)
            return 0
        _warn(ended_runs)
        gone = {ending.run_id for ending in ended_runs if ending.how == "expired"}
        self._recorder.snapshots_expired(len(gone))
        for run in suspended:
            if run.state is not RunState.WAITING or run.caller_task is not None:
                continue
            if run.id in gone:
                await self._runs.end_here(run, "expired")
            elif numbers is not None and run.id not in numbers:
                await self._ended_elsewhere(run)
            elif numbers is not None and numbers[run.id] != run.number and not run.in_flight.is_busy:
                self._runs.drop(run)  # another engine went on with it
        await self._runs.forget_again()
        return len(ended_runs)

    # ---- what other engines do -----------------------------------------------------------------------------

    def hear(self, run_ids: Collection[str]) -> None:
        """A hint: other engines may have changed these runs."""
        self._hinted.update(run_id for run_id in run_ids if self._runs.get(run_id) is not None)
        if self._hinted and self._attending is None and not self._is_closed:
            self._attending = asyncio.create_task(self._attend(), name="codemode hints")

    async def _attend(self) -> None:
        try:
            while self._hinted:
                run_ids, self._hinted = self._hinted, set()
                numbers = await self._stored.numbers(run_ids) or {}
                for run in [run for run_id in run_ids if (run := self._runs.get(run_id)) is not None]:
                    await self._attend_one(run, numbers.get(run.id))
        except (StoreUnavailable, EnvelopeRefused) as error:
            _log.warning("what other engines did could not be read: %s", error)
        finally:
            self._attending = None

    async def _attend_one(self, run: Run, number: int | None) -> None:
        flight = run.in_flight
        if run.is_listening:
            flight.hint()  # it looks for itself
        elif number is None:
            await self._ended_elsewhere(run)
        elif run.claim is not None and flight.elsewhere:
            wanted = [str(work_id) for work_id in flight.elsewhere]
            for call_id, payload in await self._stored.collect(run.claim, wanted):
                work = flight.pending.get(int(call_id))
                if work is not None:
                    self._services.work.settle_recorded(run, work, payload)
        if any(work.approval is not None and is_question(work.approval) for work in flight.pending.values()):
            for work, approval, decision in await self._services.work.records.answers(run):
                self._services.work.decide(run, work, approval, decision)

    async def _ended_elsewhere(self, run: Run) -> None:
        """The run is not in the store any more: stops what goes on here for it."""
        if run.has_ended or (run.state is RunState.RUNNING and run.claim is None):
            return  # its first leg, or one that is ending
        found = await self._stored.look(run.id, run.scope)
        if isinstance(found, View) or run.has_ended:
            return
        if run.state is RunState.RUNNING:
            run.lose()
            await self._runs.abort(run, "another engine ended it")
        else:
            await self._runs.end_here(run, "expired" if found is None else found.how)

    def lose_lease(self) -> None:
        """This engine was taken for dead: others may have what it held. It stops that, and joins anew."""
        if not self._is_closed and self._rejoining is None:
            self._rejoining = asyncio.create_task(self._rejoin(), name="codemode lease")

    async def _rejoin(self) -> None:
        _log.warning("this engine lost its lease on the store: what it held is stopped, and it joins anew")
        try:
            for run in self._runs.all():
                if run.state is RunState.RUNNING and run.claim is not None:
                    run.stop(LOST_LEASE, keeps=True)
                    if run.caller_task is not None:
                        await run.caller_task.stop()
                    await run.in_flight.cancel()
                    self._runs.drop(run)
                elif run.state is RunState.WAITING:
                    await run.in_flight.start_over()
                    run.let_go()
                    run.in_flight.hint()
                    if run.caller_task is None:
                        self._runs.drop(run)
            await self._stored.join_anew()
        except StoreUnavailable as error:
            _log.warning("the store could not be joined anew: %s", error)
        finally:
            self._rejoining = None


def _warn(ended: Collection[Ending]) -> None:
    for ending in ended:
        if ending.how == "interrupted":
            _log.warning("run %s was being resumed when its engine died; it is gone", ending.run_id)
