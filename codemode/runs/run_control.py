"""What a caller does with runs beside exec and wait: run to the end, decide on calls, abort, list, look in.
Engine is one.

Each method takes the caller's names one by one or as a `Scope`, and treats a run of another scope as one that
does not exist. Where the store cannot be read or written they raise StoreUnavailable, and the same call may
be made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import codemode_snapshots
import msgspec

from codemode.contract.inputs import InputRefused, read_caller, read_wait
from codemode.contract.report import RunInfo, WorldInfo
from codemode.contract.results import CodeModeResult
from codemode.contract.scope import UNSAID, Scope, is_said, scope_of
from codemode.executor import Decision
from codemode.runs.approvals import Approvals
from codemode.runs.engine_report import list_runs
from codemode.runs.event_hub import Subscription
from codemode.runs.known_runs import KnownRuns
from codemode.runs.recorder import Recorder
from codemode.runs.run_details import RunDetails, RunLookout
from codemode.runs.stored_runs import StoredRuns
from codemode.runs.whole_run import OnWaiting, run_to_end
from codemode.runs.worlds import Worlds
from codemode.tools import CallContext, as_tools
from codemode.trajectory import SessionTrajectory, Trajectory

_AGENT, _SESSION, _AGENT_RUN = UNSAID.agent, UNSAID.session, UNSAID.agent_run


class RunControl:
    _runs: KnownRuns
    _approvals: Approvals
    _stored: StoredRuns
    _recorder: Recorder
    _lookout: RunLookout
    _worlds: Worlds
    _is_open: bool

    async def run(
        self,
        given: str | Mapping[str, Any],
        language: str | None = None,
        *,
        on_waiting: OnWaiting | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - nothing is cancelled when it is over
        session: str = _SESSION,
        agent: str = _AGENT,
        agent_run: str = _AGENT_RUN,
        scope: Scope | None = None,
        tool_call: str = codemode_snapshots.NO_VALUE,
        tools: Iterable[Any] = (),
        allow: Sequence[str] | None = None,
        provider: str | None = None,
        model: str | None = None,
        context: CallContext | None = None,
    ) -> CodeModeResult:
        """Runs a program to its end: `exec`, then `wait` as often as it takes. The result has the output of
        all legs. It is `waiting` if an approval stays undecided, or after `timeout` seconds.

        `on_waiting` gets each waiting result before the run goes on, and may decide on approvals: False
        returns that result, True goes on. `run` looks at `timeout` between legs and cuts none short.
        """
        who, own = scope_of(scope, agent, session, agent_run), tuple(as_tools(tools))
        named: dict[str, Any] = {"scope": who, "tool_call": tool_call, "tools": own}
        asked: dict[str, Any] = {"allow": allow, "provider": provider, "model": model, "context": context}
        engine: Any = self  # which has exec and wait
        return await run_to_end(
            engine.exec(given, language, **named, **asked),
            lambda run_id: engine.wait(run_id, **named),
            self._approvals.is_open,
            on_waiting,
            timeout,
        )

    async def approve(
        self,
        run_id: str,
        approval_id: str,
        *,
        value: Any = None,
        session: str = _SESSION,
        agent: str = _AGENT,
        agent_run: str = _AGENT_RUN,
        scope: Scope | None = None,
    ) -> bool:
        """Lets the call go on; its result comes with `wait`. False if nothing asks for this approval.

        `value` is JSON, the answer for a tool that asked. Raises StoreUnavailable; the call is then
        undecided, as it was.
        """
        who = scope_of(scope, agent, session, agent_run)
        known = msgspec.json.decode(msgspec.json.encode(value))  # raises TypeError, before anything is done
        return await self._decide(run_id, approval_id, Decision(True, value=known), who)

    async def deny(
        self,
        run_id: str,
        approval_id: str,
        *,
        reason: str = "",
        session: str = _SESSION,
        agent: str = _AGENT,
        agent_run: str = _AGENT_RUN,
        scope: Scope | None = None,
    ) -> bool:
        """Rejects the call with code `denied`. False if nothing asks for this approval.

        Raises StoreUnavailable; the call is then undecided, as it was.
        """
        who = scope_of(scope, agent, session, agent_run)
        return await self._decide(run_id, approval_id, Decision(False, reason), who)

    async def _decide(self, run_id: str, approval_id: str, decision: Decision, who: Scope) -> bool:
        caller = (who.agent, who.session, who.agent_run)
        return await self._approvals.decide(run_id, approval_id, decision, caller)

    async def abort(
        self,
        run_id: str,
        *,
        session: str = _SESSION,
        agent: str = _AGENT,
        agent_run: str = _AGENT_RUN,
        scope: Scope | None = None,
    ) -> bool:
        """Ends a run, running or suspended: its exec or wait answers `aborted`. False if there is none.

        Raises StoreUnavailable for a run that is only in the store; one that is here ends in any case.
        """
        asked = _asked(run_id, scope, agent, session, agent_run)
        return asked is not None and await self._runs.abort_one(*asked)

    async def abort_session(
        self, session: str = _SESSION, *, agent: str = _AGENT, scope: Scope | None = None
    ) -> int:
        """Ends every run of the agent in the session, whatever its agent run; answers how many there were.

        Raises StoreUnavailable, as `abort` does.
        """
        owner = _owner("abort_session", scope, agent, session)
        return 0 if owner is None else await self._runs.abort_session(owner.session, owner.agent)

    async def world(
        self, session: str = _SESSION, *, agent: str = _AGENT, scope: Scope | None = None
    ) -> WorldInfo | None:
        """What the programs of the agent have left in the session, with `sessionState: "keep"`: names and
        types, size and age. None if there is nothing. Raises StoreUnavailable."""
        owner = _asked("-", scope, agent, session, _AGENT_RUN)
        return None if owner is None else await self._worlds.look(owner[1])

    async def reset(
        self, session: str = _SESSION, *, agent: str = _AGENT, scope: Scope | None = None
    ) -> bool:
        """Forgets that; the next program of the session begins with nothing. False if there was nothing.

        What a program that runs now, or a suspended one, has declared is not kept. Raises StoreUnavailable.
        """
        owner = _asked("-", scope, agent, session, _AGENT_RUN)
        return owner is not None and await self._worlds.reset(owner[1])

    async def expire(self) -> int:
        """Purges what is past its time; the engine does this by itself. How many runs ended."""
        return await self._runs.expire() if self._is_open else 0

    async def runs(self, session: str | None = None, *, scope: Scope | None = None) -> list[RunInfo]:
        """The suspended runs, oldest first: all, those of one session, or those that a scope may wait for.

        Raises StoreUnavailable.
        """
        if scope is not None:
            scope = scope_of(scope, session=_SESSION if session is None else session)
        return await list_runs(self._stored, self._runs.get, session, scope)

    async def run_info(
        self,
        run_id: str,
        *,
        session: str = _SESSION,
        agent: str = _AGENT,
        agent_run: str = _AGENT_RUN,
        scope: Scope | None = None,
    ) -> RunDetails | None:
        """One run as it is now, without waiting for it: running, suspended here or in the store, or ended and
        kept. None outside its scope. Changes nothing. Raises StoreUnavailable.
        """
        asked = _asked(run_id, scope, agent, session, agent_run)
        return None if asked is None else await self._lookout.look(*asked)

    def events(self, run_id: str | None = None) -> Subscription:
        """What happens from now on, in one run or in all."""
        return self._recorder.hub.subscribe(run_id)

    async def trajectory(
        self,
        run_id: str,
        *,
        session: str = _SESSION,
        agent: str = _AGENT,
        agent_run: str = _AGENT_RUN,
        scope: Scope | None = None,
    ) -> Trajectory | None:
        """What happened in a run that runs, is suspended or ended lately; None outside its scope.

        Raises StoreUnavailable for a run that is not known here.
        """
        asked = _asked(run_id, scope, agent, session, agent_run)
        return None if asked is None else await self._recorder.archive.of_run(self._runs, *asked)

    async def session_trajectory(
        self, session: str = _SESSION, *, agent: str = _AGENT, scope: Scope | None = None
    ) -> SessionTrajectory | None:
        """The same for all runs of an agent in a session that are still known. Raises StoreUnavailable."""
        owner = _owner("session_trajectory", scope, agent, session)
        return None if owner is None else await self._recorder.archive.of_session(self._runs, owner)

    async def sessions(self, agent: str = _AGENT) -> list[str]:
        """The sessions of an agent with a run that is still known, by name. Raises StoreUnavailable."""
        return await self._recorder.archive.sessions_of(self._runs, agent)


def _asked(
    run_id: str, scope: Scope | None, agent: str, session: str, agent_run: str
) -> tuple[str, codemode_snapshots.RunScope] | None:
    """The run's id and the caller; None if no run or no caller can have such a name."""
    try:
        return read_wait(run_id), read_caller(scope, agent, session, agent_run)
    except InputRefused:
        return None


def _owner(method: str, scope: Scope | None, agent: str, session: str) -> codemode_snapshots.RunScope | None:
    """Of a whole session, which a caller has to name. Raises TypeError where it is not named."""
    if scope is None and not is_said(session):
        raise TypeError(f"{method} needs a session, or a scope.")
    try:
        return read_caller(scope, agent, session, UNSAID.agent_run)
    except InputRefused:
        return None
