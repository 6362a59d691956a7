"""Messages from a connected server: elicitations, and that its tools have changed.

An elicitation becomes a question to the person or handler that gives approvals. Only a plain confirmation, or
a form whose required fields all have a default, can be answered with yes. Everything else is declined.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from codemode.declarations.type_words import one_line
from codemode.executor.approvals import Ask
from codemode.mcp.results import McpError
from codemode.tools import CallContext

if TYPE_CHECKING:  # the first connection loads it
    from mcp import Client, types
    from mcp.client.session import ClientRequestContext

_log = logging.getLogger("codemode.mcp")

_MAX_QUESTION = 300
_MAX_QUESTIONS = 20  # of one call; the others are declined


class Asking:
    """Answers a server's questions; one per link. Tracks running calls: a question does not name its call."""

    def __init__(self, server: str, ask: Ask) -> None:
        self._server = server
        self._ask = ask
        self._running: list[CallAsking] = []
        self._told = False

    @property
    def is_busy(self) -> bool:
        """Whether a call runs."""
        return bool(self._running)

    @contextmanager
    def during(self, context: CallContext) -> Generator[CallAsking]:
        call = CallAsking(self._server, self._ask, context)
        self._running.append(call)
        try:
            yield call
        finally:
            self._running.remove(call)

    async def on_elicitation(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the SDK's shape
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult:
        """For protocol versions before 2026, where a question does not come as the answer to a call.

        While two calls run, the question could belong to either, and a yes must not go to the wrong one.
        """
        from mcp import types

        if len(self._running) != 1:
            # once a server: one that floods us with questions must not flood the log as well
            level = logging.DEBUG if self._told else logging.WARNING
            self._told = True
            _log.log(level, "%s asked a question that belongs to no one call; declined", self._server)
            return types.ElicitResult(action="decline")
        return await self._running[0].elicit(params)

    @asynccontextmanager
    async def listening(self, client: Client, on_change: Callable[[], None]) -> AsyncGenerator[None]:
        """Subscribes to changes of the tool list, as protocol versions since 2026 require."""
        task = asyncio.create_task(_listen(client, on_change), name=f"codemode mcp {self._server} changes")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@dataclass(slots=True, eq=False)
class CallAsking:
    """Asks the questions of one call."""

    server: str
    ask: Ask
    context: CallContext
    asked: int = 0

    async def respond(self, request: Any) -> Any:
        """Answers an input request. Raises McpError for one that needs a model or a file tree."""
        from mcp import types

        if not isinstance(request, types.ElicitRequest):
            raise McpError(f"the server asks for {request.method}, which this engine does not offer")
        return await self.elicit(request.params)

    async def elicit(self, params: types.ElicitRequestParams) -> types.ElicitResult:
        from mcp import types

        self.asked += 1
        if self.asked > _MAX_QUESTIONS:  # a person must not be asked for ever
            return types.ElicitResult(action="decline")
        schema: dict[str, Any] | None = None
        details: dict[str, Any] = {"message": params.message}
        if isinstance(params, types.ElicitRequestURLParams):
            details["url"] = params.url
        else:
            schema = params.requested_schema
            details["requestedSchema"] = schema
        content = None if schema is None else content_of_yes(schema)
        if schema is not None and content is None:
            _log.warning("%s asks for input that a yes cannot give; declined", self.server)
            return types.ElicitResult(action="decline")
        where = f" ({one_line(details['url'], 200)})" if "url" in details else ""
        summary = f"MCP server {self.server} asks: {one_line(params.message, _MAX_QUESTION)}{where}"
        name = self.context.tool_id.partition(":")[2].partition(":")[2]
        decision = await self.ask(self.context, name, summary, details)
        if not decision.approved:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=content)


def content_of_yes(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Fills a form that was answered with a plain yes; None if a required field stays open. Pure."""
    found: Any = schema.get("properties")
    properties = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    listed: Any = schema.get("required")
    required = cast("list[Any]", listed) if isinstance(listed, list) else []
    content: dict[str, Any] = {}
    for name, field in properties.items():
        described = cast("dict[str, Any]", field) if isinstance(field, dict) else {}
        if "default" in described:
            content[name] = described["default"]
        elif described.get("type") == "boolean" and len(properties) == 1:
            content[name] = True
    return content if all(name in content for name in required) else None


async def _listen(client: Client, on_change: Callable[[], None]) -> None:
    from mcp import MCPError
    from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

    try:
        async with client.listen(tools_list_changed=True) as changes:
            async for _ in changes:
                on_change()
    except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError) as reason:
        _log.debug("no news of changed tools: %s", reason)
