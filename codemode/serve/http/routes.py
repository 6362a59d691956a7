"""The endpoints of the API, in one table: what is served and what the OpenAPI document says are one thing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import Struct

from codemode.serve.http import answers, approvals_api, engine_api, forks_api, runs_api
from codemode.serve.http import inputs as given
from codemode.serve.http.asked import HttpAsked
from codemode.serve.tokens import Right

Handler = Callable[[HttpAsked[Any, Any]], Awaitable[Any]]


class NoQuery(Struct, frozen=True, forbid_unknown_fields=True):
    pass


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`right` None: any token. `refusals` are the statuses beside those that everything may answer."""

    method: Literal["GET", "POST"]
    path: str
    handler: Handler
    right: Right | None
    summary: str
    answer: answers.Schema
    query: type[Struct] = NoQuery
    body: type[Struct] | None = None
    refusals: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return self.handler.__name__


_RUN = "/v1/runs/{runId}"
_APPROVAL = _RUN + "/approvals/{approvalId}"

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("POST", "/v1/exec", runs_api.exec_program, "run", "Run a program", answers.RESULT,
             body=given.ExecBody, refusals=(503,)),
    Endpoint("POST", _RUN + "/wait", runs_api.wait_for_run, "run", "Go on with a suspended run",
             answers.RESULT, body=given.WaitBody, refusals=(404, 503)),
    Endpoint("POST", _RUN + "/abort", runs_api.abort_run, "run", "End a run", answers.flag("aborted"),
             body=given.ScopeBody, refusals=(404,)),
    Endpoint("POST", "/v1/sessions/{session}/abort", runs_api.abort_session, "run",
             "End every run of a session", answers.count("aborted"), body=given.SessionBody),
    Endpoint("GET", "/v1/runs", runs_api.list_runs, "read", "Runs, the newest first", answers.RUNS,
             query=given.RunsQuery),
    Endpoint("GET", _RUN, runs_api.show_run, "read", "One run, in full", answers.RUN,
             query=given.ScopeQuery, refusals=(404,)),
    Endpoint("GET", _RUN + "/trajectory", runs_api.show_trajectory, "read", "Its exported trajectory",
             answers.TRAJECTORY, query=given.ScopeQuery, refusals=(404,)),
    Endpoint("GET", _RUN + "/history", forks_api.show_history, "read", "Its moments that are kept",
             answers.HISTORY, query=given.ScopeQuery, refusals=(404,)),
    Endpoint("POST", _RUN + "/fork", forks_api.fork_run, "run", "A copy of it, which waits",
             answers.FORKED, body=given.ForkBody, refusals=(404, 409, 503)),
    Endpoint("GET", "/v1/approvals", approvals_api.list_approvals, "read",
             "What waits for a decision, the oldest first", answers.APPROVALS, query=given.ApprovalsQuery),
    Endpoint("POST", _APPROVAL + "/approve", approvals_api.approve, "approve", "Let the call go on",
             answers.flag("decided"), body=given.ApproveBody, refusals=(404, 409)),
    Endpoint("POST", _APPROVAL + "/deny", approvals_api.deny, "approve", "Reject the call",
             answers.flag("decided"), body=given.DenyBody, refusals=(404, 409)),
    Endpoint("GET", "/v1/tools", engine_api.list_tools, "read", "The catalog, or a search in it",
             answers.TOOLS, query=given.ToolsQuery),
    Endpoint("GET", "/v1/tools/{toolId:path}", engine_api.describe_tool, "read", "One tool, with its schemas",
             answers.TOOL, query=given.PromptQuery, refusals=(404,)),
    Endpoint("GET", "/v1/prompt", engine_api.show_prompt, "read", "What a model is shown, exactly",
             answers.PROMPT, query=given.PromptQuery),
    Endpoint("GET", "/v1/engine", engine_api.show_engine, "read", "The engine and this server",
             answers.ENGINE),
    Endpoint("GET", "/v1/health", engine_api.show_health, "read", "The last known health", answers.HEALTH),
    Endpoint("POST", "/v1/health/probe", engine_api.probe, "admin", "Try every part", answers.HEALTH,
             body=given.EmptyBody),
    Endpoint("POST", "/v1/drain", engine_api.drain, "admin", "Begin nothing new from now on",
             answers.flag("isDraining"), body=given.EmptyBody),
    Endpoint("GET", "/v1/whoami", engine_api.whoami, None, "What this token may do", answers.WHOAMI),
)  # fmt: skip
