"""The tools in runs of the OpenAI Agents SDK: answers, errors on spans, interruptions, function tools."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    RunConfig,
    RunContextWrapper,
    Runner,
    RunState,
    function_tool,
    set_trace_processors,
)
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from agents.tool_context import ToolContext
from agents.tool_guardrails import ToolGuardrailFunctionOutput, tool_input_guardrail
from agents.tracing import TracingProcessor

from codemode import Engine, ToolDefinitionError
from codemode.adapters import prepare_tools
from codemode.adapters.openai_agents import as_openai_agents, open_approvals
from codemode.tools import as_tools
from tests.harness.engine import echo, engine, failure_of, pay, value_of, waiting

PAY = "text('before'); return await tools.pay({ amount: 5 })"
QUIET = RunConfig(tracing_disabled=True)
DONE: Any = [assistant_message("done")]


def program(code: str, call_id: str = "call_1") -> Any:
    return [function_call("exec", {"code": code}, call_id=call_id)]


def outputs(result: Any) -> list[Any]:
    """What the model was told, of each call."""
    items: list[Any] = [item.raw_item for item in result.new_items]
    texts: list[str] = [item["output"] for item in items if isinstance(item, dict) and "output" in item]
    return [json.loads(text) if text.startswith("{") else text for text in texts]


@pytest.fixture
def spans() -> Generator[list[Any]]:
    ended: list[Any] = []

    class Keep(TracingProcessor):
        def on_trace_start(self, trace: Any) -> None: ...
        def on_trace_end(self, trace: Any) -> None: ...
        def on_span_start(self, span: Any) -> None: ...
        def on_span_end(self, span: Any) -> None:
            ended.append(span)

        def shutdown(self) -> None: ...
        def force_flush(self) -> None: ...

    set_trace_processors([Keep()])
    yield ended
    set_trace_processors([])


async def test_a_result_is_text_and_a_failed_program_is_an_error_on_its_span_too(spans: list[Any]) -> None:
    steps = [program("return 1"), program("return (", "call_2"), DONE]
    async with engine([echo]) as host:
        tools = as_openai_agents(await prepare_tools(host))
        agent = Agent[Any](name="a", model=ScriptedModel(steps), tools=tools)
        result = await Runner.run(agent, "go")
    good, bad = outputs(result)
    assert good == {"status": "completed", "value": 1, "output": []}
    assert bad["code"] == "invalid_input"
    errors = [span.error for span in spans if span.span_data.type == "function"]
    assert errors == [None, {"message": "Tool failed", "data": {"tool": "exec"}}]


async def test_arguments_that_are_no_json_are_answered() -> None:
    async with engine() as host:
        execute, wait = as_openai_agents(await prepare_tools(host))
        assert isinstance(execute, FunctionTool)
        assert (execute.name, wait.name, execute.strict_json_schema) == ("exec", "wait", False)
        context: ToolContext[Any] = ToolContext(
            None, tool_name="exec", tool_call_id="call_1", tool_arguments="{"
        )
        assert json.loads(await execute.on_invoke_tool(context, "{"))["code"] == "invalid_input"


class Asking:
    """An agent whose model runs a program and then waits for it, under the id that the program has."""

    def __init__(self, host: Engine, tools: Any, code: str) -> None:
        def wait(call: Any) -> Any:
            last = call.input[-1]
            found = json.loads(last["output"])
            return [function_call("wait", {"runId": found["runId"]}, call_id="call_2")]

        self.host = host
        self.steps = [program(code), ModelStep(responder=wait), DONE]
        self.agent = Agent[Any](name="a", model=ScriptedModel(self.steps), tools=tools)


async def test_an_approval_interrupts_the_run_and_approving_it_goes_on_with_the_program(
    leaves_nothing: None,
) -> None:
    async with engine([pay]) as host:
        tools = await prepare_tools(host, session="s1")
        asking = Asking(host, as_openai_agents(tools), PAY)
        first = await Runner.run(asking.agent, "go", run_config=QUIET)
        (item,) = first.interruptions
        assert item.tool_name == "wait"
        (asked,) = await open_approvals(tools, item)
        assert (asked.tool, asked.arguments) == ("pay", {"amount": 5})
        state = first.to_state()
        state.approve(item)
        ended = await Runner.run(asking.agent, state, run_config=QUIET)
    assert ended.final_output == "done"
    assert outputs(ended)[-1] == {"status": "completed", "value": "paid 5", "output": []}


async def test_an_approval_outlives_engine_and_run_where_both_are_stored(tmp_path: Path) -> None:
    store = str(tmp_path / "runs.sqlite")
    async with engine([pay], store=store) as host:
        asking = Asking(host, as_openai_agents(await prepare_tools(host, session="s1")), PAY)
        first = await Runner.run(asking.agent, "go", run_config=QUIET)
        written = first.to_state().to_json()
    async with engine([pay], store=store) as host:
        tools = as_openai_agents(await prepare_tools(host, session="s1"))
        agent = Agent[Any](name="a", model=ScriptedModel([DONE]), tools=tools)
        state = await RunState.from_json(agent, written)
        state.approve(state.get_interruptions()[0])
        ended = await Runner.run(agent, state, run_config=QUIET)
    assert outputs(ended)[-1]["value"] == "paid 5"


async def test_a_rejection_reaches_the_program_which_can_still_be_waited_for() -> None:
    code = "try { await tools.pay({ amount: 5 }) } catch (error) { return [error.code, error.message] }"
    async with engine([pay]) as host:
        tools = await prepare_tools(host, session="s1")
        asking = Asking(host, as_openai_agents(tools), code)
        first = await Runner.run(asking.agent, "go", run_config=QUIET)
        state = first.to_state()
        state.reject(first.interruptions[0])
        (run,) = await host.runs("s1")
        ended = await Runner.run(asking.agent, state, run_config=QUIET)
        assert ended.final_output == "done"
        found = value_of(await host.wait(run.run_id, session="s1"))
    assert found == ["denied", "pay was not approved: a person rejected it"]


async def test_with_code_mode_off_a_tool_that_needs_an_approval_interrupts_the_run() -> None:
    steps = [[function_call("pay", {"amount": 7}, call_id="call_1")], DONE]
    async with engine([pay], {"enabled": False}) as host:
        tools = as_openai_agents(await prepare_tools(host))
        agent = Agent[Any](name="a", model=ScriptedModel(steps), tools=tools)
        first = await Runner.run(agent, "go", run_config=QUIET)
        state = first.to_state()
        state.approve(first.interruptions[0])
        ended = await Runner.run(agent, state, run_config=QUIET)
    assert outputs(ended) == ["paid 7"]


async def test_hosts_that_decide_themselves_are_not_interrupted() -> None:
    async with engine([pay], {"timeoutMs": 200}) as host:
        tools = await prepare_tools(host, session="s1")
        asking = Asking(host, as_openai_agents(tools, approvals="host"), PAY)
        ended = await Runner.run(asking.agent, "go", run_config=QUIET)
        await host.abort_session("s1")
    assert ended.interruptions == []
    assert [found["reason"] for found in outputs(ended)] == ["approval", "approval"]


@dataclass
class User:
    name: str


@function_tool
def whoami(run: RunContextWrapper[User], loud: bool = False) -> str:
    """Who calls."""
    return run.context.name.upper() if loud else run.context.name


@function_tool
def broken(n: int) -> str:
    """Fails."""
    raise ValueError(f"{n} is wrong")


async def test_one_prepared_list_serves_many_users_and_function_tools_take_their_context() -> None:
    code = "return [await tools.whoami({ loud: true }), await tools.broken({ n: 3 }).catch((e) => e.message)]"
    async with engine([whoami, broken]) as host:
        tools = as_openai_agents(await prepare_tools(host), session=lambda run: run.context.name)
        values: list[Any] = []
        for name in ("ada", "bob"):
            model = ScriptedModel([program(code), DONE])
            agent = Agent[User](name="a", model=model, tools=tools)
            ended = await Runner.run(agent, "go", context=User(name), run_config=QUIET)
            values.append(outputs(ended)[0]["value"])
            assert await host.session_trajectory(name) is not None
    assert values == [["ADA", "3 is wrong"], ["BOB", "3 is wrong"]]


async def test_outside_of_an_agent_run_a_tool_that_takes_its_context_says_where_it_works() -> None:
    async with engine([whoami]) as host:
        ended = failure_of(await host.exec("return await tools.whoami({ loud: true })"), "nested_tool_failed")
    assert "whoami takes the context of an agent run: it can only be called where exec" in ended.error


async def test_a_function_tool_keeps_its_approval_its_own_words_and_its_conditions() -> None:
    async def large(run: Any, arguments: dict[str, Any], call_id: str) -> bool:
        return arguments["n"] > 1

    @function_tool(needs_approval=large)
    def spend(n: int) -> str:
        """Spends."""
        return f"spent {n}"

    @function_tool(failure_error_function=lambda run, error: f"sorry: {error}")
    def picky() -> str:
        """Picky."""
        raise ValueError("no")

    @function_tool(is_enabled=lambda run, agent: False)
    def off() -> str:
        """Off."""
        return "on"

    code = """
    const told = (error) => error.message;
    return [await tools.spend({ n: 1 }), await tools.picky({}).catch(told), await tools.off({}).catch(told),
      await tools.spend({ n: 2 })]"""
    async with engine([spend, picky, off]) as host:
        left = waiting(await host.exec(code), "approval")
        (call,) = left.pending_tool_calls
        assert call.approval is not None
        assert call.approval.summary == "Run spend"
        await host.approve(left.run_id, call.approval.id)
        found = value_of(await host.wait(left.run_id))
    assert found == ["spent 1", "sorry: no", "off is not enabled in this run", "spent 2"]


def test_a_function_tool_with_guardrails_is_refused_because_nobody_would_apply_them() -> None:
    @tool_input_guardrail
    def watch(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.allow()

    @function_tool(tool_input_guardrails=[watch])
    def guarded() -> str:
        """Guarded."""
        return "x"

    with pytest.raises(ToolDefinitionError, match="has guardrails"):
        as_tools([guarded])
