"""Sends requests to a connected server, in JSON. A request that fails raises McpError.

Tools are called through the SDK's session and not its `call_tool`, which checks results against any schema
the server sent, with Python's regular expressions, in the host. results.py checks them within bounds.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any

from codemode.mcp.answers import WRONG, answering
from codemode.mcp.results import McpError
from codemode.tools import CallContext

if TYPE_CHECKING:  # the first connection loads them
    from mcp import Client
    from pydantic import BaseModel

    from codemode.mcp.elicitation import CallAsking

_MAX_PAGES = 200
_MAX_TOOLS = 20_000
_MAX_LIST_BYTES = 32 << 20
_MAX_ROUNDS = 10
_ROUND_PAUSE_SECONDS = 0.1


class ConnectionLost(McpError):
    """The connection ended during the call, which may have taken effect. The next call gets a new one."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retryable=True)


class Unreachable(McpError):
    """There is no connection, so nothing was sent. The engine goes on trying to get one."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retryable=True)


async def list_tools(client: Client, server: str) -> list[dict[str, Any]]:
    """All pages, up to the bounds above. Raises McpError."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    size = 0
    if client.server_capabilities.tools is None:
        return found
    for _ in range(_MAX_PAGES):
        with answering(server) as answer:
            with _in_our_words():
                page = await client.list_tools(cursor=cursor)
            size += answer.size
            if size > _MAX_LIST_BYTES:
                raise McpError(f"its tool list has more than {_MAX_LIST_BYTES} bytes")
            listed = (await answer.decoded("tools/list"))["tools"]
        left_out = answer.headed - {tool.name for tool in page.tools}
        found += [tool for tool in listed if tool.get("name") not in left_out] if left_out else listed
        cursor = page.next_cursor
        if cursor is None or len(found) >= _MAX_TOOLS:
            break
    return found[:_MAX_TOOLS]


async def send(
    client: Client, server: str, method: str, params: dict[str, Any], context: CallContext, asking: CallAsking
) -> dict[str, Any]:
    """The result in MCP's own form. Raises McpError."""
    with answering(server) as answer:
        with _in_our_words():
            match method:
                case "tools/call":
                    await _call_tool(client, params, context, asking)
                case "resources/list":
                    await client.list_resources(cursor=params.get("cursor"))
                case "resources/read":
                    await client.read_resource(params["uri"])
                case "prompts/list":
                    await client.list_prompts(cursor=params.get("cursor"))
                case _:
                    await client.get_prompt(params["name"], params.get("arguments"))
        return await answer.decoded(method)


async def _call_tool(
    client: Client, params: dict[str, Any], context: CallContext, asking: CallAsking
) -> None:
    """Calls in rounds: since 2026 a server's answer may ask for input, and the call is sent again with it."""
    from mcp import types

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        context.update({"progress": progress, "total": total, "message": message})

    responses: dict[str, Any] | None = None
    state: str | None = None
    for _ in range(_MAX_ROUNDS):
        asked = types.CallToolRequestParams(
            name=params["name"],
            arguments=params["arguments"],
            input_responses=responses,
            request_state=state,
        )
        given = await client.session.send_request(
            types.CallToolRequest(params=asked), _answer_type(), progress_callback=on_progress
        )
        result = given.model_extra or {}
        if result.get("resultType") != "input_required":
            return
        needed = types.InputRequiredResult.model_validate(result, by_name=False)
        state = needed.request_state
        requests = needed.input_requests or {}
        responses = {key: await asking.respond(request) for key, request in requests.items()} or None
        if responses is None:
            await asyncio.sleep(_ROUND_PAUSE_SECONDS)
    raise McpError(f"{params['name']} asked for more {_MAX_ROUNDS} times and did not go on")


@cache
def _answer_type() -> type[BaseModel]:
    """Accepts any object as it is: the session has already checked it against the protocol."""
    from pydantic import ConfigDict, create_model

    return create_model("Answer", __config__=ConfigDict(extra="allow"))


class _in_our_words:
    """Turns the SDK's exceptions into ours. Cancellation passes through."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or not isinstance(error, Exception) or isinstance(error, McpError):
            return
        import anyio
        from mcp import MCPError, types
        from pydantic import ValidationError

        match error:
            case MCPError() if error.code == types.CONNECTION_CLOSED:
                raise ConnectionLost(str(error)) from None
            case MCPError():
                raise McpError(str(error) or "the server refused the request", {"code": error.code}) from None
            case ValidationError():
                raise McpError(WRONG) from None
            case anyio.ClosedResourceError() | anyio.BrokenResourceError() | OSError():
                raise ConnectionLost("the connection was closed") from None
            case _:
                raise McpError(f"the request failed: {type(error).__name__}") from error
