"""LangChain: tools for a chat model and the loop around it; the model is a scripted BaseChatModel.

In LangGraph the same list goes to a ToolNode or a ready-made agent; both call the tools as this loop does.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from shop import PROMPT, decide, engine

from codemode.adapters import prepare_tools
from codemode.adapters.langchain import as_langchain

numbers = itertools.count(1)


class ScriptedModel(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(given) for given in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        assert [declared["function"]["name"] for declared in kwargs["tools"]] == ["exec", "wait"]
        said = messages[-1]
        match decide(json.loads(said.text) if isinstance(said, ToolMessage) else None):
            case str() as words:
                message = AIMessage(words)
            case (name, given):
                call = {"name": name, "args": given, "id": f"call_{next(numbers)}", "type": "tool_call"}
                message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


async def main() -> None:
    async with engine() as host:
        tools = as_langchain(await prepare_tools(host, session="s1"))
        named = {found.name: found for found in tools}
        model = ScriptedModel().bind_tools(tools)
        messages: list[BaseMessage] = [HumanMessage(PROMPT)]
        while True:
            said = await model.ainvoke(messages)
            messages.append(said)
            if not said.tool_calls:
                break
            messages += [await named[call["name"]].ainvoke(call) for call in said.tool_calls]
        print(messages[-1].text)


asyncio.run(main())
