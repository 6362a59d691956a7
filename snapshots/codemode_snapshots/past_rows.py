"""Runs that are over as rows of a table, for both databases."""

from __future__ import annotations

from typing import Any

from codemode_snapshots.errors import EnvelopeRefused, StoreUnavailable
from codemode_snapshots.label import RunScope
from codemode_snapshots.past import PastRun

LISTED = (
    "run_id, agent, session, agent_run, tool_call, status, code, language, started_at_ms, ended_at_ms,"
    " legs, calls, tools, words"
)
COLUMNS = f"{LISTED}, size_bytes, body"
NEWEST = " ORDER BY started_at_ms DESC, run_id DESC"


def row_of(run: PastRun) -> tuple[Any, ...]:
    scope = run.scope
    return (
        run.run_id, scope.agent, scope.session, scope.agent_run, scope.tool_call, run.status, run.code,
        run.language, run.started_at_ms, run.ended_at_ms, run.legs, run.calls, "\n".join(run.tools),
        run.words, run.size, run.body,
    )  # fmt: skip


def run_of(row: tuple[Any, ...], body: bytes = b"") -> PastRun:
    """Raises StoreUnavailable for a row that no store wrote."""
    run_id, agent, session, agent_run, tool_call, status, code, language, started, ended, *more = row
    legs, calls, tools, words = more
    try:
        scope = RunScope(agent, session, agent_run, tool_call)
        own = tuple(tools.split("\n")) if tools else ()
        return PastRun(run_id, scope, status, code, language, started, ended, legs, calls, own, words, body)
    except (EnvelopeRefused, TypeError, ValueError, AttributeError) as error:
        raise StoreUnavailable("the history holds a row that no store wrote") from error
