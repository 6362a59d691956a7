"""`tool_search_code`: one program, one worker, one deadline; nothing of it outlives its answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codemode import Engine
from codemode.executor import AfterToolCall, BeforeToolCall, Block, Rewrite
from codemode.tool_search import Answer
from codemode.tools import Tool
from tests.harness.engine import Desk
from tests.harness.loops import until
from tests.harness.mcp_servers import fast, servers
from tests.harness.tool_search import Log, end_by

pytestmark = pytest.mark.usefixtures("leaves_nothing")


async def program(
    text: str, tools: tuple[Tool, ...] = (), config: dict[str, Any] | None = None, **options: Any
) -> Answer:
    """The answer to one program, in an engine of its own."""
    offered = tools or (Log().tool("ship"),)
    async with Engine(offered, {"maxOutputBytes": 2048}, settings={"warmWorkers": 1}, **options) as engine:
        prepared = await engine.tool_search({"mode": "code", **(config or {})}).prepare()
        return await prepared.call("tool_search_code", {"code": text})


def failure(answer: Answer) -> tuple[str, str]:
    assert answer.error is not None, answer
    return answer.error.code, answer.error.message


async def test_search_describe_and_call_work_and_the_value_is_what_is_returned() -> None:
    log = Log()
    answer = await program(
        "const [hit] = await openclaw.tools.search('ship', { limit: 1 });\n"
        "const tool = await openclaw.tools.describe(hit.id);\n"
        "const result = await openclaw.tools.call(hit.id, { subject: 'x' });\n"
        "return [hit.call, Object.keys(tool.parameters.properties), result];",
        (log.tool("ship"), log.tool("sail")),
    )
    assert answer.value == [
        'openclaw.tools.call("plugin:acme:ship", { subject })',
        ["subject", "count"],
        {"did": "ship", "subject": "x"},
    ]


async def test_tools_of_servers_are_found_and_called_like_all_others() -> None:
    text = (
        "const hits = await openclaw.tools.search('add numbers');\n"
        "const sum = await openclaw.tools.call('mcp:fast:add', { a: 40, b: 2 });\n"
        "return [hits.some((hit) => hit.id === 'mcp:fast:add'), sum.result];"
    )
    assert (await program(text, mcp=servers(fast=fast()))).value == [True, 42]


async def test_console_output_is_kept_in_order_with_its_level() -> None:
    answer = await program("console.log('a', 1); console.warn({ b: 2 }); console.error('c'); return 1")
    assert answer.to_dict() == {
        "status": "completed",
        "value": 1,
        "output": [
            {"type": "text", "text": "a 1", "level": "log"},
            {"type": "text", "text": '{"b":2}', "level": "warn"},
            {"type": "text", "text": "c", "level": "error"},
        ],
    }


async def test_positions_are_those_of_the_models_own_text() -> None:
    code, text = failure(await program("const a = 1;\n   null.x;"))
    assert code == "guest_error"
    assert "(2:4)" in text
    assert "\n       null.x;\n" in text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("let x = ;", "invalid_input"),
        ("import x from 'y'", "module_access_denied"),
        ("ls -la /tmp", "invalid_input"),
        ("return 'y'.repeat(5000)", "output_limit_exceeded"),
        ("await new Promise(() => {})", "guest_error"),
        ("const all = []; for (;;) all.push(new Array(10000).fill(1))", "memory_limit_exceeded"),
        ("return await openclaw.tools.call('ship', {})", "nested_tool_failed"),
    ],
)
async def test_failures_have_the_codes_of_the_contract(text: str, code: str) -> None:
    answer = await program(text)
    assert failure(answer)[0] == code
    assert answer.to_envelope()["error"]["code"] == code


@pytest.mark.parametrize(
    "text", ["fetch('http://x')", "process.env", "require('fs')", "openclaw.fs", "globalThis.Deno.x"]
)
async def test_there_is_nothing_outside_to_be_had(text: str) -> None:
    answer = await program(f"return {text} === undefined ? 'nothing' : 'something'")
    assert answer.status == "failed" or answer.value == "nothing"


async def test_openclaw_can_neither_be_replaced_nor_extended() -> None:
    text = """
    const tried = [() => { openclaw.tools.call = 1 }, () => { openclaw = 1 }, () => { openclaw.tools.x = 1 }];
    return tried.map((attempt) => { try { attempt(); return 'done' } catch (e) { return e.name } });"""
    assert (await program(text)).value == ["TypeError", "TypeError", "TypeError"]


@pytest.mark.guarantee("one-shot-programs-keep-their-deadline")
async def test_an_endless_loop_ends_with_the_deadline() -> None:
    code, text = failure(await program("console.log('before'); for (;;);", config={"codeTimeoutMs": 200}))
    assert (code, "after 200 ms" in text) == ("timeout", True)
    assert "suspended" not in text


@pytest.mark.guarantee("one-shot-programs-keep-their-deadline")
@pytest.mark.parametrize(
    "text",
    [
        "return await openclaw.tools.call('hold', { name: 'a' })",
        "openclaw.tools.call('hold', { name: 'a' }); return 1",
        "await openclaw.tools.call('echo', { value: 1 }); await openclaw.tools.call('hold', { name: 'a' })",
    ],
)
async def test_the_time_of_tools_counts_and_a_tool_that_takes_longer_is_cancelled_and_joined(
    text: str,
) -> None:
    desk = Desk()
    answer = await program(text, desk.tools, {"codeTimeoutMs": 300})
    code, told = failure(answer)
    assert (code, "It was waiting for hold, which was cancelled." in told) == ("timeout", True)
    assert (desk.cancelled, desk.joined) == (["a"], ["a"])


@pytest.mark.guarantee("one-shot-programs-keep-their-deadline")
async def test_what_the_program_does_after_its_tools_counts_too() -> None:
    text = "await openclaw.tools.call('ship', { subject: 'x' }); for (;;);"
    assert failure(await program(text, config={"codeTimeoutMs": 300}))[0] == "timeout"


@pytest.mark.guarantee("one-shot-programs-keep-their-deadline")
async def test_a_program_that_waits_for_a_slow_tool_is_ended_and_not_suspended() -> None:
    desk = Desk()
    async with Engine(desk.tools, False) as engine:
        prepared = await engine.tool_search({"mode": "code", "codeTimeoutMs": 200}).prepare()
        text = "return await openclaw.tools.call('hold', { name: 'a' })"
        answer = await prepared.call("tool_search_code", {"code": text})
        suspended = await engine.runs()
    assert (failure(answer)[0], suspended) == ("timeout", [])


@pytest.mark.guarantee("one-shot-calls-are-lazy")
async def test_a_program_that_fails_before_it_awaits_has_called_nothing() -> None:
    log = Log()
    text = "openclaw.tools.call('ship', { subject: 'x' }); throw new Error('changed my mind')"
    answer = await program(text, (log.tool("ship"),), hooks=log)
    assert failure(answer)[0] == "guest_error"
    assert (log.ran, log.before) == ([], [])


async def test_calls_that_were_never_awaited_end_before_the_answer_and_their_failure_is_one() -> None:
    log = Log()
    done = await program("openclaw.tools.call('ship', { subject: 'x' }); return 1", (log.tool("ship"),))
    assert (done.value, log.ran) == (1, [("ship", {"subject": "x"})])
    assert failure(await program("openclaw.tools.call('nope', {}); return 1"))[0] == "nested_tool_failed"


async def test_independent_calls_run_at_once() -> None:
    desk = Desk()
    async with Engine(desk.tools, False) as engine:
        prepared = await engine.tool_search({"mode": "code"}).prepare()
        text = "return await Promise.all(['a', 'b'].map((name) => openclaw.tools.call('hold', { name })))"
        running = asyncio.create_task(prepared.call("tool_search_code", {"code": text}))
        await desk.asked("a", "b")
        desk.answer("b")
        desk.answer("a")
        assert (await running).value == ["a", "b"]


@pytest.mark.parametrize("how", ["close", "abort_session", "cancel"])
async def test_a_program_ends_with_its_engine_session_or_caller_and_its_tools_with_it(how: str) -> None:
    desk = Desk()
    engine = Engine(desk.tools, False)
    await engine.start()
    prepared = await engine.tool_search({"mode": "code"}).prepare(session="s1")
    text = "return await openclaw.tools.call('hold', { name: 'a' })"
    running = asyncio.create_task(prepared.call("tool_search_code", {"code": text}))
    await desk.asked("a")
    answer = await end_by(how, engine, running)
    late = await prepared.call("tool_search_code", {"code": "return 1"})
    if how == "cancel":
        assert isinstance(answer, asyncio.CancelledError)
    else:
        assert failure(answer)[0] == "aborted"
    assert (desk.cancelled, desk.joined) == (["a"], ["a"])
    assert failure(late) == ("aborted", "The engine is closed.")


class Rule:
    """Over the program itself, which it tells by its kind."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.seen: list[tuple[str, str, str | None, str]] = []
        self.ended: list[tuple[str, str]] = []

    def before_tool_call(self, event: BeforeToolCall) -> Any:
        self.seen.append((event.tool, event.tool_kind, event.tool_input_kind, event.arguments["code"]))
        return self.answer

    def after_tool_call(self, event: AfterToolCall) -> None:
        self.ended.append((event.tool, event.tool_kind))


async def test_a_rule_of_the_host_sees_the_program_and_may_rewrite_or_block_it() -> None:
    kind = ("tool_search_code", "tool_search_code")
    watching = Rule(None)
    assert (await program("return 1", hooks=watching)).value == 1
    assert watching.seen == [(*kind, "javascript", "return 1")]
    assert watching.ended == [kind]
    assert (await program("return 1", hooks=Rule(Rewrite({"code": "return 2"})))).value == 2
    code, text = failure(await program("return 1", hooks=Rule(Block("no programs"))))
    assert (code, text) == ("aborted", "A rule of the host blocked this program: no programs")


async def test_workers_are_not_started_for_modes_that_run_no_program() -> None:
    async with Engine([Log().tool("ship")], False) as engine:
        for mode in ("tools", "directory"):
            prepared = await engine.tool_search({"mode": mode}).prepare()
            await prepared.call("tool_call", {"id": "ship", "args": {"subject": "x"}})
        none = engine.stats()["workers"]["spawned"]
        await engine.tool_search({"mode": "code"}).prepare()
        await until(lambda: engine.stats()["workers"]["spawned"] > 0)
        assert none == 0


@pytest.mark.guarantee("a-waiting-program-holds-no-worker")
async def test_a_program_that_waits_lets_go_of_its_worker_for_another_and_then_goes_on() -> None:
    desk = Desk()
    async with Engine(desk.tools, False, settings={"maxWorkers": 1}) as engine:
        prepared = await engine.tool_search({"mode": "code"}).prepare()
        text = (
            "const kept = new Map([[1, 'x']]); console.log('before');\n"
            "const [n] = await Promise.all([openclaw.tools.call('hold', { name: 'a' })]);\n"
            "console.log('after'); const hits = await openclaw.tools.search('hold');\n"
            "return [n, [...kept], hits.length > 0];"
        )
        waits = asyncio.create_task(prepared.call("tool_search_code", {"code": text}))
        await desk.asked("a")
        assert (await prepared.call("tool_search_code", {"code": "return 'meanwhile'"})).value == "meanwhile"
        assert engine.stats().totals.counts["parked"] == 1
        desk.answer("a", 7)
        answer = await waits
        assert answer.value == [7, [[1, "x"]], True]
        assert [line["text"] for line in answer.to_dict()["output"]] == ["before", "after"]


@pytest.mark.guarantee("one-shot-programs-keep-their-deadline")
async def test_a_program_that_has_let_go_of_its_worker_is_ended_at_its_deadline_all_the_same() -> None:
    desk = Desk()
    async with Engine(desk.tools, False, settings={"maxWorkers": 1}) as engine:
        prepared = await engine.tool_search({"mode": "code", "codeTimeoutMs": 1000}).prepare()
        text = "return await openclaw.tools.call('hold', { name: 'a' })"
        waits = asyncio.create_task(prepared.call("tool_search_code", {"code": text}))
        await desk.asked("a")
        assert (await prepared.call("tool_search_code", {"code": "return 1"})).value == 1
        code, told = failure(await waits)
        assert (code, "It was waiting for hold, which was cancelled." in told) == ("timeout", True)
        assert (desk.cancelled, await engine.runs()) == (["a"], [])
        assert engine.stats().totals.counts["parked"] == 1
