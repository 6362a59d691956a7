"""pydantic-ai: the toolset is given to the run; the model is pydantic-ai's own FunctionModel."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from pydantic_ai import Agent, models
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from shop import PROMPT, decide, engine

from codemode.adapters import prepare_tools
from codemode.adapters.pydantic_ai import CodeModeToolset

models.ALLOW_MODEL_REQUESTS = False  # nothing here may ask a real one


def think(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    assert [declared.name for declared in info.function_tools] == ["exec", "wait"]
    part = messages[-1].parts[-1]
    last: dict[str, Any] | None = None
    if isinstance(part, ToolReturnPart):
        last = json.loads(part.model_response_str())
    match decide(last):
        case str() as words:
            return ModelResponse([TextPart(words)])
        case (name, given):
            return ModelResponse([ToolCallPart(name, given)])


async def main() -> None:
    async with engine() as host:
        tools = await prepare_tools(host, session="s1")
        result = await Agent(FunctionModel(think)).run(PROMPT, toolsets=[CodeModeToolset(tools)])
        print(result.output)


asyncio.run(main())
