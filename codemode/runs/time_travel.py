"""What a host does with the state of programs: a session's world, forks, a run's past. Engine is one.

The names of the caller are as in run_control.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codemode.contract.report import WorldInfo
from codemode.contract.scope import UNSAID, Scope
from codemode.replay.bundle import Bundle
from codemode.runs.exports import ExportError, Exports
from codemode.runs.forks import ForkError, Forks, fork_world
from codemode.runs.history import Checkpoint, History
from codemode.runs.run_control import asked_run
from codemode.runs.worlds import Worlds

_AGENT, _SESSION, _AGENT_RUN = UNSAID.agent, UNSAID.session, UNSAID.agent_run


class TimeTravel:
    _worlds: Worlds
    _forks: Forks
    _history: History
    _exports: Exports

    async def world(
        self, session: str = _SESSION, *, agent: str = _AGENT, scope: Scope | None = None
    ) -> WorldInfo | None:
        """What the programs of the agent have left in the session, with `sessionState: "keep"`: names and
        types, size and age. None if there is nothing. Raises StoreUnavailable."""
        owner = asked_run("-", scope, agent, session, _AGENT_RUN)
        return None if owner is None else await self._worlds.look(owner[1])

    async def reset(
        self, session: str = _SESSION, *, agent: str = _AGENT, scope: Scope | None = None
    ) -> bool:
        """Forgets that; the next program of the session begins with nothing. False if there was nothing.

        What a program that runs now, or a suspended one, has declared is not kept. Raises StoreUnavailable.
        """
        owner = asked_run("-", scope, agent, session, _AGENT_RUN)
        return owner is not None and await self._worlds.reset(owner[1])

    async def fork(
        self,
        run_id: str | None = None,
        *,
        at: int | None = None,
        settle: Mapping[str | int, Any] | None = None,
        into: str | None = None,
        session: str = _SESSION,
        agent: str = _AGENT,
        agent_run: str = _AGENT_RUN,
        scope: Scope | None = None,
    ) -> str:
        """Copies a suspended run, and returns the id of the copy, which waits and goes on like any run. The
        original is as it was. `settle` answers calls that are in flight, by id: a value, or an exception as a
        failure; the others are interrupted in the fork, or run again if their tool is idempotent. `at` is one
        of its `history`: the fork goes on from there, also of a run that has ended.

        Without a `run_id` it copies what the session's programs have declared into another session, a new one
        or `into`, and returns its name. Raises ForkError and StoreUnavailable.
        """
        asked = asked_run(run_id or "-", scope, agent, session, agent_run)
        if asked is None:
            raise ForkError("invalid_input", "fork takes the runId of a suspended run, in its scope.")
        if run_id is not None:
            if into is not None:
                raise TypeError("into is for sessions: a fork of a run is in the run's own session.")
            return await self._forks.fork_run(*asked, settle or {}, at)
        if settle or at is not None:
            raise TypeError("settle and at are for runs: nothing is in flight in a session that is at rest.")
        return await fork_world(self._worlds, asked[1], into)

    async def history(
        self,
        run_id: str,
        *,
        session: str = _SESSION,
        agent: str = _AGENT,
        agent_run: str = _AGENT_RUN,
        scope: Scope | None = None,
    ) -> list[Checkpoint]:
        """The moments of a run that are kept, the oldest first: what was answered then, and what was not.
        `fork(run_id, at=…)` goes on from one. Nothing outside its scope. Raises StoreUnavailable."""
        asked = asked_run(run_id, scope, agent, session, agent_run)
        return [] if asked is None else await self._history.look(*asked)

    async def export(
        self,
        run_id: str,
        *,
        session: str = _SESSION,
        agent: str = _AGENT,
        agent_run: str = _AGENT_RUN,
        scope: Scope | None = None,
    ) -> Bundle:
        """A run as a bundle that `replay_bundle` and `codemode replay` run again, without tools: of one that
        waits, or that has ended lately. Only an engine with `redact=False` records the values for it; other
        bundles say so. Raises ExportError and StoreUnavailable."""
        asked = asked_run(run_id, scope, agent, session, agent_run)
        if asked is None:
            raise ExportError("invalid_input", "export takes the runId of a run, in its scope.")
        engine: Any = self  # which has trajectories
        who = asked[1]
        known = await engine.trajectory(run_id, agent=who.agent, session=who.session, agent_run=who.agent_run)
        return await self._exports.export(*asked, known)
