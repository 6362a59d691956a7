"""session_status, sessions_list and sessions_history: what an agent did, from its trajectories and worlds.

A program sees the sessions of its own agent. What trajectories keep of values is the host's choice
(`recordPayloads`); these tools show no more than that.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Annotated, NotRequired, Protocol, TypedDict

import msgspec

from codemode import clock
from codemode.contract.report import WorldInfo
from codemode.tools import CallContext, Tool, ToolError, tool
from codemode.trajectory.shapes import SessionTrajectory, Trajectory

_MAX_SESSIONS = 100
_MAX_CALLS = 50
_MAX_NAMES = 100

_Runs = Annotated[int, msgspec.Meta(ge=1, le=50)]


class SessionSource(Protocol):
    """What these tools ask of an engine."""

    async def sessions(self, agent: str = ...) -> list[str]: ...
    async def session_trajectory(
        self, session: str = ..., *, agent: str = ...
    ) -> SessionTrajectory | None: ...
    async def world(self, session: str = ..., *, agent: str = ...) -> WorldInfo | None: ...


class WorldLine(TypedDict):
    names: dict[str, str]
    bytes: int
    programs: int


class SessionStatus(TypedDict):
    agent: str
    session: str
    runId: str
    time: str
    runs: int
    waiting: int
    toolCalls: int
    variables: NotRequired[WorldLine]


class SessionLine(TypedDict):
    session: str
    runs: int
    waiting: int
    lastStartedAt: str


class SessionLines(TypedDict):
    sessions: list[SessionLine]
    hasMore: bool


class RunLine(TypedDict, total=False):
    runId: str
    status: str
    startedAt: str
    error: str
    calls: list[str]
    moreCalls: int


class SessionHistory(TypedDict):
    session: str
    runs: list[RunLine]
    hasMore: bool


def session_tools(source: Callable[[], SessionSource]) -> list[Tool]:
    """`source` gives the engine when a tool is called: the tools are made before the engine is."""

    async def session_status(context: CallContext) -> SessionStatus:
        """Tells about this session: its names, the time, its programs, calls, and variables that stay."""
        found = await source().session_trajectory(context.session_id, agent=context.agent_id)
        runs = found.runs if found is not None else ()
        told: SessionStatus = {
            "agent": context.agent_id,
            "session": context.session_id,
            "runId": context.run_id,
            "time": _time(clock.wall_ms()),
            "runs": len(runs),
            "waiting": sum(run.status == "waiting" for run in runs),
            "toolCalls": sum(len(leg.calls) + leg.more_calls for run in runs for leg in run.calls),
        }
        world = await source().world(context.session_id, agent=context.agent_id)
        if world is not None:
            names = dict(islice(world.names.items(), _MAX_NAMES))
            told["variables"] = {"names": names, "bytes": world.bytes, "programs": world.programs}
        return told

    async def sessions_list(context: CallContext) -> SessionLines:
        """Lists the sessions of this agent that are still known, the latest first."""
        engine = source()
        names = await engine.sessions(context.agent_id)
        lines: list[tuple[int, SessionLine]] = []
        for name in names[:_MAX_SESSIONS]:
            found = await engine.session_trajectory(name, agent=context.agent_id)
            runs = found.runs if found is not None else ()
            last = max((run.started_at_ms for run in runs), default=0)
            waiting = sum(run.status == "waiting" for run in runs)
            told: SessionLine = {
                "session": name,
                "runs": len(runs),
                "waiting": waiting,
                "lastStartedAt": _time(last),
            }
            lines.append((last, told))
        lines.sort(key=lambda pair: -pair[0])
        return {"sessions": [told for _, told in lines], "hasMore": len(names) > _MAX_SESSIONS}

    async def sessions_history(context: CallContext, session: str = "", limit: _Runs = 10) -> SessionHistory:
        """Tells what the programs of a session of this agent called, the latest first.

        Args:
            session: From sessions_list; without it, this one.
            limit: How many programs at most.
        """
        name = session or context.session_id
        found = await source().session_trajectory(name, agent=context.agent_id)
        if found is None or not found.runs:
            raise ToolError(f"No session {name[:80]!r} of this agent is known here.", code="not_found")
        latest = sorted(found.runs, key=lambda run: -run.started_at_ms)
        return {
            "session": name,
            "runs": [_run(run) for run in latest[:limit]],
            "hasMore": len(latest) > limit,
        }

    reads = partial(tool, read_only=True, idempotent=True)
    return [reads(session_status), reads(sessions_list), reads(sessions_history)]


def _run(run: Trajectory) -> RunLine:
    calls = [call for leg in run.calls for call in leg.calls]
    told: RunLine = {
        "runId": run.run_id,
        "status": run.status,
        "startedAt": _time(run.started_at_ms),
        "calls": [f"{call.name}: {call.error or call.status}" for call in calls[:_MAX_CALLS]],
    }
    if run.code:
        told["error"] = run.code
    more = len(calls[_MAX_CALLS:]) + sum(leg.more_calls for leg in run.calls)
    if more:
        told["moreCalls"] = more
    return told


def _time(ms: int) -> str:
    """As JavaScript's Date reads it; empty if it is not known."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if ms else ""
