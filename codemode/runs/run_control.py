"""What a caller does with runs beside exec and wait: run to the end, decide on calls, abort, list, look in.
Engine is one.

Each method takes the caller's names one by one or as a `Scope`, and treats a run of another scope as one that
does not exist. Where the store cannot be read or written they raise StoreUnavailable, and the same call may
be made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import codemode_snapshots
import msgspec
from codemode_snapshots.label import value_given

from codemode.contract.events import Event
from codemode.contract.inputs import InputRefused, read_caller, read_wait
from codemode.contract.report import RunInfo
from codemode.contract.results import CodeModeResult
from codemode.contract.scope import UNSAID, Scope, is_said, scope_of
from codemode.executor import Decision
from codemode.runs.admission import Admission
from codemode.runs.approvals import Approvals
from codemode.runs.draining import Draining
from codemode.runs.engine_report import list_runs, store_facts
from codemode.runs.event_hub import EventListener, Subscription
from codemode.runs.known_runs import KnownRuns
from codemode.runs.leg import Services
from codemode.runs.looks import Looks
from codemode.runs.open_approvals import OpenApproval
from codemode.runs.recorder import Recorder
from codemode.runs.run_details import RunDetails
from codemode.runs.run_lists import RunPage, RunQuery
from codemode.runs.run_report import RunReport
from codemode.runs.store_news import StoreNews
from codemode.runs.stored_runs import StoredRuns
from codemode.runs.tool_looks import ToolLooks, ToolPage
from codemode.runs.whole_run import OnWaiting, run_to_end
from codemode.tools import CallContext, as_tools
from codemode.trajectory import SessionTrajectory, Trajectory

EVERY_RUN = RunQuery()
_AGENT, _SESSION, _AGENT_RUN = UNSAID.agent, UNSAID.session, UNSAID.agent_run


class RunControl:
    _runs: KnownRuns
    _news: StoreNews
    _drain: Draining
    _approvals: Approvals
    _stored: StoredRuns
    _recorder: Recorder
    _looks: Looks
    _admission: Admission
    _services: Services
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

    async def drain(self, *, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - nothing is cancelled
        """For an engine that is to be closed: from now on `exec` is refused (`runtime_unavailable`), while
        `wait`, `approve` and the rest still work, and calls go on. Returns True once no leg runs and no call
        is made here, False after `timeout` seconds. Suspended runs stay in the store for other engines.
        """
        if not self._is_open:
            return True
        await self._drain.begin()
        return await self._drain.until_quiet(timeout)

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
        asked = asked_run(run_id, scope, agent, session, agent_run)
        return asked is not None and await self._runs.abort_one(*asked)

    async def abort_session(
        self, session: str = _SESSION, *, agent: str = _AGENT, scope: Scope | None = None
    ) -> int:
        """Ends every run of the agent in the session, whatever its agent run; answers how many there were.

        Raises StoreUnavailable, as `abort` does.
        """
        owner = _owner("abort_session", scope, agent, session)
        return 0 if owner is None else await self._runs.abort_session(owner.session, owner.agent)

    async def expire(self) -> int:
        """Purges what is past its time; the engine does this by itself. How many runs ended."""
        return await self._news.expire() if self._is_open else 0

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
        asked = asked_run(run_id, scope, agent, session, agent_run)
        return None if asked is None else await self._looks.details.look(*asked)

    async def approvals(
        self, session: str | None = None, *, agent: str | None = None, scope: Scope | None = None
    ) -> list[OpenApproval]:
        """What waits for a decision, the oldest first: all, or of one session, agent or scope. With the
        arguments, which are for people. Raises StoreUnavailable."""
        if scope is not None:
            who = scope_of(scope, session=_SESSION if session is None else session)
            found = await self._looks.approvals.listed(who.agent, who.session)
            return [one for one in found if one.agent_run == value_given(who.agent_run)]
        return await self._looks.approvals.listed(agent, session)

    async def list_runs(
        self, query: RunQuery = EVERY_RUN, *, before: tuple[int, str] | None = None, limit: int = 50
    ) -> RunPage:
        """Runs that run, are suspended or are over, the latest start first. `before` is `next` of the page
        before. For hosts: there is no scope but that of the query. Raises StoreUnavailable."""
        return await self._looks.lists.page(query, before, limit)

    async def count_runs(self, query: RunQuery = EVERY_RUN) -> dict[str, int]:
        """How many run, wait and are over, of the agent and the sessions of the query. Raises
        StoreUnavailable."""
        return await self._looks.lists.counts(query)

    async def run_owner(self, run_id: str) -> Scope | None:
        """Whose run it is; None if it is not known. For hosts that check by themselves who may see a run.
        Raises StoreUnavailable."""
        owner = await self._looks.reports.owner(run_id)
        return None if owner is None else Scope(owner.agent, owner.session, owner.agent_run)

    async def run_report(
        self,
        run_id: str,
        *,
        session: str = _SESSION,
        agent: str = _AGENT,
        agent_run: str = _AGENT_RUN,
        scope: Scope | None = None,
    ) -> RunReport | None:
        """All that can be told of one run, live or over, for people. None outside its scope. Changes nothing.
        Raises StoreUnavailable."""
        asked = asked_run(run_id, scope, agent, session, agent_run)
        return None if asked is None else await self._looks.reports.report(*asked)

    def events(self, run_id: str | None = None) -> Subscription:
        """What happens from now on, in one run or in all."""
        return self._recorder.hub.subscribe(run_id)

    async def list_tools(
        self,
        query: str = "",
        *,
        session: str = _SESSION,
        agent: str = _AGENT,
        provider: str | None = None,
        model: str | None = None,
        offset: int = 0,
        limit: int = 50,
    ) -> ToolPage:
        """The tools of an agent under the policy, by id; with a query those that `tools.search` finds."""
        who = Scope(str(agent), str(session))
        return await ToolLooks(self._admission, self._services.work).page(
            who, query, provider, model, offset, limit
        )

    async def describe_tool(
        self,
        tool: str,
        *,
        session: str = _SESSION,
        agent: str = _AGENT,
        provider: str | None = None,
        model: str | None = None,
    ) -> dict[str, Any] | None:
        """One of them, by id or name, with its schemas and its declaration in TypeScript."""
        looks = ToolLooks(self._admission, self._services.work)
        return await looks.describe(Scope(str(agent), str(session)), tool, provider, model)

    async def store_info(self) -> dict[str, Any]:
        """What the store is and holds. Raises StoreUnavailable."""
        return await store_facts(self._stored, self._looks.past)

    def on_event(self, told: Callable[[Event], None]) -> EventListener:
        """Calls `told` for each event of all runs, at once and in the engine's event loop, as long as the
        answer is kept and not closed. It must return quickly: the engine waits for it."""
        return self._recorder.hub.listen(told)

    def owner_here(self, run_id: str) -> Scope | None:
        """As `run_owner`, of a run that this engine knows now: without a look into the store."""
        run = self._runs.get(run_id)
        return None if run is None else Scope(run.scope.agent, run.scope.session, run.scope.agent_run)

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
        asked = asked_run(run_id, scope, agent, session, agent_run)
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


def asked_run(
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
