"""An engine that is to go takes no new program, and ends what it has begun."""

from __future__ import annotations

import asyncio
import contextlib

from codemode_snapshots import SnapshotError

from codemode.contract.results import Failed, failed
from codemode.runs.known_runs import KnownRuns
from codemode.runs.phases import RunState
from codemode.runs.run import Run
from codemode.runs.stored_runs import StoredRuns

_LOOK_S = 0.02


class Draining:
    """Of one engine."""

    def __init__(self, runs: KnownRuns, stored: StoredRuns) -> None:
        self._runs = runs
        self._stored = stored
        self.is_on = False

    def refusal(self) -> Failed | None:
        """Why no program may begin."""
        if not self.is_on:
            return None
        return failed(
            "runtime_unavailable", "This engine takes no new program, as it is to end. Ask another."
        )

    async def begin(self) -> None:
        """The other engines on the store are told, as far as the store can be reached."""
        if not self.is_on:
            self.is_on = True
            with contextlib.suppress(SnapshotError):  # the next beat says it
                await self._stored.drain()

    async def until_quiet(self, seconds: float | None) -> bool:
        """True once no leg is led and no call is made here; False if that takes longer."""
        loop = asyncio.get_running_loop()
        until = None if seconds is None else loop.time() + seconds
        while any(map(_is_at_work, self._runs.all())):
            if until is not None and loop.time() >= until:
                return False
            await asyncio.sleep(_LOOK_S)
        return True


def _is_at_work(run: Run) -> bool:
    return run.state is RunState.RUNNING or run.caller_task is not None or run.in_flight.is_busy
