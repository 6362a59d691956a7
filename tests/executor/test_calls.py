"""The executor: from a request to its result, with context, hooks, limits and audit."""

import asyncio
import contextvars
import sys
import threading
from typing import Any

import pytest

from codemode.catalog import Catalog
from codemode.executor import (
    AuditEvent,
    CallFailed,
    CallOk,
    CallRequest,
    CallResult,
    CallUpdate,
    Executor,
    ToolWords,
)
from codemode.tools import CallContext, Tool, ToolError, tool
from tests.harness.tool_samples import make, takes

READ = make("read", parameters=takes("path"))
WHO = CallContext(agent_id="main", session_id="s1", sender="ada", channel="chat", run_id="r1")
TENANT: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="none")


async def call(executor: Executor, *requests: CallRequest) -> list[CallResult]:
    return list(await asyncio.gather(*map(executor.call, requests)))


async def call_one(tools: list[Tool], request: CallRequest, **options: Any) -> CallResult:
    return (await call(Executor(Catalog(tools), **options), request))[0]


async def test_a_call_gives_the_tools_value() -> None:
    result = await call_one([READ], CallRequest("read", {"path": "a"}))

    assert isinstance(result, CallOk)
    assert (result.value, result.json, result.status) == ({"path": "a"}, b'{"path":"a"}', "ok")


async def test_no_arguments_are_an_empty_object() -> None:
    assert await call_one([make("now")], CallRequest("now")) == CallOk(b"{}")


@pytest.mark.guarantee("arguments-are-checked-first")
async def test_invalid_arguments_do_not_reach_the_tool() -> None:
    calls: list[str] = []

    @tool
    def write(path: str) -> None:
        calls.append(path)

    result = await call_one([write], CallRequest("write", {"paht": "a"}))

    assert isinstance(result, CallFailed)
    assert result.code == "invalid_arguments"
    assert calls == []


@pytest.mark.parametrize(
    "request_",
    [
        CallRequest("exec", {"code": "return 1"}),
        CallRequest("wait", {"runId": "r"}),
        CallRequest("tool_call", {"id": "read"}),
        CallRequest("openclaw:core:secret", {}),
        CallRequest("mcp:github:create_issue", {}, via="host"),
    ],
)
async def test_what_is_not_in_the_catalog_is_an_unknown_tool(request_: CallRequest) -> None:
    result = await call_one([READ], request_)

    assert isinstance(result, CallFailed)
    assert (result.code, result.status) == ("unknown_tool", "error")
    assert result.message.startswith(f'No tool "{request_.tool}" in this run.')


async def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    result = await call_one([READ, make("web_search")], CallRequest("websearch", {}))

    assert result == CallFailed(
        "unknown_tool",
        "UnknownTool",
        'No tool "websearch" in this run. Nearest: web_search. Find tools with tools.search(query).',
        {"nearest": ["web_search"]},
    )


async def test_a_name_that_two_tools_have_is_not_suggested() -> None:
    twins = [make("web_search", source="plugin", owner=owner) for owner in ("a", "b")]

    by_name, by_id = await call(
        Executor(Catalog(twins)), CallRequest("web_serch", {}), CallRequest("plugin:a:web_serch", {})
    )

    assert isinstance(by_name, CallFailed)
    assert isinstance(by_id, CallFailed)
    assert (by_name.data, by_id.data) == (None, {"nearest": ["plugin:a:web_search"]})


async def test_a_call_that_ends_just_as_its_caller_is_cancelled_ends_well_and_the_caller_is_cancelled() -> (
    None
):
    @tool
    async def last_moment() -> None:
        running.append(asyncio.current_task())
        caller.cancel()  # who hears of it in the next turn, when this has ended

    running: list[asyncio.Task[Any] | None] = []
    caller = asyncio.create_task(Executor(Catalog([last_moment])).call(CallRequest("last_moment")))
    with pytest.raises(asyncio.CancelledError):
        await caller
    (task,) = running
    assert task is not None
    assert task.exception() is None


async def test_mcp_tools_are_reached_by_id_and_not_through_tools() -> None:
    issue = make("create_issue", source="mcp", owner="github")
    executor = Executor(Catalog([issue]))

    by_tools, by_mcp, absent = await call(
        executor,
        CallRequest(issue.id, {}),
        CallRequest(issue.id, {}, via="mcp"),
        CallRequest("mcp:github:create_issuf", {}),
    )

    assert by_mcp == CallOk(b"{}")
    assert isinstance(by_tools, CallFailed)
    assert isinstance(absent, CallFailed)
    assert by_tools.message.replace("issue", "issuf") == absent.message


@pytest.mark.guarantee("context-is-kept")
async def test_the_tool_sees_who_calls_and_the_idempotency_key() -> None:
    @tool
    async def look(context: CallContext) -> list[str]:
        return [context.agent_id, context.sender, context.run_id, context.call_id, context.idempotency_key]

    result = await call_one([look], CallRequest("look", None, "7", "r1:7", WHO))

    assert result == CallOk(b'["main","ada","r1","7","r1:7"]')


@pytest.mark.parametrize("in_thread", [True, False])
@pytest.mark.guarantee("context-is-kept")
async def test_context_variables_of_the_runs_owner_reach_the_tool(in_thread: bool) -> None:
    async def look_async() -> str:
        return TENANT.get()

    def look_sync() -> str:
        return TENANT.get()

    owner = contextvars.copy_context()
    owner.run(TENANT.set, "acme")
    look = tool(name="look")(look_sync if in_thread else look_async)

    assert await call_one([look], CallRequest("look", variables=owner)) == CallOk(b'"acme"')


async def test_a_failure_of_the_tool_is_a_result() -> None:
    @tool
    async def fail() -> None:
        raise ToolError("out of paper", data={"tray": 2})

    assert await call_one([fail], CallRequest("fail")) == CallFailed(
        "tool_error", "ToolError", "out of paper", {"tray": 2}, ToolWords()
    )


@pytest.mark.parametrize("in_thread", [True, False])
async def test_a_tool_cannot_end_the_process(in_thread: bool) -> None:
    async def leave_async() -> None:
        sys.exit(3)

    def leave_sync() -> None:
        sys.exit(3)

    leave = tool(name="leave")(leave_sync if in_thread else leave_async)

    assert await call_one([leave], CallRequest("leave")) == CallFailed(
        "tool_error", "SystemExit", "the tool tried to end the process"
    )


async def test_a_result_that_is_not_json_is_a_failure_that_says_it_ran() -> None:
    @tool
    async def open_lock() -> Any:
        return threading.Lock()

    result = await call_one([open_lock], CallRequest("open_lock"))

    assert isinstance(result, CallFailed)
    assert result.message == "open_lock has run, but the result holds a lock, which is not JSON"


async def test_a_result_over_the_limit_is_a_failure_that_says_it_ran() -> None:
    @tool
    async def dump() -> str:
        return "x" * 100

    assert await call_one([dump], CallRequest("dump"), max_result_bytes=50) == CallFailed(
        "tool_error",
        "ResultTooLarge",
        "dump has run, but its result of 102 bytes is over the limit of 50. Ask for less at once.",
        {"bytes": 102, "limit": 50},
    )


@pytest.mark.parametrize("in_thread", [True, False])
async def test_progress_arrives_in_order_and_ends_with_the_call(in_thread: bool) -> None:
    kept: list[CallContext] = []

    async def work_async(context: CallContext) -> None:
        kept.append(context)
        for step in (1, 2):
            context.update({"step": step})

    def work_sync(context: CallContext) -> None:
        kept.append(context)
        for step in (1, 2):
            context.update({"step": step})

    work = tool(name="work")(work_sync if in_thread else work_async)
    seen: list[CallUpdate] = []
    executor = Executor(Catalog([work]), on_update=seen.append)
    await executor.call(CallRequest("work", None, "7", context=WHO))
    kept[0].update({"step": "late"})
    await asyncio.sleep(0)

    assert seen == [CallUpdate("r1", "7", work.id, {"step": 1}), CallUpdate("r1", "7", work.id, {"step": 2})]


@pytest.mark.guarantee("nested-calls-keep-the-rules")
async def test_every_call_is_audited_by_the_real_tools_name() -> None:
    events: list[AuditEvent] = []
    executor = Executor(Catalog([READ]), audit=events.append)

    await call(
        executor,
        CallRequest("read", {"path": "secret"}, "1", context=WHO),
        CallRequest("openclaw:core:read", {"path": 3}, "2", context=WHO),
        CallRequest("nope", {"a": "secret"}, "3", context=WHO),
    )

    assert [(event.tool, event.tool_id, event.outcome, event.code) for event in events] == [
        ("read", "openclaw:core:read", "ok", None),
        ("read", "openclaw:core:read", "error", "invalid_arguments"),
        ("nope", None, "error", "unknown_tool"),
    ]
    last = events[0]
    assert (last.run_id, last.call_id, last.agent_id, last.session_id, last.sender, last.channel) == (
        "r1",
        "1",
        "main",
        "s1",
        "ada",
        "chat",
    )
    assert (last.argument_names, last.bytes_out) == (("path",), 17)
    assert "secret" not in repr(events)


async def test_an_audit_that_fails_does_not_undo_the_call() -> None:
    async def audit(event: AuditEvent) -> None:
        raise OSError("disk full")

    assert await call_one([make("now")], CallRequest("now"), audit=audit) == CallOk(b"{}")


@pytest.mark.guarantee("sessions-are-strangers")
async def test_two_executors_at_once_keep_their_catalogs_apart() -> None:
    mine, theirs = Executor(Catalog([make("mine")])), Executor(Catalog([make("theirs")]))
    requests = [(mine, "mine"), (mine, "theirs"), (theirs, "mine"), (theirs, "theirs")]
    results = list(await asyncio.gather(*(executor.call(CallRequest(name)) for executor, name in requests)))
    assert [result.status for result in results] == ["ok", "error", "error", "ok"]
