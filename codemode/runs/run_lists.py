"""Lists of runs, whatever became of them: those that run, those that are suspended, those that are over."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec
from codemode_snapshots import Listed, PastQuery, PastRun, RunScope
from codemode_snapshots.label import value_given
from msgspec import Struct

from codemode import clock
from codemode.contract.results import WaitReason
from codemode.runs.finished_runs import FinishedRuns, words_of
from codemode.runs.in_flight import wait_reason
from codemode.runs.known_runs import KnownRuns
from codemode.runs.phases import RunState
from codemode.runs.run import Run
from codemode.runs.stored_runs import StoredRuns
from codemode.trajectory.shapes import RunStatus

_MAX_TOOLS = 20
_LIVE = ("running", "waiting")


class RunSummary(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A run as a list shows it. Of a run that another engine suspended, `started_at_ms` is when it was
    suspended, and only its owner and size are known."""

    run_id: str
    agent: str
    session: str
    status: RunStatus
    started_at_ms: int
    agent_run: str = ""
    reason: WaitReason | None = None
    code: str | None = None
    language: str = ""
    place: Literal["here", "store", "elsewhere"] | None = None
    ended_at_ms: int | None = None
    suspended_at_ms: int | None = None
    expires_at_ms: int | None = None
    bytes: int = 0
    legs: int = 0
    calls: int = 0
    tools: tuple[str, ...] = ()
    approvals: int = 0

    def to_dict(self) -> dict[str, Any]:
        return msgspec.json.decode(msgspec.json.encode(self))


class RunQuery(Struct, frozen=True, kw_only=True):
    """Which runs. `sessions` are names, or beginnings with `*`. `text`: words that have to occur in the id,
    the agent, the session, the error code, names of tools, or the program where that is recorded."""

    agent: str | None = None
    session: str | None = None
    sessions: tuple[str, ...] = ("*",)
    statuses: tuple[RunStatus, ...] = ()
    text: str = ""
    tool: str = ""
    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def words(self) -> tuple[str, ...]:
        words = tuple(dict.fromkeys(self.text.lower().split()))[:20]
        return (*words, f" {' '.join(self.tool.lower().split())} ") if self.tool.strip() else words

    def past(self, before: tuple[int, str] | None = None) -> PastQuery:
        return PastQuery(
            self.agent, self.session, self.sessions, self.statuses, self.words, self.since_ms, self.until_ms,
            before,
        )  # fmt: skip


class RunPage(Struct, frozen=True):
    """`next` goes on with the list; None on its last page."""

    runs: tuple[RunSummary, ...]
    next: tuple[int, str] | None


class _Live(NamedTuple):
    at_ms: int
    run_id: str
    scope: RunScope
    run: Run | None
    listed: Listed | None


class RunLists:
    """Makes them; one per engine."""

    def __init__(self, runs: KnownRuns, stored: StoredRuns, past: FinishedRuns) -> None:
        self._runs = runs
        self._stored = stored
        self._past = past

    async def page(self, query: RunQuery, before: tuple[int, str] | None, limit: int) -> RunPage:
        """The latest start first. Raises StoreUnavailable."""
        past: list[PastRun] = []
        if not query.statuses or any(status not in _LIVE for status in query.statuses):
            past = await self._past.find(query.past(before), limit + 1)
        is_past = {run.run_id for run in past}
        found: list[tuple[int, str, Callable[[], RunSummary]]] = [
            (run.started_at_ms, run.run_id, lambda run=run: _of_past(run)) for run in past
        ]
        for live in await self._live(query.session):
            if live.run_id not in is_past and (before is None or (live.at_ms, live.run_id) < before):
                summary = _if_asked(query, live)
                if summary is not None:
                    found.append((live.at_ms, live.run_id, lambda summary=summary: summary))
        found.sort(key=lambda one: (one[0], one[1]), reverse=True)
        page = [make() for _, _, make in found[:limit]]
        last = found[limit - 1][:2] if len(found) > limit else None
        return RunPage(tuple(page), last)

    async def counts(self, query: RunQuery) -> dict[str, int]:
        """How many run, wait and are over, whatever else the query says."""
        wide = RunQuery(agent=query.agent, sessions=query.sessions)
        found = {"running": 0, "waiting": 0}
        for live in await self._live(None):
            if wide.past().matches(_as_past(live, "")):
                found["running" if _status(live) == "running" else "waiting"] += 1
        finished, _ = await self._past.totals(wide.past())
        return {**found, "finished": finished}

    async def _live(self, session: str | None) -> list[_Live]:
        listed = {one.label.run_id: one for one in await self._stored.runs(session)}
        now, ticks = clock.wall_ms(), time.perf_counter()
        here = [
            _Live(now - int((ticks - run.began) * 1000), run.id, run.scope, run, listed.pop(run.id, None))
            for run in self._runs.all()
            if not run.has_ended and session in (None, run.scope.session)
        ]
        others = [
            _Live(one.label.created_at_ms, run_id, one.label.scope, None, one)
            for run_id, one in listed.items()
        ]
        return here + others


def _if_asked(query: RunQuery, live: _Live) -> RunSummary | None:
    """Looks into a run only if what is known without that fits."""
    status, rest = _status(live), msgspec.structs.replace(query, text="", tool="")
    if not rest.past().matches(_as_past(live, status)):
        return None
    summary = _summary(live, status)
    if not query.words:
        return summary
    run = live.run
    packed = None if run is None else run.trace.look(() if run.meter is None else run.meter.calls)
    names = [] if packed is None else [row[2] for row in packed.ledger[:200]]
    text = "" if run is None or run.meter is None else run.active.program[:1_000]
    words = words_of(
        live.run_id, live.scope.agent, live.scope.session, summary.language, *summary.tools, *names, text
    )
    return summary if all(word in words for word in query.words) else None


def _as_past(live: _Live, status: str) -> PastRun:
    return PastRun(live.run_id, live.scope, status, "", "", live.at_ms, 0, 0, 0)


def _status(live: _Live) -> RunStatus:
    if live.run is not None and not live.run.is_adoptable:
        return "waiting" if live.run.state is RunState.WAITING else "running"
    return "running" if live.listed is not None and live.listed.holder is not None else "waiting"


def _summary(live: _Live, status: RunStatus) -> RunSummary:
    scope, listed, run = live.scope, live.listed, live.run
    facts: dict[str, Any] = {"started_at_ms": live.at_ms}
    if listed is not None and status == "waiting":
        label = listed.label
        facts |= {"suspended_at_ms": label.created_at_ms, "expires_at_ms": label.expires_at_ms}
        facts |= {"bytes": listed.size_bytes, "approvals": listed.asking}
    if listed is not None and listed.asking and status == "waiting":
        facts["reason"] = "approval"
    if run is not None and not run.is_unopened:
        facts |= _known(run, status)
    elif listed is not None:
        facts["place"] = "store" if listed.holder is None else "elsewhere"
    return RunSummary(
        run_id=live.run_id,
        agent=scope.agent,
        session=scope.session,
        agent_run=value_given(scope.agent_run),
        status=status,
        **facts,
    )


def _known(run: Run, status: RunStatus) -> dict[str, Any]:
    works = tuple(run.in_flight.pending.values())
    calls = () if run.meter is None else run.meter.calls
    packed = run.trace.look(calls)
    facts: dict[str, Any] = {
        "place": "here",
        "reason": wait_reason(works) if status == "waiting" else None,
        "approvals": sum(work.approval is not None for work in works),
    }
    if packed is not None:
        tools = dict.fromkeys(row[1] for row in packed.ledger if row[1])
        facts |= {
            "started_at_ms": packed.state.started_ms,
            "language": packed.state.language,
            "legs": len(packed.state.legs) + packed.state.dropped_legs,
            "calls": len(packed.ledger),
            "tools": tuple(tools)[:_MAX_TOOLS],
        }
    return facts


def _of_past(run: PastRun) -> RunSummary:
    return RunSummary(
        run_id=run.run_id,
        agent=run.scope.agent,
        session=run.scope.session,
        agent_run=value_given(run.scope.agent_run),
        status=_PAST[run.status],
        code=run.code or None,
        language=run.language,
        started_at_ms=run.started_at_ms,
        ended_at_ms=run.ended_at_ms,
        legs=run.legs,
        calls=run.calls,
        tools=run.tools,
    )


_PAST: dict[str, RunStatus] = {
    "completed": "completed", "failed": "failed", "expired": "expired", "aborted": "aborted"
}  # fmt: skip
