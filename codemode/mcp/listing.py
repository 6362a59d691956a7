"""Makes the engine's tools from a server's tool list. Pure: the caller passes in how to send a call.

Nothing in the list is trusted: a tool that cannot be offered is left out with a warning, and its neighbours
stay. A definition that has not changed keeps its Tool, and with it what was compiled for it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Iterable
from typing import Any, cast

import msgspec
from codemode_runtime.parts import exceeds_depth

from codemode.declarations.declarations import METHODS
from codemode.mcp.content import with_content
from codemode.mcp.results import ResultReader
from codemode.mcp.servers import Server
from codemode.tools import CallContext, Schema, Tool, ToolDefinitionError, ToolHints

_log = logging.getLogger("codemode.mcp")

_MAX_DESCRIPTION = 8_000
_MAX_SCHEMA_BYTES = 256 << 10
_MAX_SCHEMA_DEPTH = 100
_STEP = 50  # tools that are read without a pause
_OPEN: Schema = {"type": "object"}

# Sends one MCP request and returns the result as JSON.
Send = Callable[[str, dict[str, Any], CallContext], Awaitable[dict[str, Any]]]

_METHOD_PARAMETERS: dict[str, Schema] = {
    "resources/list": {"type": "object", "properties": {"cursor": {"type": "string"}}},
    "resources/read": {"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]},
    "prompts/list": {"type": "object", "properties": {"cursor": {"type": "string"}}},
    "prompts/get": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["name"],
    },
}
# The fields of the answer that a program gets; the others matter only to the protocol.
_METHOD_RESULTS = frozenset(("resources", "contents", "prompts", "description", "messages", "nextCursor"))


class Listing:
    """Reads the tool lists of one server, one after the other."""

    def __init__(self, server: Server, send: Send) -> None:
        self._server = server
        self._send = send
        self._known: dict[str, tuple[bytes, Tool]] = {}
        self.changed: tuple[str, ...] = ()  # names that the last list defines otherwise than the one before
        self._methods = [self._method(name) for name in METHODS if not server.excludes(name)]

    def read(self, listed: Iterable[dict[str, Any]]) -> tuple[Tool, ...]:
        """`listed`: the `tools` of a list result, as JSON."""
        steps = self.steps(listed)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value

    def steps(self, listed: Iterable[dict[str, Any]]) -> Generator[None, None, tuple[Tool, ...]]:
        """The same in small steps, between which others may work."""
        known: dict[str, tuple[bytes, Tool]] = {}
        for at, definition in enumerate(listed):
            if at % _STEP == _STEP - 1:
                yield
            name = definition.get("name")
            if not isinstance(name, str) or not self._server.offers(name):
                continue
            if name in METHODS or name in known:
                _log.warning("%s: a tool named %.80r is left out: the name is taken", self._server.name, name)
                continue
            try:
                known[name] = self._tool(name, definition)
            except (ToolDefinitionError, msgspec.MsgspecError, ValueError, RecursionError) as problem:
                _log.warning("%s: a tool is left out: %.300s", self._server.name, problem)
        before = self._known
        self.changed = tuple(name for name in known if name in before and known[name][0] != before[name][0])
        self._known = known
        return (*(tool for _, tool in known.values()), *self._methods)

    def _tool(self, name: str, definition: dict[str, Any]) -> tuple[bytes, Tool]:
        said = msgspec.json.encode(definition)
        if exceeds_depth(said, _MAX_SCHEMA_DEPTH):  # what is deeper becomes "anything"
            definition = _pruned(definition, _MAX_SCHEMA_DEPTH)
        before = self._known.get(name)
        if before is not None and before[0] == said:
            return before
        returns = definition.get("outputSchema")
        declared = _bounded(cast("object", returns)) if isinstance(returns, dict) else None
        reader = ResultReader(self._server.name, name, declared)

        async def run(arguments: dict[str, Any], context: CallContext) -> Any:
            asked = {"name": name, "arguments": arguments}
            found = with_content(await self._send("tools/call", asked, context), name)
            return await reader.read(found)

        title = definition.get("title")
        return said, Tool(
            name,
            str(definition.get("description") or "")[:_MAX_DESCRIPTION],
            _bounded(definition.get("inputSchema")),
            run,
            declared,
            "mcp",
            self._server.name,
            title[:200] if isinstance(title, str) and title else None,
            self._hints(definition.get("annotations")),
        )

    def _hints(self, annotations: object) -> ToolHints:
        """Believes what a server says about its own tools: a call it calls idempotent may be repeated."""
        said = cast("dict[str, Any]", annotations) if isinstance(annotations, dict) else {}
        read_only = said.get("readOnlyHint") is True
        return ToolHints(
            read_only=read_only,
            destructive=not read_only and said.get("destructiveHint") is not False,  # as MCP has it
            idempotent=said.get("idempotentHint") is True,
            timeout_ms=self._server.timeout_ms,
        )

    def _method(self, method: str) -> Tool:
        """Programs call resources and prompts like tools, through the same executor."""

        async def run(arguments: dict[str, Any], context: CallContext) -> Any:
            found = with_content(await self._send(method, arguments, context), method)
            return {name: value for name, value in found.items() if name in _METHOD_RESULTS}

        hints = ToolHints(read_only=True, idempotent=True, timeout_ms=self._server.timeout_ms)
        words = f"{method} of the MCP server"
        return Tool(
            method, words, _METHOD_PARAMETERS[method], run, None, "mcp", self._server.name, hints=hints
        )


def _pruned(value: Any, levels: int) -> Any:
    match value:
        case dict():
            items = cast("dict[str, Any]", value).items()
            return {key: _pruned(item, levels - 1) for key, item in items} if levels else {}
        case list():
            return [_pruned(item, levels - 1) for item in cast("list[Any]", value)] if levels else []
        case _:
            return value


def _bounded(schema: object) -> Schema:
    if not isinstance(schema, dict) or len(msgspec.json.encode(schema)) > _MAX_SCHEMA_BYTES:
        return _OPEN
    return cast("Schema", schema)
