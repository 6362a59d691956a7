"""A LangGraph agent that asks a person in LangGraph's own way: its graph is interrupted, and resumed.

The model is scripted. The graph's checkpoint and the engine's store together survive a restart of the host.
"""

# pyright: reportMissingTypeStubs=false
from __future__ import annotations

import asyncio
import json
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command

from codemode import Engine, tool
from codemode.adapters import prepare_tools
from codemode.adapters.langchain import as_langchain

PROGRAM = "return await tools.pay({ cents: 1250 })"


@tool(requires_approval=True)
async def pay(cents: int) -> str:
    """Pays. A person has to approve."""
    return f"paid {cents}"


def scripted(state: MessagesState) -> dict[str, Any]:
    """A model would be here."""
    last = state["messages"][-1]
    if isinstance(last, ToolMessage):
        return {"messages": [AIMessage(f"Done: {json.loads(last.text)['value']}")]}
    call = {"name": "exec", "args": {"code": PROGRAM}, "id": "call_1", "type": "tool_call"}
    return {"messages": [AIMessage("", tool_calls=[call])]}


async def main() -> None:
    async with Engine([pay]) as engine:
        tools = as_langchain(await prepare_tools(engine, session="s1"))
        graph: Any = StateGraph(MessagesState)  # its types are partly unknown
        graph.add_node("model", scripted)
        graph.add_node("tools", ToolNode(tools))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        agent = graph.compile(checkpointer=InMemorySaver())
        thread: RunnableConfig = {"configurable": {"thread_id": "1"}}
        state = await agent.ainvoke({"messages": [HumanMessage("Pay Ada.")]}, thread)
        asked = state["__interrupt__"][0].value
        print("asked:", asked["tool"])
        state = await agent.ainvoke(Command(resume=True), thread)
        print(state["messages"][-1].text)


if __name__ == "__main__":
    asyncio.run(main())
