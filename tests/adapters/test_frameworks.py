"""The shells around the shared piece, each in its own framework; whole conversations are in examples/."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agents import FunctionTool
from agents.tool_context import ToolContext
from langchain_core.messages import ToolMessage
from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ToolReturnPart
from pydantic_ai.models.test import TestModel

from codemode.adapters import prepare_tools
from codemode.adapters.langchain import as_langchain
from codemode.adapters.openai_agents import as_openai_agents
from codemode.adapters.pydantic_ai import CodeModeToolset
from tests.harness.engine import echo, engine, fail
from tests.harness.processes import modules_after

OFF = {"enabled": False}


@pytest.mark.parametrize(
    ("module", "framework"),
    [
        ("", ""),
        (".raw", ""),
        (".pydantic_ai", "pydantic_ai"),
        (".langchain", "langchain_core"),
        (".openai_agents", "agents"),
    ],
)
def test_each_adapter_loads_its_own_framework_and_no_other(module: str, framework: str) -> None:
    loaded = modules_after(f"import codemode.adapters{module}")
    assert loaded & {"pydantic_ai", "langchain_core", "agents"} == ({framework} if framework else set())


async def test_a_pydantic_ai_model_sees_exec_and_wait_and_gets_results_as_values() -> None:
    model = TestModel(call_tools=["exec"])
    async with engine() as host:
        toolset = CodeModeToolset(await prepare_tools(host))
        result = await Agent(model).run("go", toolsets=[toolset])
    declared = model.last_model_request_parameters
    assert declared is not None
    assert [shown.name for shown in declared.function_tools] == ["exec", "wait"]
    parts = [p for m in result.all_messages() if isinstance(m, ModelRequest) for p in m.parts]
    (returned,) = [part for part in parts if isinstance(part, ToolReturnPart)]
    content: Any = returned.content
    # TestModel makes arguments up and finds none that exec requires: the engine says what is missing
    assert (content["status"], content["code"]) == ("failed", "invalid_input")


async def test_pydantic_ai_gets_the_tools_as_they_are_with_code_mode_off() -> None:
    model = TestModel()
    async with engine([echo, fail], OFF) as host:
        found = await Agent(model).run("go", toolsets=[CodeModeToolset(await prepare_tools(host))])
    assert json.loads(found.output) == {"echo": None, "fail": "ToolError: refused"}


async def test_a_langchain_tool_answers_a_tool_call_with_a_tool_message() -> None:
    async with engine() as host:
        execute, wait = as_langchain(await prepare_tools(host, session="s1"))
        assert (execute.name, wait.name) == ("exec", "wait")
        assert sorted(execute.args) == ["code", "command", "language"]
        codes = ("return 1", "return (")
        calls = [
            {"name": "exec", "args": {"code": code}, "id": f"call_{at}", "type": "tool_call"}
            for at, code in enumerate(codes)
        ]
        answers = [await execute.ainvoke(call) for call in calls]
        session = await host.session_trajectory("s1")
        assert session is not None
        assert '"call_0"' in json.dumps(session.to_dict())
        completed, failed = answers
    assert isinstance(completed, ToolMessage)
    assert (completed.tool_call_id, completed.status) == ("call_0", "success")
    assert json.loads(completed.text)["value"] == 1
    assert (failed.tool_call_id, failed.status) == ("call_1", "error")
    assert json.loads(failed.text)["code"] == "invalid_input"


async def test_a_langchain_tool_says_that_it_is_async() -> None:
    async with engine() as host:
        execute, _ = as_langchain(await prepare_tools(host))
        with pytest.raises(NotImplementedError, match="use ainvoke"):
            execute.invoke({"code": "return 1"})


async def test_langchain_gets_the_tools_as_they_are_with_code_mode_off() -> None:
    async with engine([echo, fail], OFF) as host:
        first, second = as_langchain(await prepare_tools(host))
        assert (first.name, first.description) == ("echo", "Gives back what it gets.")
        found = [await first.ainvoke({"value": "hi"}), await second.ainvoke({})]
    assert found == ["hi", "ToolError: refused"]


async def test_an_openai_agents_tool_takes_the_models_json_and_gives_text() -> None:
    async with engine() as host:
        execute, wait = as_openai_agents(await prepare_tools(host))
        assert isinstance(execute, FunctionTool)
        assert (execute.name, wait.name, execute.strict_json_schema) == ("exec", "wait", False)
        answers: list[str] = []
        for arguments in ('{"code": "return 1"}', "{"):
            context: ToolContext[Any] = ToolContext(
                None, tool_name="exec", tool_call_id="call_1", tool_arguments=arguments
            )
            answers.append(await execute.on_invoke_tool(context, arguments))
    completed, failed = map(json.loads, answers)
    assert completed["value"] == 1
    assert failed["code"] == "invalid_input"
