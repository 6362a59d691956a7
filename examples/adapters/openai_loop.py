"""OpenAI's chat completions without an SDK, the loop written out: declare, guard, send, answer."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from typing import Any

from shop import PROMPT, decide, engine

from codemode.adapters import prepare_tools
from codemode.adapters.raw import answer_calls, declare

numbers = itertools.count(1)


async def send(body: dict[str, Any]) -> Mapping[str, Any]:
    """In a host: POST the body to /v1/chat/completions and return the JSON."""
    said = body["messages"][-1]
    decision = decide(json.loads(said["content"]) if said["role"] == "tool" else None)
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if isinstance(decision, str):
        message["content"], reason = decision, "stop"
    else:
        name, given = decision
        function = {"name": name, "arguments": json.dumps(given)}
        message["tool_calls"] = [{"id": f"call_{next(numbers)}", "type": "function", "function": function}]
        reason = "tool_calls"
    return {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }


async def main() -> None:
    async with engine() as host:
        tools = await prepare_tools(host, session="s1")
        messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
        while True:
            body = {"model": "a-model", "messages": messages, "tools": declare(tools, "openai")}
            tools.guard(body)  # exec and wait, and nothing else, or it is not sent
            response = await send(body)
            messages.append(response["choices"][0]["message"])
            answers = await answer_calls(tools, response, "openai")
            if not answers:
                break
            messages += answers
        print(messages[-1]["content"])


asyncio.run(main())
