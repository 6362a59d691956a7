"""What clients do with runs: exec, wait, abort; lists and one run in full."""

from __future__ import annotations

from typing import Any

import msgspec
from codemode_snapshots import NO_VALUE
from codemode_snapshots.label import value_given

from codemode.contract.results import CodeModeResult
from codemode.contract.scope import Scope
from codemode.runs.call_sites import call_sites
from codemode.runs.open_approvals import approvals_of
from codemode.runs.run_lists import RunQuery, RunSummary
from codemode.runs.run_report import RunReport
from codemode.serve.http.asked import HttpAsked
from codemode.serve.http.errors import HttpRefused, no_such_run
from codemode.serve.http.forks_api import checkpoints_of
from codemode.serve.http.inputs import ExecBody, RunsQuery, ScopeBody, ScopeQuery, SessionBody, WaitBody

_REFUSED = "invalid_input"  # also for a run that there is not


async def exec_program(asked: HttpAsked[Any, ExecBody]) -> Any:
    body, engine = asked.body, asked.engine
    asked.require_ready()
    who = asked.caller.scope(body.agent, body.session, body.agent_run)
    given = {"code": body.code} | ({} if body.language is None else {"language": body.language})
    options: dict[str, Any] = {
        "scope": who,
        "tool_call": body.tool_call or NO_VALUE,
        "allow": body.allow,
        "provider": body.provider,
        "model": body.model,
        "context": None if body.context is None else body.context.read(),
    }
    if not body.to_end:
        return _answer(
            await asked.unless_gone(engine.exec(given, **options, request_id=body.request_id)), body
        )
    if body.request_id is not None:
        raise HttpRefused(400, "requestId and toEnd do not go together: send exec, then wait.")
    seconds = None if body.timeout_ms is None else body.timeout_ms / 1000
    return _answer(await asked.unless_gone(engine.run(given, **options, timeout=seconds)), body)


async def wait_for_run(asked: HttpAsked[Any, WaitBody]) -> Any:
    body, run_id = asked.body, asked.path["runId"]
    asked.require_ready()
    who = await _owner(asked, body)
    waiting = asked.engine.wait(run_id, scope=who, tool_call=body.tool_call or NO_VALUE)
    result = await asked.unless_gone(waiting)
    is_refused = result.status == "failed" and result.code == _REFUSED
    if is_refused and await asked.engine.run_info(run_id, scope=who) is None:
        raise no_such_run()
    return _answer(result, body)


async def abort_run(asked: HttpAsked[Any, ScopeBody]) -> Any:
    who = await _owner(asked, asked.body)
    if not await asked.engine.abort(asked.path["runId"], scope=who):
        raise no_such_run()
    return {"aborted": True}


async def abort_session(asked: HttpAsked[Any, SessionBody]) -> Any:
    who = asked.caller.scope(asked.body.agent, asked.path["session"], None)
    return {"aborted": await asked.engine.abort_session(who.session, agent=who.agent)}


async def list_runs(asked: HttpAsked[RunsQuery, Any]) -> Any:
    query, token = asked.query, asked.caller.token
    own = asked.caller.agent_filter
    if own is not None and query.agent not in (None, own):
        return {"runs": [], "next": None, "counts": {"running": 0, "waiting": 0, "finished": 0}}
    wanted = RunQuery(
        agent=own or query.agent,
        session=query.session,
        sessions=token.sessions,
        statuses=query.statuses(),
        text=query.q,
        tool=query.tool,
        since_ms=query.since,
        until_ms=query.until,
    )
    page = await asked.engine.list_runs(wanted, before=query.before(), limit=query.limit)
    counts = await asked.engine.count_runs(RunQuery(agent=own, sessions=token.sessions))
    return {
        "runs": [_row(run) for run in page.runs],
        "next": None if page.next is None else f"{page.next[0]}~{page.next[1]}",
        "counts": counts,
    }


async def show_run(asked: HttpAsked[ScopeQuery, Any]) -> Any:
    report = await _report(asked)
    owner = _summary(report)
    scope = Scope(owner.agent, owner.session, owner.agent_run or NO_VALUE)
    past = await checkpoints_of(asked.engine, owner.run_id, scope)
    details, trajectory = report.details, report.trajectory
    program = report.program
    first = trajectory.calls[0] if trajectory.calls else None
    size = 0 if first is None else (first.input or {}).get("bytes", 0)
    language = "" if first is None else first.tool_input_kind
    return {
        "run": _row(owner),
        "program": {"language": language, "bytes": size} | ({} if program is None else {"text": program}),
        "positions": {} if program is None else call_sites(program, report.ledger),
        "error": report.error,
        "legs": trajectory.calls,
        "droppedLegs": trajectory.dropped_control_calls,
        "ledger": report.ledger,
        "output": report.output,
        "value": {"known": False} if report.value is None else {"known": True, "value": report.value},
        "pending": () if details is None else details.pending_tool_calls,
        "approvals": [] if details is None else approvals_of(details),
        "settled": 0 if details is None else details.settled,
        "redaction": trajectory.redaction,
        "history": {"checkpoints": past} if past else None,
    }


async def show_trajectory(asked: HttpAsked[ScopeQuery, Any]) -> Any:
    return (await _report(asked)).trajectory


async def _report(asked: HttpAsked[ScopeQuery, Any]) -> RunReport:
    query, run_id = asked.query, asked.path["runId"]
    who = await asked.caller.owner(asked.engine, run_id, query.agent, query.session, query.agent_run)
    report = await asked.engine.run_report(run_id, scope=who)
    if report is None:
        raise no_such_run()
    return report


async def _owner(asked: HttpAsked[Any, Any], body: ScopeBody) -> Scope:
    return await asked.caller.owner(
        asked.engine, asked.path["runId"], body.agent, body.session, body.agent_run
    )


def _answer(result: CodeModeResult, body: ExecBody | WaitBody) -> Any:
    return result.to_dict() | {"forModel": result.for_model()} if body.for_model else result


def _row(run: RunSummary) -> dict[str, Any]:
    """With what a client shows in any case, also where it is nothing."""
    told = msgspec.to_builtins(run)
    shown: dict[str, Any] = dict.fromkeys(("bytes", "legs", "calls", "approvals"), 0)
    shown |= {"agentRun": "", "language": "", "tools": []}
    return shown | told


def _summary(report: RunReport) -> RunSummary:
    told, details = report.trajectory, report.details
    tools = dict.fromkeys(call.tool for call in report.ledger if call.tool)
    live: dict[str, Any] = {}
    if details is not None and told.status in ("running", "waiting"):
        live = {
            "reason": details.reason,
            "place": details.place,
            "suspended_at_ms": details.suspended_at_ms,
            "expires_at_ms": details.expires_at_ms,
            "bytes": details.bytes,
            "approvals": len(details.approvals),
        }
    return RunSummary(
        run_id=told.run_id,
        agent=told.agent,
        session=told.session,
        agent_run=value_given(told.agent_run),
        status=told.status,
        code=told.code or None,
        language=told.calls[0].tool_input_kind if told.calls else "",
        started_at_ms=told.started_at_ms,
        ended_at_ms=told.ended_at_ms,
        legs=len(told.calls) + told.dropped_control_calls,
        calls=len(report.ledger) + sum(leg.more_calls for leg in told.calls),
        tools=tuple(tools)[:20],
        **live,
    )
