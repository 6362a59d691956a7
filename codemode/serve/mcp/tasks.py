"""Runs as tasks (the extension io.modelcontextprotocol/tasks): a client that knows them never needs `wait`.

A call that is not done after a moment becomes a task, whose id is the run's. It goes on by itself; the client
asks how it stands, answers what it asks, and may cancel it. Approvals are its input requests.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from codemode import clock
from codemode.contract.events import RunStarted
from codemode.contract.results import CodeModeResult, Output, Waiting
from codemode.engine import Engine
from codemode.runs.event_hub import Subscription
from codemode.serve.mcp.asking import ApprovalTexts, can_elicit, decision_of, open_approvals, question

if TYPE_CHECKING:  # loaded when it is served
    from mcp import types
    from mcp.server.context import ServerRequestContext

EXTENSION = "io.modelcontextprotocol/tasks"
_MOMENT_SECONDS = 0.5  # of a program that has begun: what is done by then is no task
_POLL_MS = 500
_MAX_TASKS = 1_000  # that are done and still told of; the oldest goes first
_HEADER_MISMATCH = -32020
_CAPABILITY_MISSING = -32021

ToResult = Callable[[CodeModeResult, bool], "types.CallToolResult"]


@dataclass(slots=True, eq=False)
class RunTask:
    """One run on its way, whoever asks for it."""

    session: str
    run_id: str = ""
    began_ms: int = field(default_factory=clock.wall_ms)
    changed_ms: int = field(default_factory=clock.wall_ms)
    waiting: Waiting | None = None
    answered: set[str] = field(default_factory=set[str])
    result: CodeModeResult | None = None
    problem: str = ""
    is_cancelled: bool = False
    known: asyncio.Event = field(default_factory=asyncio.Event)  # the run has begun, or there is none
    job: asyncio.Task[None] | None = None

    @property
    def is_done(self) -> bool:
        return self.result is not None or bool(self.problem) or self.is_cancelled


class RunTasks:
    """The tasks of one server. `to_result` is what `tools/call` would have answered."""

    def __init__(self, engine: Engine, asked: ApprovalTexts, to_result: ToResult) -> None:
        self._engine = engine
        self._asked = asked
        self._to_result = to_result
        self._tasks: dict[str, RunTask] = {}
        self._jobs: set[asyncio.Task[None]] = set()

    def is_known_to(self, context: ServerRequestContext[Any, Any]) -> bool:
        able = context.session.client_capabilities
        return able is not None and EXTENSION in (able.extensions or {})

    async def begin(
        self, context: ServerRequestContext[Any, Any], name: str, arguments: dict[str, Any], session: str
    ) -> types.CallToolResult | dict[str, Any]:
        """The result if it is there in a moment, else a new task."""
        task = RunTask(session)
        call = f"call_{secrets.token_hex(8)}"
        run_id = arguments.get("runId")
        if name == "wait" and isinstance(run_id, str):
            task.run_id = run_id
            task.known.set()
        begun = (
            self._engine.exec(arguments, session=session, tool_call=call)
            if name == "exec"
            else self._engine.wait(arguments, session=session)
        )
        task.job = asyncio.create_task(self._lead(task, begun, call), name="codemode mcp task")
        self._jobs.add(task.job)
        task.job.add_done_callback(self._jobs.discard)
        try:
            await task.known.wait()
            await asyncio.wait((task.job,), timeout=_MOMENT_SECONDS)
        except asyncio.CancelledError:  # the client gave up before it knew of a task
            task.job.cancel()
            raise
        if task.result is not None:
            return self._to_result(task.result, can_elicit(context))
        self._keep(task)
        return {"resultType": "task", **self._told(task, "working")}

    async def get(
        self, context: ServerRequestContext[Any, Any], task_id: str, session: str
    ) -> dict[str, Any]:
        task = self._find(context, task_id, session)
        if task.is_cancelled:
            return self._told(task, "cancelled")
        if task.problem:
            return self._told(task, "failed") | {"error": {"code": -32603, "message": task.problem}}
        if task.result is not None:
            shown = self._to_result(task.result, can_elicit(context))
            found = shown.model_dump(by_alias=True, mode="json", exclude_none=True)
            return self._told(task, "completed") | {"result": {"resultType": "complete", **found}}
        calls = [] if task.waiting is None else open_approvals(task.waiting, task.answered)
        if not calls:
            return self._told(task, "working")
        if not can_elicit(context):
            told = "A call waits for an approval, and this client cannot ask its user."
            return self._told(task, "working") | {"statusMessage": told}
        asked = {
            call.approval.id: question(self._asked.text_of(call)).model_dump(
                by_alias=True, mode="json", exclude_none=True
            )
            for call in calls
            if call.approval is not None
        }
        return self._told(task, "input_required") | {"inputRequests": asked}

    async def update(
        self, context: ServerRequestContext[Any, Any], task_id: str, session: str, answers: dict[str, Any]
    ) -> None:
        """Decides approvals. What nobody asked for is ignored; a question put aside stays open."""
        from mcp import types
        from pydantic import ValidationError

        task = self._find(context, task_id, session)
        for key, answer in answers.items():
            try:
                decision = decision_of(types.ElicitResult.model_validate(answer))
            except ValidationError:
                decision = None
            if decision is None or task.waiting is None:
                continue
            task.answered.add(key)
            if decision.approved:
                await self._engine.approve(task.run_id, key, session=session)
            else:
                await self._engine.deny(task.run_id, key, reason=decision.reason, session=session)

    async def cancel(self, context: ServerRequestContext[Any, Any], task_id: str, session: str) -> None:
        task = self._find(context, task_id, session)
        if not task.is_done:
            task.is_cancelled = True
            task.changed_ms = clock.wall_ms()
            await self._engine.abort(task.run_id, session=session)

    async def close(self) -> None:
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)

    async def _lead(self, task: RunTask, begun: Awaitable[CodeModeResult], call: str) -> None:
        """From its start to its end, over all waiting. The last result has the output of all legs."""
        events = self._engine.events()  # before it begins, so that its start is heard
        watch = asyncio.create_task(self._watch(task, call, events), name="codemode mcp task's start")
        output: tuple[Output, ...] = ()
        try:
            result = await begun
            while isinstance(result, Waiting):
                task.run_id = task.run_id or result.run_id
                task.known.set()
                output = (*output, *result.output)
                task.waiting, task.changed_ms = result, clock.wall_ms()
                result = await self._engine.wait(result.run_id, session=task.session)
            task.result = msgspec.structs.replace(result, output=(*output, *result.output))
        except Exception as problem:  # not of the program: those are results
            task.problem = f"the run could not go on: {type(problem).__name__}"
        finally:
            task.waiting, task.changed_ms = None, clock.wall_ms()
            task.known.set()
            events.close()
            watch.cancel()

    async def _watch(self, task: RunTask, call: str, events: Subscription) -> None:
        async for event in events:
            if isinstance(event, RunStarted) and event.tool_call == call:
                task.run_id = event.run_id
                task.known.set()
                break
        events.close()

    def _keep(self, task: RunTask) -> None:
        oldest = clock.wall_ms() - int(self._engine.config.snapshot_ttl_seconds * 1000)
        done = [name for name, one in self._tasks.items() if one.is_done]
        late = [name for name in done if self._tasks[name].changed_ms < oldest]
        for name in late or done[: len(self._tasks) - _MAX_TASKS + 1]:
            del self._tasks[name]
        self._tasks[task.run_id] = task

    def _find(self, context: ServerRequestContext[Any, Any], task_id: str, session: str) -> RunTask:
        """Raises MCPError: a task of another session does not exist either."""
        from mcp import MCPError, types

        if not self.is_known_to(context):
            raise MCPError(
                _CAPABILITY_MISSING,
                f"tasks need the extension {EXTENSION}",
                {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
            )
        named = None if context.request is None else context.request.headers.get("mcp-name")
        if named is not None and named.strip() != task_id:
            raise MCPError(_HEADER_MISMATCH, "the header Mcp-Name is not the task's id")
        task = self._tasks.get(task_id)
        if task is None or task.session != session:
            raise MCPError(types.INVALID_PARAMS, "there is no such task")
        return task

    def _told(self, task: RunTask, status: str) -> dict[str, Any]:
        return {
            "taskId": task.run_id,
            "status": status,
            "createdAt": _stamp(task.began_ms),
            "lastUpdatedAt": _stamp(task.changed_ms),
            "ttlMs": int(self._engine.config.snapshot_ttl_seconds * 1000),
            "pollIntervalMs": _POLL_MS,
        }


def _stamp(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
