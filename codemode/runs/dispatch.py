"""Whether a leg under a claim may begin a call that must not be made twice."""

from __future__ import annotations

from codemode_runtime import wire
from codemode_snapshots import SnapshotError

from codemode.contract.explained import Explained
from codemode.runs.run import Run
from codemode.runs.stored_runs import StoredRuns
from codemode.runs.work_tools import is_unrepeatable

_LOST = Explained("aborted", "The run was cancelled, or taken over by another engine.")


class Dispatch:
    """Asks the store, for one leg."""

    def __init__(self, stored: StoredRuns, run: Run) -> None:
        self._stored = stored
        self._run = run
        self._is_touched = False

    async def refusal(self, messages: wire.GuestMessages) -> Explained | None:
        """Before the calls of a batch: the store has to know that the run was touched under this claim, and
        the claim has to be this engine's still."""
        claim = self._run.claim
        if claim is None or not any(is_unrepeatable(self._run, message) for message in messages):
            return None
        if not self._stored.may_dispatch:
            return _LOST
        try:
            self._is_touched = self._is_touched or await self._stored.touch(claim)
        except SnapshotError as error:
            return Explained("internal_error", f"The store cannot be written: {error}")
        return None if self._is_touched else _LOST
