"""Programs inside real graphs: approvals and questions interrupt them, tools take what graphs inject."""

# LangGraph's classes are generic in ways that its own functions do not say.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, InjectedStore, ToolNode, ToolRuntime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from codemode import Engine, tool
from codemode.adapters import prepare_tools
from codemode.adapters.langchain import as_langchain
from tests.harness.engine import echo, engine, pay

PAY = "text('before'); return await tools.pay({ amount: 5 })"


class Scripted(BaseChatModel):
    """Runs one program, then says what it got."""

    code: str

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            said = AIMessage(str(last.content))
        else:
            call = {"name": "exec", "args": {"code": self.code}, "id": "toolu_1", "type": "tool_call"}
            said = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


def thread(name: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name}}


async def agent_of(host: Engine, code: str, saver: Any, **options: Any) -> Any:
    tools = as_langchain(await prepare_tools(host), session=session_of)
    return create_agent(Scripted(code=code), tools, checkpointer=saver, **options)


def session_of(config: RunnableConfig) -> str:
    return config.get("configurable", {})["thread_id"]


def asked(state: dict[str, Any]) -> list[Any]:
    return [found.value for found in state["__interrupt__"]]


def said(state: dict[str, Any]) -> dict[str, Any]:
    return json.loads(state["messages"][-1].content)


START: Any = {"messages": [HumanMessage("go")]}


async def test_an_approval_interrupts_the_graph_and_its_answer_decides(leaves_nothing: None) -> None:
    async with engine([pay]) as host:
        agent = await agent_of(host, PAY, InMemorySaver())
        first = await agent.ainvoke(START, thread("a"))
        (run,) = await host.runs("a")
        (shown,) = asked(first)
        name = shown.pop("id")
        assert shown == {
            "type": "codemode_approval",
            "runId": run.run_id,
            "tool": "pay",
            "summary": "Run pay(amount)",
            "arguments": {"amount": 5},
        }
        assert name.startswith("apr_")
        ended = await agent.ainvoke(Command(resume=True), thread("a"))
        assert await host.runs() == []
        assert host.stats().totals.counts["exec"] == 1
    assert said(ended) == {
        "status": "completed",
        "value": "paid 5",
        "output": [{"type": "text", "text": "before"}],
    }


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (False, "pay was not approved"),
        ({"approved": False, "reason": "too much"}, "pay was not approved: too much"),
        ({"type": "reject", "message": "no"}, "pay was not approved: no"),
        ("yes please", "pay was not approved: the answer was neither yes nor no"),
    ],
)
async def test_an_answer_that_is_no_clear_yes_is_a_refusal_that_the_program_hears(
    answer: Any, told: str
) -> None:
    code = "try { await tools.pay({ amount: 5 }) } catch (error) { return [error.code, error.message] }"
    async with engine([pay]) as host:
        agent = await agent_of(host, code, InMemorySaver())
        await agent.ainvoke(START, thread("a"))
        ended = await agent.ainvoke(Command(resume=answer), thread("a"))
    assert said(ended)["value"] == ["denied", told]


async def test_each_of_several_approvals_is_asked_for_and_gets_its_own_answer() -> None:
    code = """
    const tried = (amount) => tools.pay({ amount }).catch((error) => error.message);
    const two = await Promise.all([tried(1), tried(2)]);
    return [...two, await tried(3)]"""
    async with engine([pay]) as host:
        agent = await agent_of(host, code, InMemorySaver())
        state = await agent.ainvoke(START, thread("a"))
        amounts: list[int] = []
        while "__interrupt__" in state:
            (shown,) = asked(state)
            amounts.append(shown["arguments"]["amount"])
            state = await agent.ainvoke(Command(resume=amounts[-1] != 2), thread("a"))
        assert host.stats().totals.counts["exec"] == 1
    assert amounts == [1, 2, 3]
    assert said(state)["value"] == ["paid 1", "pay was not approved", "paid 3"]


async def test_an_approval_outlives_engine_and_graph_where_both_are_durable(tmp_path: Path) -> None:
    store, file = str(tmp_path / "runs.sqlite"), str(tmp_path / "graph.sqlite")
    async with AsyncSqliteSaver.from_conn_string(file) as saver, engine([pay], store=store) as host:
        agent = await agent_of(host, PAY, saver)
        first = await agent.ainvoke(START, thread("a"))
        assert len(asked(first)) == 1
    async with AsyncSqliteSaver.from_conn_string(file) as saver, engine([pay], store=store) as host:
        agent = await agent_of(host, PAY, saver)
        ended = await agent.ainvoke(Command(resume={"approved": True}), thread("a"))
        assert await host.runs() == []
        assert "exec" not in host.stats().totals.counts
    assert said(ended)["value"] == "paid 5"


@langchain_tool
async def ask_twice(city: str) -> list[Any]:
    """Asks, and asks again."""
    seen.append(city)
    return [interrupt({"when": city}), interrupt(["how many"])]


@langchain_tool
def ask_in_a_thread() -> str:
    """Asks."""
    return f"got {interrupt('which?')}"


seen: list[str] = []


async def test_a_nested_tool_that_calls_interrupt_suspends_the_program_with_its_own_value() -> None:
    seen.clear()
    code = "return await tools.ask_twice({ city: 'Oslo' })"
    async with engine([ask_twice]) as host:
        agent = await agent_of(host, code, InMemorySaver())
        first = await agent.ainvoke(START, thread("a"))
        second = await agent.ainvoke(Command(resume="today"), thread("a"))
        ended = await agent.ainvoke(Command(resume={"n": 2}), thread("a"))
        assert host.stats().totals.counts["exec"] == 1
    assert (asked(first), asked(second)) == ([{"when": "Oslo"}], [["how many"]])
    assert said(ended)["value"] == ["today", {"n": 2}]
    assert seen == ["Oslo"] * 3  # as in a graph, a tool that asks begins again with each answer


async def test_a_nested_interrupt_outlives_engine_and_graph(tmp_path: Path) -> None:
    store, file = str(tmp_path / "runs.sqlite"), str(tmp_path / "graph.sqlite")
    code = "return await tools.ask_in_a_thread({})"
    for given in (START, Command(resume="that one")):
        async with (
            AsyncSqliteSaver.from_conn_string(file) as saver,
            engine([ask_in_a_thread], store=store) as host,
        ):
            state = await (await agent_of(host, code, saver)).ainvoke(given, thread("a"))
    assert said(state)["value"] == "got that one"


async def test_without_a_graph_a_nested_interrupt_is_an_approval_with_a_value() -> None:
    async with engine([ask_in_a_thread]) as host:
        execute, wait = as_langchain(await prepare_tools(host))
        first = json.loads(await execute.ainvoke({"code": "return await tools.ask_in_a_thread({})"}))
        assert (first["status"], first["reason"]) == ("waiting", "approval")
        (call,) = first["pendingToolCalls"]
        assert call["approval"]["summary"] == "ask_in_a_thread asks for an answer"
        await host.approve(first["runId"], call["approval"]["id"], value=7)
        ended = json.loads(await wait.ainvoke({"runId": first["runId"]}))
    assert ended["value"] == "got 7"


async def test_hosts_that_decide_themselves_are_not_interrupted_nor_are_graphs_without_a_checkpointer() -> (
    None
):
    async with engine([pay]) as host:
        tools = await prepare_tools(host)
        for agent in (
            create_agent(
                Scripted(code=PAY), as_langchain(tools, approvals="host"), checkpointer=InMemorySaver()
            ),
            create_agent(Scripted(code=PAY), as_langchain(tools)),
        ):
            found = said(await agent.ainvoke(START, thread("a")))
            assert (found["status"], found["reason"]) == ("waiting", "approval")


@langchain_tool
def from_state(
    prefix: str,
    state: Annotated[dict[str, Any], InjectedState],
    messages: Annotated[list[Any], InjectedState("messages")],
    store: Annotated[Any, InjectedStore()],
) -> list[Any]:
    """Reads the graph."""
    item = store.get(("notes",), "n")
    return [prefix, len(state["messages"]), messages[0].content, item.value if item else None]


@langchain_tool
def from_runtime(runtime: ToolRuntime) -> list[Any]:
    """Reads the runtime."""
    return [
        runtime.state["messages"][0].content,
        session_of(runtime.config),
        runtime.tool_call_id,
    ]


async def test_nested_tools_take_state_store_and_runtime_of_the_graph() -> None:
    store = InMemoryStore()
    store.put(("notes",), "n", {"kept": 1})
    code = "return [await tools.from_state({ prefix: 'p' }), await tools.from_runtime({})]"
    async with engine([from_state, from_runtime]) as host:
        agent = await agent_of(host, code, InMemorySaver(), store=store)
        ended = await agent.ainvoke(START, thread("t1"))
    assert said(ended)["value"] == [["p", 2, "go", {"kept": 1}], ["go", "t1", "2"]]


async def test_outside_of_a_graph_such_a_tool_says_where_it_works_whatever_the_program_passes() -> None:
    async with engine([from_runtime, from_state]) as host:
        execute, _ = as_langchain(await prepare_tools(host))
        call = {"name": "exec", "id": "c", "type": "tool_call"}
        code = "return await tools.from_runtime({})"
        found = await execute.ainvoke({**call, "args": {"code": code, "runtime": {"state": 1}}})
        assert json.loads(found.content)["code"] == "invalid_input"
        found = await execute.ainvoke({**call, "args": {"code": code}})
    assert (
        "from_runtime takes ToolRuntime of a LangGraph graph: it can only be called where exec is a tool"
        in json.loads(found.content)["error"]
    )


async def test_one_prepared_list_serves_many_threads_each_in_a_session_of_its_own() -> None:
    code = "await yield_control(); return 1"
    async with engine([echo]) as host:
        agent = await agent_of(host, code, InMemorySaver())
        for name in ("ada", "bob"):
            assert said(await agent.ainvoke(START, thread(name)))["reason"] == "yield"
        assert [(run.session, run.tool_call) for run in await host.runs()] == [
            ("ada", "toolu_1"),
            ("bob", "toolu_1"),
        ]
        await host.abort_session("ada")
        await host.abort_session("bob")


async def test_a_tool_node_of_a_graph_of_your_own_asks_too() -> None:
    @tool(requires_approval=True)
    async def send(to: str) -> str:
        """Sends."""
        return f"sent to {to}"

    async with engine([send]) as host:
        builder = StateGraph(MessagesState)
        builder.add_node("tools", ToolNode(as_langchain(await prepare_tools(host))))
        builder.set_entry_point("tools")
        graph = builder.compile(checkpointer=InMemorySaver())
        code = "return await tools.send({ to: 'Ada' })"
        call = {"name": "exec", "args": {"code": code}, "id": "t", "type": "tool_call"}
        first = await graph.ainvoke({"messages": [AIMessage("", tool_calls=[call])]}, thread("a"))
        ended = await graph.ainvoke(Command(resume=True), thread("a"))
    assert asked(first)[0]["arguments"] == {"to": "Ada"}
    assert said(ended)["value"] == "sent to Ada"
