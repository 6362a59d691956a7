"""Turns a server's answer into the value a program gets, or the failure it can catch.

If the tool declares a result type, the program gets the structured content, checked against it unless the two
together are too large for that; otherwise it gets the answer in MCP's own form.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec

from codemode.executor.unfolding import Unusable
from codemode.gate.lane import is_large, lane
from codemode.tools import Schema, ToolError

if TYPE_CHECKING:  # a host may never call a tool that declares its result
    from codemode.executor.schema_check import SchemaCheck

_MAX_PROBLEM = 300


class McpError(ToolError):
    """The server refused the call, in its own words, or could not be asked. Nothing else is affected."""

    def __init__(self, message: str, data: Any = None, *, retryable: bool = False) -> None:
        super().__init__(message, name="McpError", code="mcp_error", data=data, retryable=retryable)


class ResultReader:
    """Reads the results of one tool. Compiles the declared schema at the first result."""

    def __init__(self, server: str, tool: str, declared: Schema | None) -> None:
        self._server = server
        self._tool = tool
        self._declared = declared
        self._schema: SchemaCheck | None = None
        self._is_compiled = False

    async def read(self, result: dict[str, Any]) -> Any:
        """`result` is MCP's CallToolResult as JSON. A large one is checked in the lane. Raises McpError."""
        if result.get("isError"):
            structured = result.get("structuredContent")
            data = None if structured is None else {"structuredContent": structured}
            raise McpError(text_of(result) or f"{self._tool} failed without saying why", data)
        if self._declared is None:
            return {name: result[name] for name in ("content", "structuredContent") if name in result}
        if "structuredContent" not in result:
            raise McpError(f"{self._tool} has run, but did not return the structured result it declares")
        value = result["structuredContent"]
        json = msgspec.json.encode(value)
        check = partial(self._check, value, len(json))
        await lane().run(check, self._server) if is_large(json) else check()
        return value

    def _check(self, value: Any, size: int) -> None:
        if not self._is_compiled:
            self._is_compiled = True
            self._schema = _compile(self._declared or {})
        schema = self._schema
        if schema is None or not schema.is_affordable(value, size) or schema.fits(value):
            return
        errors, _ = schema.errors(value, size, most=1)
        problem = f": {errors[0].message[:_MAX_PROBLEM]}" if errors else ""
        raise McpError(f"{self._tool} has run, but its result is not what it declares{problem}")


def text_of(result: dict[str, Any]) -> str:
    """The text parts of a result, joined by line ends."""
    content: Any = result.get("content")
    blocks = cast("list[dict[str, Any]]", content) if isinstance(content, list) else []
    return "\n".join(
        str(block["text"]) for block in blocks if block.get("type") == "text" and "text" in block
    )


def _compile(schema: Schema) -> SchemaCheck | None:
    """A server may declare anything: what cannot be used is not checked."""
    from codemode.executor.schema_check import SchemaCheck

    try:
        return SchemaCheck(schema, trusted=False)
    except (ValueError, Unusable):
        return None
