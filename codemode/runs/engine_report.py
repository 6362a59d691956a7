"""Reports made of what an engine counts and stores; what they look like is in contract/report.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from codemode_snapshots import Listed, PastQuery

from codemode.contract.report import EngineStats, LoopStats, McpServerStats, RunInfo, WorkerStats
from codemode.contract.scope import Scope
from codemode.runs.finished_runs import FinishedRuns
from codemode.runs.meter import Tally
from codemode.runs.phases import Suspended
from codemode.runs.run import Run
from codemode.runs.store_places import kind_of
from codemode.runs.stored_runs import StoredRuns


def stats_of(
    runs: Iterable[Run],
    tally: Tally,
    workers: WorkerStats,
    loop: LoopStats,
    mcp: Iterable[McpServerStats],
    is_draining: bool,
) -> EngineStats:
    states = [run.state.value for run in runs]
    return EngineStats(
        runs={state: states.count(state) for state in sorted(set(states))},
        totals=tally.to_dict(),
        workers=msgspec.to_builtins(workers),
        loop=msgspec.to_builtins(loop),
        mcp=[msgspec.to_builtins(server) for server in mcp],
        draining=is_draining,
    )


async def list_runs(
    stored: StoredRuns, find: Callable[[str], Run | None], session: str | None, scope: Scope | None
) -> list[RunInfo]:
    """All suspended runs, those of a session, or those that a caller of this scope may wait for."""
    listed = await stored.runs(session if scope is None else scope.session)
    found = [_describe(one, settled_of(one.settled, stored, find(one.label.run_id))) for one in listed]
    if scope is None:
        return found
    return [run for run in found if (run.agent, run.agent_run) == (scope.agent, scope.agent_run)]


async def store_facts(stored: StoredRuns, past: FinishedRuns) -> dict[str, Any]:
    """Sizes as the store counts them; the history counts what it may keep too."""
    runs = await stored.peek(lambda store: store.totals())
    kept, kept_bytes = await past.totals(PastQuery())
    bounds = past.bounds
    return {
        "kind": kind_of(stored.place),
        "isDurable": stored.is_durable,
        "node": stored.node,
        "runs": runs.runs,
        "bytes": runs.bytes,
        "maxRuns": stored.limits.max_snapshots,
        "maxBytes": stored.limits.max_total_bytes,
        "history": {
            "runs": kept,
            "bytes": kept_bytes,
            "maxRuns": bounds.max_runs,
            "maxBytes": bounds.max_bytes,
            "maxAgeMs": bounds.max_age_ms,
        },
    }


def settled_of(settled: int, stored: StoredRuns, known: Run | None) -> int:
    """How many results wait for the run; the engine's own store in memory is told of none of them."""
    if not stored.is_private or known is None:
        return settled
    return known.phase.settled_calls if isinstance(known.phase, Suspended) else 0


def _describe(listed: Listed, settled: int) -> RunInfo:
    label = listed.label
    return RunInfo(
        runId=label.run_id,
        agent=label.scope.agent,
        session=label.scope.session,
        agentRun=label.scope.agent_run,
        createdAtMs=label.created_at_ms,
        expiresAtMs=label.expires_at_ms,
        bytes=listed.size_bytes,
        settled=settled,
        state="waiting" if listed.holder is None else "running",
        toolCall=label.scope.tool_call,
    )
