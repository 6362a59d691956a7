"""Turns a server's answer into the value a program gets, or the failure it can catch. Pure.

If the tool declares a result type, the program gets the structured content, checked against it unless the two
together are too large for that; otherwise it gets the answer in MCP's own form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec
from codemode_runtime.parts import most_parts

from codemode.executor.unfolding import Unusable, unfold
from codemode.tools import Schema, ToolError

if TYPE_CHECKING:  # takes 30 ms to import, and a host may never call a tool
    from jsonschema_rs import Validator

_BACKTRACKING = 20_000
_MAX_CHECKS = 4_000_000  # parts of the result times parts of its schema: above it the result is not checked
_PATTERN_WEIGHT = 5_000
_MAX_PROBLEM = 300


class McpError(ToolError):
    """The server refused the call, in its own words, or could not be asked. Nothing else is affected."""

    def __init__(self, message: str, data: Any = None, *, retryable: bool = False) -> None:
        super().__init__(message, name="McpError", code="mcp_error", data=data, retryable=retryable)


class ResultReader:
    """Reads the results of one tool. Compiles the validator at the first result."""

    def __init__(self, tool: str, declared: Schema | None) -> None:
        self._tool = tool
        self._declared = declared
        self._validator: Validator | None = None
        self._weight = 0
        self._is_compiled = False

    def read(self, result: dict[str, Any]) -> Any:
        """`result` is MCP's CallToolResult as JSON. Raises McpError."""
        if result.get("isError"):
            structured = result.get("structuredContent")
            data = None if structured is None else {"structuredContent": structured}
            raise McpError(text_of(result) or f"{self._tool} failed without saying why", data)
        if self._declared is None:
            return {name: result[name] for name in ("content", "structuredContent") if name in result}
        if "structuredContent" not in result:
            raise McpError(f"{self._tool} has run, but did not return the structured result it declares")
        self._check(result["structuredContent"])
        return result["structuredContent"]

    def _check(self, value: Any) -> None:
        if not self._is_compiled:
            self._is_compiled = True
            self._validator, self._weight = _compile(self._declared or {})
        if self._validator is None or self._weight * most_parts(msgspec.json.encode(value)) > _MAX_CHECKS:
            return
        from jsonschema_rs import ValidationError

        try:
            self._validator.validate(value)  # to the first problem: there may be millions
        except ValidationError as error:
            problem = error.message[:_MAX_PROBLEM]
            raise McpError(
                f"{self._tool} has run, but its result is not what it declares: {problem}"
            ) from None


def text_of(result: dict[str, Any]) -> str:
    """The text parts of a result, joined by line ends."""
    content: Any = result.get("content")
    blocks = cast("list[dict[str, Any]]", content) if isinstance(content, list) else []
    return "\n".join(
        str(block["text"]) for block in blocks if block.get("type") == "text" and "text" in block
    )


def _compile(schema: Schema) -> tuple[Validator | None, int]:
    """Unfolds the schema to a bounded tree first, as for arguments: a server may declare anything. With it
    comes what checking one part of a result may cost, at most."""
    from jsonschema_rs import FancyRegexOptions, validator_for

    try:
        tree = unfold(schema)
        text = msgspec.json.encode(tree)
        validator = validator_for(
            tree, offline=True, pattern_options=FancyRegexOptions(backtrack_limit=_BACKTRACKING)
        )
    except (ValueError, Unusable):
        return None, 0
    return validator, most_parts(text) + _PATTERN_WEIGHT * text.count(b'"pattern')
