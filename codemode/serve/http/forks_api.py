"""What clients do with a run's past: look at it, and go on from it in a fork."""

from __future__ import annotations

from typing import Any

from codemode.contract.scope import Scope
from codemode.engine import Engine
from codemode.runs.forks import ForkError
from codemode.serve.http.asked import HttpAsked
from codemode.serve.http.errors import HttpRefused
from codemode.serve.http.inputs import ForkBody, ScopeQuery
from codemode.tools import ToolError


async def show_history(asked: HttpAsked[ScopeQuery, Any]) -> Any:
    query, run_id = asked.query, asked.path["runId"]
    who = await asked.caller.owner(asked.engine, run_id, query.agent, query.session, query.agent_run)
    return {"checkpoints": await checkpoints_of(asked.engine, run_id, who)}


async def checkpoints_of(engine: Engine, run_id: str, who: Scope) -> list[dict[str, Any]]:
    return [moment.to_dict() for moment in await engine.history(run_id, scope=who)]


async def fork_run(asked: HttpAsked[Any, ForkBody]) -> Any:
    body, run_id = asked.body, asked.path["runId"]
    asked.require_ready()
    who = await asked.caller.owner(asked.engine, run_id, body.agent, body.session, body.agent_run)
    settle: dict[str | int, Any] = {
        **body.settle,
        **{call: ToolError(said) for call, said in body.fail.items()},
    }
    try:
        return {"runId": await asked.engine.fork(run_id, at=body.at, settle=settle, scope=who)}
    except ForkError as refused:
        raise HttpRefused(409, str(refused)) from None
