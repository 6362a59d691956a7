"""The OpenAI Agents SDK: tools for an Agent, run by the SDK's Runner; the model is a scripted Model."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any, cast

from agents import Agent, Model, ModelResponse, RunConfig, Runner, TResponseInputItem, Usage
from agents.items import TResponseStreamEvent
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from shop import PROMPT, decide, engine

from codemode.adapters import prepare_tools
from codemode.adapters.openai_agents import as_openai_agents

numbers = itertools.count(1)


class ScriptedModel(Model):
    async def get_response(  # pyright: ignore[reportIncompatibleMethodOverride] - only what is read is named
        self,
        system_instructions: str | None,  # noqa: ARG002 - the SDK's signature, as the next ones
        input: str | list[TResponseInputItem],
        *rest: Any,  # noqa: ARG002
        **named: Any,  # noqa: ARG002
    ) -> ModelResponse:
        last = None
        if isinstance(input, list):
            item = cast("dict[str, Any]", input[-1])
            last = json.loads(item["output"]) if item.get("type") == "function_call_output" else None
        return ModelResponse([self.say(decide(last))], Usage(), None)

    def say(
        self, decision: tuple[str, dict[str, Any]] | str
    ) -> ResponseFunctionToolCall | ResponseOutputMessage:
        if isinstance(decision, str):
            text = ResponseOutputText(type="output_text", text=decision, annotations=[])
            return ResponseOutputMessage(
                id="msg_1", type="message", role="assistant", status="completed", content=[text]
            )
        name, given = decision
        return ResponseFunctionToolCall(
            type="function_call", call_id=f"call_{next(numbers)}", name=name, arguments=json.dumps(given)
        )

    def stream_response(self, *given: Any, **named: Any) -> AsyncIterator[TResponseStreamEvent]:
        raise NotImplementedError


async def main() -> None:
    async with engine() as host:
        tools = await prepare_tools(host, session="s1")
        agent = Agent[Any](name="shop", model=ScriptedModel(), tools=as_openai_agents(tools))
        result = await Runner.run(agent, PROMPT, run_config=RunConfig(tracing_disabled=True))
        print(result.final_output)


asyncio.run(main())
