"""The toolset in real agent runs: results, failures, deferred approvals, tools that take RunContext."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai import Tool as PydanticTool
from pydantic_ai.exceptions import ApprovalRequired, ModelRetry
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai.toolsets import FunctionToolset

from codemode import ToolDefinitionError
from codemode.adapters import prepare_tools
from codemode.adapters.pydantic_ai import CodeModeToolset, toolset_tools
from codemode.tools import as_tools
from tests.harness.engine import echo, engine, fail, pay

PAY = "text('before'); return await tools.pay({ amount: 5 })"
OUTPUTS: Any = [str, DeferredToolRequests]


def model(code: str) -> FunctionModel:
    """Runs one program, then says what it got."""

    def speak(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        (*_, last) = messages
        (part,) = [part for part in last.parts if not isinstance(part, TextPart)]
        if isinstance(part, ToolReturnPart):
            return ModelResponse([TextPart(part.model_response_str(wrap_if_error=False))])
        return ModelResponse([ToolCallPart("exec", {"code": code}, "call_1")])

    return FunctionModel(speak)


def returned(messages: list[ModelMessage]) -> ToolReturnPart:
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    (found,) = [part for part in parts if isinstance(part, ToolReturnPart)]
    return found


async def test_a_model_sees_exec_and_wait_and_a_result_is_a_value() -> None:
    async with engine([echo]) as host:
        toolset = CodeModeToolset(await prepare_tools(host))
        result = await Agent(model("return 1 + 1")).run("go", toolsets=[toolset])
        shown = TestModel(call_tools=[])
        await Agent(shown).run("go", toolsets=[toolset])
    part = returned(result.all_messages())
    assert (part.outcome, part.content) == ("success", {"status": "completed", "value": 2, "output": []})
    declared = shown.last_model_request_parameters
    assert declared is not None
    assert [tool.name for tool in declared.function_tools] == ["exec", "wait"]


async def test_a_failed_program_is_a_failed_tool_return_and_the_agent_goes_on() -> None:
    async with engine([echo]) as host:
        toolset = CodeModeToolset(await prepare_tools(host))
        result = await Agent(model("return (")).run("go", toolsets=[toolset])
    part = returned(result.all_messages())
    assert part.outcome == "failed"
    assert json.loads(str(part.content))["code"] == "invalid_input"
    assert json.loads(result.output)["code"] == "invalid_input"


async def test_the_tools_are_shown_as_they_are_with_code_mode_off_and_their_failures_are_failures() -> None:
    async with engine([echo, fail], {"enabled": False}) as host:
        toolset = CodeModeToolset(await prepare_tools(host))
        found = await Agent(TestModel()).run("go", toolsets=[toolset])
    parts = [p for m in found.all_messages() if isinstance(m, ModelRequest) for p in m.parts]
    outcomes = [(p.tool_name, p.outcome, p.content) for p in parts if isinstance(p, ToolReturnPart)]
    assert outcomes == [("echo", "success", None), ("fail", "failed", "ToolError: refused")]


async def test_an_approval_is_a_deferred_tool_call_and_the_results_go_on_with_the_program(
    leaves_nothing: None,
) -> None:
    async with engine([pay]) as host:
        toolset = CodeModeToolset(await prepare_tools(host, session="s1"))
        agent = Agent(model(PAY), toolsets=[toolset], output_type=OUTPUTS)
        first = await agent.run("go")
        asked = first.output
        assert isinstance(asked, DeferredToolRequests)
        assert [call.tool_call_id for call in asked.approvals] == ["call_1"]
        (run,) = await host.runs("s1")
        shown = asked.metadata["call_1"]
        name = shown["approvals"][0].pop("id")
        assert shown == {
            "runId": run.run_id,
            "approvals": [{"tool": "pay", "summary": "Run pay(amount)", "arguments": {"amount": 5}}],
        }
        assert name.startswith("apr_")
        results = DeferredToolResults(approvals={"call_1": True})
        ended = await agent.run(message_history=first.all_messages(), deferred_tool_results=results)
        assert host.stats().totals.counts["exec"] == 1
    assert json.loads(str(ended.output)) == {
        "status": "completed",
        "value": "paid 5",
        "output": [{"type": "text", "text": "before"}],
    }


async def test_an_approval_outlives_engine_and_history_where_both_are_stored(tmp_path: Path) -> None:
    store = str(tmp_path / "runs.sqlite")
    async with engine([pay], store=store) as host:
        toolset = CodeModeToolset(await prepare_tools(host, session="s1"))
        first = await Agent(model(PAY), toolsets=[toolset], output_type=OUTPUTS).run("go")
        history = first.all_messages_json()
    async with engine([pay], store=store) as host:
        toolset = CodeModeToolset(await prepare_tools(host, session="s1"))
        agent = Agent(model(PAY), toolsets=[toolset], output_type=OUTPUTS)
        messages = ModelMessagesTypeAdapter.validate_json(history)
        results = DeferredToolResults(approvals={"call_1": True})
        ended = await agent.run(message_history=messages, deferred_tool_results=results)
        assert "exec" not in host.stats().totals.counts
    assert json.loads(str(ended.output))["value"] == "paid 5"


async def test_metadata_decides_on_each_approval_of_a_program_and_the_next_one_is_asked_for_again() -> None:
    code = """
    const tried = (amount) => tools.pay({ amount }).catch((error) => error.message);
    const two = await Promise.all([tried(1), tried(2)]);
    return [...two, await tried(3)]"""
    async with engine([pay]) as host:
        toolset = CodeModeToolset(await prepare_tools(host))
        agent = Agent(model(code), toolsets=[toolset], output_type=OUTPUTS)
        first = await agent.run("go")
        assert isinstance(first.output, DeferredToolRequests)
        _, other = first.output.metadata["call_1"]["approvals"]
        no = {"approvals": {other["id"]: {"approved": False, "reason": "once is enough"}}}
        results = DeferredToolResults(approvals={"call_1": True}, metadata={"call_1": no})
        second = await agent.run(message_history=first.all_messages(), deferred_tool_results=results)
        assert isinstance(second.output, DeferredToolRequests)
        (third,) = second.output.metadata["call_1"]["approvals"]
        assert third["arguments"] == {"amount": 3}
        results = DeferredToolResults(approvals={"call_1": True})
        ended = await agent.run(message_history=second.all_messages(), deferred_tool_results=results)
    assert json.loads(str(ended.output))["value"] == [
        "paid 1",
        "pay was not approved: once is enough",
        "paid 3",
    ]


async def test_a_denied_call_ends_its_program_and_the_model_is_told(leaves_nothing: None) -> None:
    async with engine([pay]) as host:
        toolset = CodeModeToolset(await prepare_tools(host, session="s1"))
        agent = Agent(model(PAY), toolsets=[toolset], output_type=OUTPUTS)
        first = await agent.run("go")
        results = DeferredToolResults(approvals={"call_1": ToolDenied("not today")})
        ended = await agent.run(message_history=first.all_messages(), deferred_tool_results=results)
        assert await host.runs() == []
    assert ended.output == "not today"


async def test_an_approval_of_a_program_that_is_gone_runs_nothing_again() -> None:
    async with engine([pay]) as host:
        toolset = CodeModeToolset(await prepare_tools(host, session="s1"))
        agent = Agent(model(PAY), toolsets=[toolset], output_type=OUTPUTS)
        first = await agent.run("go")
        assert await host.abort_session("s1") == 1
        results = DeferredToolResults(approvals={"call_1": True})
        ended = await agent.run(message_history=first.all_messages(), deferred_tool_results=results)
        assert host.stats().totals.counts["exec"] == 1
    assert json.loads(str(ended.output))["code"] == "snapshot_expired"


async def test_with_code_mode_off_an_approval_is_deferred_too() -> None:
    def speak(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        part = messages[-1].parts[-1]
        if isinstance(part, ToolReturnPart):
            return ModelResponse([TextPart(str(part.content))])
        return ModelResponse([ToolCallPart("pay", {"amount": 7}, "call_1")])

    async with engine([pay], {"enabled": False}) as host:
        toolset = CodeModeToolset(await prepare_tools(host))
        agent = Agent(FunctionModel(speak), toolsets=[toolset], output_type=OUTPUTS)
        first = await agent.run("go")
        assert isinstance(first.output, DeferredToolRequests)
        results = DeferredToolResults(approvals={"call_1": True})
        ended = await agent.run(message_history=first.all_messages(), deferred_tool_results=results)
    assert ended.output == "paid 7"


async def test_hosts_that_decide_themselves_get_a_waiting_result() -> None:
    async with engine([pay]) as host:
        toolset = CodeModeToolset(await prepare_tools(host, session="s1"), approvals="host")
        ended = await Agent(model(PAY), toolsets=[toolset]).run("go")
        await host.abort_session("s1")
    found = json.loads(ended.output)
    assert (found["status"], found["reason"]) == ("waiting", "approval")


@dataclass
class User:
    name: str


def whoami(ctx: RunContext[User]) -> list[Any]:
    """Who calls."""
    return [ctx.deps.name, ctx.tool_name, ctx.tool_call_id]


async def test_one_toolset_serves_many_users_and_nested_tools_take_their_run_context() -> None:
    code = "const me = await tools.whoami({}); await yield_control(); return [me, await tools.whoami({})]"
    async with engine([PydanticTool(whoami)]) as host:
        toolset = CodeModeToolset(await prepare_tools(host), session=lambda ctx: ctx.deps.name)
        agent = Agent(model(code), toolsets=[toolset], deps_type=User)
        found = {}
        for name in ("ada", "bob"):
            found[name] = json.loads((await agent.run("go", deps=User(name))).output)
        assert [run.session for run in await host.runs()] == ["ada", "bob"]

        def wait(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            part = messages[-1].parts[-1]
            if isinstance(part, ToolReturnPart):
                return ModelResponse([TextPart(part.model_response_str())])
            return ModelResponse([ToolCallPart("wait", {"runId": found["ada"]["runId"]}, "call_2")])

        later = Agent(FunctionModel(wait), toolsets=[toolset], deps_type=User)
        foreign = await later.run("go", deps=User("bob"))
        own = await later.run("go", deps=User("ada"))
        await host.abort_session("bob")
    assert "There is no such run in this session." in foreign.output
    assert json.loads(own.output)["value"] == [["ada", "whoami", "1"], ["ada", "whoami", "3"]]


async def test_a_later_agent_run_brings_its_own_context_to_the_programs_calls() -> None:
    code = "const me = await tools.whoami({}); await yield_control(); return [me, await tools.whoami({})]"
    async with engine([PydanticTool(whoami)]) as host:
        toolset = CodeModeToolset(await prepare_tools(host))
        agent = Agent(model(code), toolsets=[toolset], deps_type=User)
        run_id = json.loads((await agent.run("go", deps=User("first"))).output)["runId"]

        def wait(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            part = messages[-1].parts[-1]
            if isinstance(part, ToolReturnPart):
                return ModelResponse([TextPart(part.model_response_str())])
            return ModelResponse([ToolCallPart("wait", {"runId": run_id}, "call_2")])

        later = Agent(FunctionModel(wait), toolsets=[toolset], deps_type=User)
        ended = await later.run("go", deps=User("second"))
    assert [one[0] for one in json.loads(ended.output)["value"]] == ["first", "second"]


async def test_outside_of_an_agent_run_a_tool_that_takes_run_context_says_where_it_works() -> None:
    async with engine([PydanticTool(whoami)]) as host:
        ended = await host.exec("return await tools.whoami({})")
    assert "whoami takes pydantic-ai's RunContext, which only an agent run has" in ended.to_dict()["error"]


async def test_what_pydantic_ai_tools_raise_is_a_failure_or_an_approval() -> None:
    async def picky(n: int) -> str:
        """Picky."""
        raise ModelRetry(f"{n} is too small")

    async def careful(ctx: RunContext[None], n: int) -> str:
        """Careful."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired({"n": n})
        return f"did {n}"

    code = """
    const message = await tools.picky({ n: 1 }).catch((error) => `${error.name}: ${error.message}`);
    return [message, await tools.careful({ n: 2 })]"""
    async with engine([FunctionToolset([picky, careful])]) as host:
        toolset = CodeModeToolset(await prepare_tools(host))
        agent = Agent(model(code), toolsets=[toolset], output_type=OUTPUTS)
        first = await agent.run("go")
        assert isinstance(first.output, DeferredToolRequests)
        (asked,) = first.output.metadata["call_1"]["approvals"]
        assert (asked["tool"], asked["question"]) == ("careful", {"n": 2})
        results = DeferredToolResults(approvals={"call_1": True})
        ended = await agent.run(message_history=first.all_messages(), deferred_tool_results=results)
    assert json.loads(str(ended.output))["value"] == ["ModelRetry: 1 is too small", "did 2"]


def double(n: int) -> int:
    """Twice as much."""
    return 2 * n


async def test_toolsets_are_tools_of_an_engine() -> None:
    toolset = FunctionToolset([double])
    assert [tool.name for tool in as_tools([toolset])] == ["double"]
    with pytest.raises(ToolDefinitionError, match="toolset_tools"):
        as_tools([toolset.prefixed("my")])

    agent = Agent[Any](TestModel(call_tools=[]))
    kept: list[RunContext[Any]] = []

    @agent.instructions
    def keep(ctx: RunContext[Any]) -> str:
        kept.append(ctx)
        return ""

    await agent.run("go")
    tools = await toolset_tools(toolset.prefixed("my"), kept[0])
    async with engine(tools) as host:
        ended = await host.exec("return await tools.my_double({ n: 4 })")
        wrong = await host.exec("return await tools.my_double({ n: 'x' })")
    assert ended.to_dict()["value"] == 8
    assert wrong.to_dict()["code"] == "nested_tool_failed"
