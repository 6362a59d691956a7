"""Where Tool Search fails closed: each case provoked, and the tool seen not to have run."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from codemode import ConfigError, Engine
from codemode.tool_search import Answer
from codemode.tools import Tool
from tests.harness.engine import Desk
from tests.harness.loops import until
from tests.harness.mcp_servers import fast_at, fast_listening, free_port, servers
from tests.harness.tool_samples import make
from tests.harness.tool_search import MODES, Log, call, damage_runtime, end_by, lose_runtime, told

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@pytest.mark.guarantee("tool-search-fails-closed")
@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_outside_the_policy_is_not_found_like_one_that_never_was(mode: str) -> None:
    log = Log()
    tools = [log.tool("sink_ship"), log.tool("find_ship")]
    async with Engine(tools, False, policy={"deny": ["sink_*"]}) as engine:
        prepared = await engine.tool_search({"mode": mode}).prepare()
        denied = await call(prepared, "sink_ship", {"subject": "x"})
        absent = await call(prepared, "sank_ship", {"subject": "x"})
        by_id = await call(prepared, "plugin:acme:sink_ship", {"subject": "x"})
        found = (await prepared.catalog()).search("sink ship", 8)
    assert told(denied).replace("sink_ship", "sank_ship") == told(absent)
    assert 'No tool "plugin:acme:sink_ship" in this run.' in told(by_id)
    assert [hit["name"] for hit in found] == ["find_ship"]
    assert "sink" not in prepared.directory
    assert log.ran == []


@pytest.mark.guarantee("tool-search-fails-closed")
async def test_the_allowlist_of_a_run_holds_for_what_its_controls_can_call() -> None:
    log = Log()
    async with Engine([log.tool("a"), log.tool("b")], False) as engine:
        prepared = await engine.tool_search({"mode": "tools"}).prepare(allow=["a"])
        refused = await call(prepared, "b", {"subject": "x"})
        ran = await call(prepared, "a", {"subject": "x"})
    assert (refused.code, ran.status) == ("unknown_tool", "completed")
    assert [name for name, _ in log.ran] == ["a"]


@pytest.mark.guarantee("tool-search-fails-closed")
@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_that_is_gone_since_it_was_found_cannot_be_called(mode: str) -> None:
    log = Log()
    live = [log.tool("ship"), log.tool("other")]
    async with Engine((), False) as engine:
        prepared = await engine.tool_search({"mode": mode}).prepare(tools=lambda: live)
        first = await call(prepared, "ship", {"subject": "x"})
        del live[0]
        gone = await call(prepared, "ship", {"subject": "y"})
    assert first.status == "completed"
    assert 'No tool "ship" in this run.' in told(gone)
    assert log.ran == [("ship", {"subject": "x"})]


@pytest.mark.guarantee("tool-search-fails-closed")
@pytest.mark.parametrize("mode", ["code", "tools"])
async def test_a_server_that_went_down_since_its_tool_was_found_fails_the_call(mode: str) -> None:
    port = free_port()
    async with Engine((), False, mcp=servers(fast=fast_at(port, connect="lazy"))) as engine:
        async with fast_listening(port):
            prepared = await engine.tool_search({"mode": mode}).prepare()
            up = await call(prepared, "mcp:fast:add", {"a": 1})
        down = await call(prepared, "mcp:fast:add", {"a": 1})
    assert (up.status, up.value["result"]) == ("completed", 2)
    assert down.status == "failed"
    assert down.code == ("nested_tool_failed" if mode == "code" else "mcp_error")


@pytest.mark.guarantee("bridge-tools-call-no-controls-and-no-core-tools")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("control", ["tool_search_code", "tool_search", "tool_describe", "tool_call"])
async def test_controls_cannot_call_each_other(mode: str, control: str) -> None:
    log = Log()
    async with Engine([log.tool("a")], False) as engine:
        prepared = await engine.tool_search({"mode": mode}).prepare()
        answer = await call(prepared, control, {"id": "a", "args": {"subject": "x"}})
    assert f"{control} is a control and cannot be called as a tool." in told(answer)
    assert log.ran == []


@pytest.mark.guarantee("bridge-tools-call-no-controls-and-no-core-tools")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("target", ["read", "openclaw:core:read"])
async def test_controls_cannot_call_core_tools(mode: str, target: str) -> None:
    log = Log()
    tools = [log.tool("read", source="openclaw"), log.tool("other")]
    async with Engine(tools, False) as engine:
        prepared = await engine.tool_search({"mode": mode, "coreTools": ["read"]}).prepare()
        answer = await call(prepared, target, {"subject": "x"})
    assert f"{target} is one of your own tools: call it by itself" in told(answer)
    assert log.ran == []


@pytest.mark.guarantee("search-controls-are-hidden")
async def test_a_hosts_tool_under_the_name_of_a_control_is_neither_shown_nor_called() -> None:
    log = Log()
    tools = [log.tool("tool_call", source="openclaw"), log.tool("tool_search"), log.tool("a")]
    async with Engine(tools, False) as engine:
        prepared = await engine.tool_search({"mode": "tools", "coreTools": ["tool_call"]}).prepare()
        listed = [tool.name for tool in (await prepared.catalog()).tools]
        await prepared.call("tool_call", {"id": "a", "args": {"subject": "x"}})
        assert [tool.name for tool in prepared.visible] == ["tool_search", "tool_describe", "tool_call"]
        assert listed == ["a"]
    assert [name for name, _ in log.ran] == ["a"]


@pytest.mark.guarantee("client-names-do-not-collide")
@pytest.mark.parametrize("other", [("mcp", "github"), ("plugin", "acme"), ("openclaw", "core")])
async def test_a_client_tool_under_the_name_of_another_tool_is_refused_in_a_directory(
    other: tuple[Any, str],
) -> None:
    source, owner = other
    client = make("pick_file", source="client", owner="app")
    tools = [make("pick_file", source=source, owner=owner), make("a", source="plugin")]
    async with Engine(tools, False) as engine:
        with pytest.raises(ConfigError, match=rf"has the name of {source}:{owner}:pick_file") as refused:
            await engine.tool_search({"mode": "directory"}).prepare(tools=[client])
        assert refused.value.code == "invalid_config"
        prepared = await engine.tool_search({"mode": "tools"}).prepare(tools=[client])
        ambiguous = await call(prepared, "pick_file")
        assert ambiguous.code == "unknown_tool"
        assert "client:app:pick_file" in told(ambiguous)


@pytest.mark.guarantee("client-names-do-not-collide")
async def test_a_client_that_takes_the_name_of_a_listed_tool_later_gets_none_of_its_calls() -> None:
    log = Log()
    live: list[Tool] = []
    async with Engine([log.tool("ship")], False) as engine:
        prepared = await engine.tool_search({"mode": "directory"}).prepare(tools=lambda: live)
        before = await prepared.call("ship", {"subject": "x"})
        live.append(log.tool("ship", source="client", owner="app"))
        after = await prepared.call("ship", {"subject": "y"})
    assert (before.status, after.code) == ("completed", "denied")
    assert log.ran == [("ship", {"subject": "x"})]


async def test_a_name_that_several_hidden_tools_have_is_answered_with_their_ids() -> None:
    log = Log()
    tools = [log.tool("save", owner=owner) for owner in ("a", "b")]
    async with Engine(tools, False) as engine:
        prepared = await engine.tool_search({"mode": "directory"}).prepare()
        answer = await prepared.call("save", {"subject": "x"})
    assert answer.code == "unknown_tool"
    assert "give an id: plugin:a:save, plugin:b:save." in told(answer)
    assert log.ran == []


async def test_only_a_directory_takes_the_name_of_a_hidden_tool_for_a_call() -> None:
    log = Log()
    async with Engine([log.tool("ship")], False) as engine:
        answers: list[Answer] = []
        for mode in MODES:
            prepared = await engine.tool_search({"mode": mode}).prepare()
            answers.append(await prepared.call("ship", {"subject": mode}))
        code, tools, directory = answers
    assert (code.code, tools.code, directory.status) == ("unknown_tool", "unknown_tool", "completed")
    assert 'openclaw.tools.call("plugin:acme:ship", { subject })' in told(code)
    assert 'tool_call({"id": "plugin:acme:ship", "args": {"subject": …}})' in told(tools)
    assert log.ran == [("ship", {"subject": "directory"})]


@pytest.fixture
def damaged_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damage_runtime(tmp_path, monkeypatch)


@pytest.mark.guarantee("never-unisolated")
@pytest.mark.usefixtures("damaged_runtime")
async def test_without_an_isolated_runtime_code_becomes_tools_and_says_why() -> None:
    log = Log()
    async with Engine([log.tool("ship")], False) as engine:
        prepared = await engine.tool_search({"mode": "code"}).prepare()
        program = await prepared.call("tool_search_code", {"code": "return 1"})
        called = await call(prepared, "ship", {"subject": "x"})
    assert [tool.name for tool in prepared.visible] == ["tool_search", "tool_describe", "tool_call"]
    assert prepared.mode == "tools"
    assert "the guest image is damaged" in prepared.decision.fallback_reason
    assert program.status == "failed"
    assert called.status == "completed"


@pytest.mark.guarantee("never-unisolated")
@pytest.mark.usefixtures("damaged_runtime")
async def test_told_to_refuse_it_refuses_each_program_and_shows_no_tool() -> None:
    log = Log()
    async with Engine([log.tool("ship")], False) as engine:
        prepared = await engine.tool_search({"mode": "code", "fallback": "refuse"}).prepare()
        refused = await call(prepared, "ship", {"subject": "x"})
    assert [tool.name for tool in prepared.visible] == ["tool_search_code"]
    assert refused.code == "runtime_unavailable"
    assert refused.to_envelope()["status"] == "unavailable"
    assert log.ran == []


@pytest.mark.guarantee("never-unisolated")
async def test_a_runtime_that_is_lost_after_the_start_fails_the_program_and_the_next_run_uses_tools(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Engine([Log().tool("a")], False, settings={"warmWorkers": 0}) as engine:
        search = engine.tool_search({"mode": "code"})
        first = await search.prepare()
        [zygote] = engine.stats()["workers"]["zygotes"]
        lose_runtime(monkeypatch)
        os.kill(zygote["pid"], signal.SIGKILL)
        await until(lambda: not engine.stats()["workers"]["zygotes"])
        lost = await first.call("tool_search_code", {"code": "return 1"})
        after = await search.prepare()
    assert lost.code == "runtime_unavailable"
    assert (after.mode, [tool.name for tool in after.visible]) == (
        "tools",
        ["tool_search", "tool_describe", "tool_call"],
    )


@pytest.mark.parametrize("how", ["close", "abort_session", "cancel"])
async def test_a_call_in_flight_is_cancelled_and_joined_when_its_engine_session_or_caller_ends(
    how: str,
) -> None:
    desk = Desk()
    engine = Engine(desk.tools, False)
    await engine.start()
    prepared = await engine.tool_search({"mode": "tools"}).prepare(session="s1")
    calling = asyncio.create_task(call(prepared, "hold", {"name": "a"}))
    await desk.asked("a")
    answer = await end_by(how, engine, calling)
    late = await call(prepared, "echo", {"value": 1})
    assert (desk.cancelled, desk.joined) == (["a"], ["a"])
    if how == "cancel":
        assert isinstance(answer, asyncio.CancelledError)
    else:
        assert answer.code == "aborted"
    assert (late.code, told(late)) == ("aborted", "The engine is closed.")


async def test_a_call_id_that_no_scope_takes_is_an_answer_too() -> None:
    log = Log()
    async with Engine([log.tool("a")], False) as engine:
        prepared = await engine.tool_search({"mode": "tools"}).prepare()
        answer = await prepared.call("tool_call", {"id": "a", "args": {"subject": "x"}}, call_id="x" * 2000)
    assert answer.code == "invalid_arguments"
    assert log.ran == []


async def test_a_catalog_is_of_one_run_and_its_own_tools_are_in_no_other() -> None:
    log = Log()
    own: list[Tool] = [log.tool("mine", source="client", owner="app")]
    async with Engine([log.tool("a")], False) as engine:
        search = engine.tool_search({"mode": "tools"})
        mine, yours = await search.prepare(session="s1", tools=own), await search.prepare(session="s2")
        ran = await call(mine, "mine", {"subject": "x"})
        refused = await call(yours, "mine", {"subject": "x"})
    assert (ran.status, refused.code) == ("completed", "unknown_tool")
