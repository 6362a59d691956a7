"""A server that lies, hangs, dies and floods: its own calls fail, clearly, and nothing else does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from codemode.executor import Decision
from codemode.mcp.bridge import McpBridge
from codemode.mcp.library import Library
from codemode.mcp.requests import Unreachable
from codemode.tools import CallContext, Tool
from tests.harness.engine import engine, failure_of, value_of
from tests.harness.grammar import problems
from tests.harness.loops import until
from tests.harness.mcp_servers import FILES, hostile, servers

LOST = "the MCP server bad was lost: "
pytestmark = pytest.mark.usefixtures("leaves_nothing")


async def listed(mode: str) -> tuple[Tool, ...]:
    """What a bridge makes of the server's list."""

    async def nobody(context: CallContext, tool: str, summary: str, details: dict[str, Any]) -> Decision:
        return Decision(False)

    bridge = McpBridge(servers(bad=hostile(mode)), nobody)
    await bridge.open()
    try:
        assert bridge.health()[0]["reason"] == ""
        return bridge.tools
    finally:
        await bridge.close()


def declarations(tools: tuple[Tool, ...]) -> str:
    found = Library(tools).read_file("mcp/bad.d.ts")
    assert found is not None
    return msgspec.json.decode(found)["content"]


async def test_names_become_identifiers_that_do_not_collide_and_the_declarations_parse() -> None:
    program = "return [Object.keys(MCP.bad), (await API.read('mcp/bad.d.ts')).content]"
    async with engine((), mcp=servers(bad=hostile("names"))) as made:
        names, content = value_of(await made.exec(program))
    assert names[:5] == ["_1", "_1st", "a" * 80, "api", "constructor2"]
    assert {
        "createIssue",
        "createIssue2",
        "createIssue3",
        "delete2",
        "then2",
        "resources2",
        "prompts2",
    } < set(names)
    assert {"resources", "prompts", "$api"} < set(names)
    assert "__proto__" not in names
    assert len(names) == len(set(names)) == 22  # the one called resources/list is left out
    assert problems(content) == []


async def test_a_server_s_tool_is_destructive_unless_the_server_says_otherwise() -> None:
    own = [tool for tool in await listed("calls") if "/" not in tool.name]
    assert {(tool.hints.read_only, tool.hints.destructive) for tool in own} == {(False, True)}


async def test_schemas_with_cycles_loops_and_depth_are_declared_within_bounds() -> None:
    content = declarations(await listed("schemas"))
    assert problems(content) == []
    assert len(content) < 32 << 10


async def test_such_tools_can_still_be_called() -> None:
    program = """
    const ask = (name, input) => MCP.bad[name](input).then(() => "ok", (e) => e.code);
    const slow = { p: "a".repeat(40) + "!" };
    const node = { next: {} };
    return [await ask("schema3", { node }), await ask("schema4", {}), await ask("schema8", slow)];
    """
    async with engine((), mcp=servers(bad=hostile("schemas"))) as made:
        # they declare a result type and give no structured content
        assert value_of(await made.exec(program)) == ["mcp_error", "mcp_error", "invalid_arguments"]


async def test_ten_thousand_tools_are_listed_called_and_declared_within_bounds() -> None:
    program = """
    const { files } = await API.list("mcp/bad");
    const one = await MCP.bad.$api("tool_9999");
    const called = await MCP.bad.tool9999({ inner: {} });
    return [Object.keys(MCP.bad).length, files[0].bytes, one.tools, called.content[0].text];
    """
    async with engine((), mcp=servers(bad=hostile("many"))) as made:
        count, size, tools, called = value_of(await made.exec(program))
    assert count == 10_003
    assert 200_000 < size < 270_000
    assert (tools, called) == (["tool9999"], "tool_9999")


async def test_megabytes_of_description_and_schema_are_cut() -> None:
    tools = {tool.name: tool for tool in await listed("huge")}
    assert len(tools["big"].description) == 8_000
    assert tools["wide"].parameters == {"type": "object"}
    assert problems(declarations(tuple(tools.values()))) == []


def catching(call: str) -> str:
    return f"return await {call}.then((v) => v.content[0].text.length, (e) => [e.code, e.message])"


@pytest.mark.parametrize(
    ("tool", "outcome"),
    [
        ("error", ["mcp_error", "it did not work"]),
        ("rubbish", ["mcp_error", "the server's answer is not what MCP says it is"]),
        ("odd", ["mcp_error", "odd arguments"]),
        ("die", ["mcp_error", f"{LOST}it ended with code 3"]),
        ("too_large", ["mcp_error", f"{LOST}it sent a message of more than {16 << 20} bytes"]),
        ("hang", ["timeout", "hang did not end within 0.5 s"]),
        ("wrong_id", ["timeout", "wrong_id did not end within 0.5 s"]),
        ("noise", 5),
    ],
)  # fmt: skip
async def test_a_call_that_goes_wrong_says_so_and_the_next_one_works(tool: str, outcome: Any) -> None:
    name = "tooLarge" if tool == "too_large" else "wrongId" if tool == "wrong_id" else tool
    slow = hostile("calls", timeoutMs=500) if outcome != 5 and outcome[0] == "timeout" else hostile("calls")
    async with engine((), mcp=servers(bad=slow, good=hostile("calls"))) as made:
        first = value_of(await made.exec(catching(f"MCP.bad.{name}()")))
        other = value_of(await made.exec(catching("MCP.good.ok()")))
        assert (first, other, value_of(await made.exec(catching("MCP.bad.ok()")))) == (outcome, 2, 2)


@pytest.mark.guarantee("nested-errors-say-whether-to-retry")
async def test_a_lost_or_unreachable_server_is_worth_another_try_and_a_refusal_is_not() -> None:
    program = """
    const told = (p) => p.then(() => "ok", (e) => e.retryable);
    return [await told(MCP.bad.die()), await told(MCP.bad.lie())];
    """
    async with engine((), mcp=servers(bad=hostile("calls"))) as made:
        assert value_of(await made.exec(program)) == [True, False]
    assert Unreachable("it ended").retryable


async def test_a_result_over_the_limit_is_refused_by_its_size() -> None:
    async with engine((), mcp=servers(bad=hostile("calls"))) as made:
        value = value_of(await made.exec("return await MCP.bad.large().catch((e) => [e.code, e.data.limit])"))
    assert value == ["tool_error", 8 << 20]


async def test_a_result_that_is_not_what_was_declared_is_refused() -> None:
    async with engine((), mcp=servers(bad=hostile("calls"))) as made:
        error = failure_of(await made.exec("return await MCP.bad.lie()"), "nested_tool_failed").error
    assert "lie has run, but its result is not what it declares" in error


async def test_calls_that_were_running_when_the_server_died_fail_and_those_of_others_go_on() -> None:
    program = """
    const told = (p) => p.then(() => "ok", (e) => e.code);
    return await Promise.all([told(MCP.bad.hang()), told(MCP.bad.die()), told(MCP.good.ok())]);
    """
    async with engine((), mcp=servers(bad=hostile("calls"), good=hostile("calls"))) as made:
        assert value_of(await made.exec(program)) == ["mcp_error", "mcp_error", "ok"]


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (hostile("exit"), "it ended with code 7"),
        (hostile("mute", connectTimeoutMs=700), "it did not answer within 0.7 s"),
        ({"command": "/nonexistent/server"}, "No such file or directory"),
        ({"url": "http://127.0.0.1:9/mcp"}, "connection"),
    ],
)
async def test_a_server_that_cannot_be_reached_degrades_the_engine_and_no_more(
    server: dict[str, Any], reason: str
) -> None:
    async with engine((), mcp=servers(bad=server, good=hostile("calls"))) as made:
        # it is tried again and again; on a busy machine an attempt may only hear that the connection is lost
        await until(lambda: is_down(made.health()["mcp"][0], reason))
        health = made.health()
        found = value_of(await made.exec("return [Object.keys(MCP), (await MCP.good.ok()).content.length]"))
    assert found == [["$api", "good"], 1]
    assert health["status"] == "degraded"
    assert [one["state"] for one in health["mcp"]] == ["failed", "connected"]
    assert reason.lower() in health["mcp"][0]["reason"].lower()


def is_down(server: dict[str, Any], reason: str) -> bool:
    return server["state"] == "failed" and reason.lower() in server["reason"].lower()


async def test_a_server_that_failed_at_first_is_tried_again(tmp_path: Path) -> None:
    script = tmp_path / "late.py"
    source = (FILES / "hostile_server.py").read_text()
    late = {**hostile("calls"), "args": [str(script), "calls"]}
    async with engine((), mcp=servers(late=late)) as made:
        await until(lambda: made.health()["mcp"][0]["state"] == "failed")
        script.write_text(source)
        await until(lambda: made.health()["mcp"][0]["state"] == "connected")
        assert value_of(await made.exec("return Object.keys(MCP)")) == ["$api", "late"]
        assert made.health()["mcp"][0]["reason"] == ""


async def test_a_changed_list_of_a_session_of_before_2026_holds_for_later_runs() -> None:
    async with engine((), mcp=servers(bad=hostile("grow"))) as made:
        during = value_of(await made.exec("await MCP.bad.grow(); return 'grown0' in MCP.bad"))
        await until(lambda: made.health()["mcp"][0]["tools"] == 6)
        assert during is False
        assert value_of(await made.exec("return (await MCP.bad.grown0()).content[0].text")) == "grown_0"


async def test_a_dead_server_is_started_again_once_for_all_who_call(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    async with engine((), mcp=servers(bad=hostile("calls", str(starts)))) as made:
        value_of(await made.exec("await MCP.bad.die().catch(() => 0)"))
        program = "return (await Promise.all([1, 2, 3, 4].map(() => MCP.bad.ok()))).length"
        assert (value_of(await made.exec(program)), starts.read_text()) == (4, "xx")
