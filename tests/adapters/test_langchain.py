"""LangChain tools without a graph: answers, failures, sync calls, and tools of LangChain as nested tools."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, BaseToolkit, InjectedToolArg, InjectedToolCallId, ToolException
from langchain_core.tools import tool as langchain_tool
from langgraph.types import Command

from codemode import BlockingEngine, ToolDefinitionError
from codemode.adapters import prepare_tools, prepare_tools_blocking
from codemode.adapters.langchain import as_langchain
from codemode.tools import as_tools
from tests.harness.engine import echo, engine, fail, value_of


async def test_a_tool_call_is_answered_with_a_tool_message() -> None:
    async with engine() as host:
        execute, wait = as_langchain(await prepare_tools(host, session="s1"))
        assert (execute.name, wait.name) == ("exec", "wait")
        assert sorted(execute.args) == ["code", "command", "language"]
        codes = ("return 1", "return (")
        calls = [
            {"name": "exec", "args": {"code": code}, "id": f"call_{at}", "type": "tool_call"}
            for at, code in enumerate(codes)
        ]
        completed, failed = [await execute.ainvoke(call) for call in calls]
        session = await host.session_trajectory("s1")
        assert session is not None
        assert '"call_0"' in json.dumps(session.to_dict())
    assert isinstance(completed, ToolMessage)
    assert (completed.tool_call_id, completed.status) == ("call_0", "success")
    assert json.loads(completed.text) == {"status": "completed", "value": 1, "output": []}
    assert (failed.tool_call_id, failed.status) == ("call_1", "error")
    assert json.loads(failed.text)["code"] == "invalid_input"


async def test_the_tools_are_shown_as_they_are_with_code_mode_off() -> None:
    async with engine([echo, fail], {"enabled": False}) as host:
        first, second = as_langchain(await prepare_tools(host))
        assert (first.name, first.description) == ("echo", "Gives back what it gets.")
        found = [await first.ainvoke({"value": "hi"}), await second.ainvoke({})]
    assert found == ["hi", "ToolError: refused"]


async def test_a_sync_call_works_in_any_thread_but_that_of_the_engines_loop() -> None:
    async with engine() as host:
        execute, _ = as_langchain(await prepare_tools(host, session="s1"))
        call = {"name": "exec", "args": {"code": "return 1"}, "id": "c1", "type": "tool_call"}
        found = await asyncio.to_thread(execute.invoke, call)
        with pytest.raises(RuntimeError, match="in the thread of the engine's event loop"):
            execute.invoke({"code": "return 1"})
        session = await host.session_trajectory("s1")
        assert '"c1"' in json.dumps(session.to_dict() if session else None)
    assert (found.tool_call_id, json.loads(found.content)["value"]) == ("c1", 1)


def test_a_blocking_engine_needs_no_loop_at_all_and_other_loops_reach_it_too() -> None:
    with BlockingEngine([echo], {"enabled": True}, settings={"warmWorkers": 1}) as host:
        execute, _ = as_langchain(prepare_tools_blocking(host, session="s1"))
        assert json.loads(execute.invoke({"code": "return 2"}))["value"] == 2
        found = asyncio.run(execute.ainvoke({"code": "return await tools.echo({ value: 3 })"}))
        assert json.loads(found)["value"] == 3
    with pytest.raises(RuntimeError, match="loop is not running"):
        execute.invoke({"code": "return 4"})


def two(n: int) -> int:
    """Two more."""
    return n + 2


def broken() -> str:
    """Fails."""
    raise ToolException("no such thing")


class Kit(BaseToolkit):
    def get_tools(self) -> list[BaseTool]:
        failing = langchain_tool(broken)
        failing.handle_tool_error = True  # to a model it would hand back a text
        return [langchain_tool(two), failing]


async def test_a_toolkit_is_many_tools_and_a_failure_that_langchain_would_hide_is_a_failure() -> None:
    async with engine([Kit()]) as host:
        code = "return [await tools.two({ n: 1 }), await tools.broken({}).catch((error) => error.message)]"
        assert value_of(await host.exec(code)) == [3, "no such thing"]


async def test_a_tool_that_takes_its_calls_id_gets_that_of_the_nested_call() -> None:
    @langchain_tool
    def named(n: int, call: Annotated[str, InjectedToolCallId]) -> str:
        """Tells its call."""
        return f"{call}: {n}"

    async with engine([named]) as host:
        found = value_of(await host.exec("return await tools.named({ n: 1, call: 'forged' })"))
    assert found == "1: 1"


async def test_what_only_other_code_can_inject_is_refused_when_the_tool_is_given() -> None:
    @langchain_tool
    def secret(user: Annotated[str, InjectedToolArg]) -> str:
        """Needs a user."""
        return user

    with pytest.raises(ToolDefinitionError, match='its parameter "user" is injected'):
        as_tools([secret])


async def test_a_command_of_a_nested_tool_is_refused_in_words() -> None:
    @langchain_tool
    def steer() -> Any:
        """Steers the graph."""
        return Command(update={"n": 1})

    async with engine([steer]) as host:
        ended = await host.exec("return await tools.steer({})")
    assert "steer returned a LangGraph Command, which only a graph can carry out" in ended.to_dict()["error"]
