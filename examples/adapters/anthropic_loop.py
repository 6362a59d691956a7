"""Anthropic's messages without an SDK: `send` would post the body; here it answers as the service does."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from typing import Any

from shop import PROMPT, decide, engine

from codemode.adapters import prepare_tools
from codemode.adapters.raw import converse

numbers = itertools.count(1)


async def send(body: dict[str, Any]) -> Mapping[str, Any]:
    """In a host: POST the body to /v1/messages, with the key and version headers, and return the JSON."""
    assert [declared["name"] for declared in body["tools"]] == ["exec", "wait"]
    content = body["messages"][-1]["content"]
    last = None if isinstance(content, str) else json.loads(content[0]["content"])
    match decide(last):
        case str() as words:
            block, reason = {"type": "text", "text": words}, "end_turn"
        case (name, given):
            used = {"type": "tool_use", "id": f"toolu_{next(numbers)}", "name": name, "input": given}
            block, reason = used, "tool_use"
    return {"type": "message", "role": "assistant", "content": [block], "stop_reason": reason}


async def main() -> None:
    async with engine() as host:
        tools = await prepare_tools(host, session="s1")
        request = {
            "model": "a-model",
            "max_tokens": 1000,
            "messages": [{"role": "user", "content": PROMPT}],
        }
        ended = await converse(tools, request, send, "anthropic")
        print(ended.response["content"][0]["text"])


asyncio.run(main())
