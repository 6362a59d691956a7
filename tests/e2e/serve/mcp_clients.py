"""The official SDK's client against the MCP server: over stdio and HTTP, as before and as since 2026."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters, types
from mcp.client.session import ClientRequestContext, ElicitationFnT
from mcp.client.streamable_http import streamable_http_client

from tests.harness.processes import PROJECT, environment
from tests.harness.serve import SHOP, http_server, serve

ERAS = {"before 2026": "legacy", "since 2026": "2026-07-28"}
TOOLS = ("--tools", SHOP)


@asynccontextmanager
async def connected(
    transport: str, era: str, *arguments: str | Path, elicit: ElicitationFnT | None = None
) -> AsyncGenerator[Client]:
    """One client of a server of its own."""
    async with AsyncExitStack() as stack:
        if transport == "http":
            url, _ = await stack.enter_async_context(http_server(*TOOLS, *arguments))
            server: Any = url
        else:
            command, *more = serve("--mcp", *TOOLS, *arguments)
            server = StdioServerParameters(command=command, args=more, cwd=PROJECT, env=environment())
        made = Client(server, mode=ERAS[era], cache=None, elicitation_callback=elicit)
        yield await stack.enter_async_context(made)


@asynccontextmanager
async def another(
    url: str, era: str, elicit: ElicitationFnT | None = None, **headers: str
) -> AsyncGenerator[Client]:
    """One more client of a server that listens."""
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(
            streamable_http_client(url, http_client=http),
            mode=ERAS[era],
            cache=None,
            elicitation_callback=elicit,
        ) as client,
    ):
        yield client


def answering(answers: list[dict[str, Any]], asked: list[str]) -> ElicitationFnT:
    """A user who gives these answers, one after the other."""

    async def elicit(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        asked.append(params.message)
        return types.ElicitResult.model_validate(answers.pop(0))

    return elicit


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The result, which must say the same as data and as text."""
    result = await client.call_tool(tool, arguments)
    first = result.content[0]
    assert isinstance(first, types.TextContent)
    found: dict[str, Any] = result.structured_content
    assert json.loads(first.text) == found
    assert result.is_error == (found["status"] == "failed")
    return found
