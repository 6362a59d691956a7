"""Answers of MCP servers that go around the SDK, as bytes.

The SDK checks every part of an answer several times, in the event loop: a second for a large one. So the
engine takes the result out of the answer before the SDK sees it, hands the SDK a small one in its place, and
decodes the real one once. Who asks opens an `answering`; the transport finds it in the asker's context.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from codemode.gate.lane import is_large, lane
from codemode.mcp.results import McpError

# The list that each result has; the stand-in has it empty.
_LISTS = {
    "tools/call": "content",
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/read": "contents",
    "prompts/list": "prompts",
    "prompts/get": "messages",
}
_MAX_FIELD = 64 << 10
_MAX_HEADED = 200
_INPUT_REQUIRED = b'"input_required"'
WRONG = "the server's answer is not what MCP says it is"


class _Named(Struct):
    name: str


class RawAnswer:
    """The result of one request, once it is there."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._raw: bytes | None = None
        self.headed: frozenset[str] = frozenset()  # the tools that the SDK reads itself, see _headed

    @property
    def size(self) -> int:
        return len(self._raw or b"")

    def take(self, method: str, result: Raw) -> bytes | None:
        """Keeps the result and returns the one for the SDK; None for one that the SDK must read itself.

        Raises ValueError for a result that is no object.
        """
        fields = msgspec.json.decode(result, type=dict[str, Raw])
        if method not in _LISTS or fields.get("resultType", Raw(b"")) == Raw(_INPUT_REQUIRED):
            return None
        self._raw = bytes(result)
        small = {name: value for name, value in fields.items() if _is_small(value)}
        headed = _headed(fields) if method == "tools/list" else {}
        self.headed = frozenset(headed)
        listed = [tool for tool in list(headed.values())[:_MAX_HEADED] if len(memoryview(tool)) <= _MAX_FIELD]
        return msgspec.json.encode({**small, _LISTS[method]: listed})

    async def decoded(self, method: str) -> dict[str, Any]:
        """The result, decoded once. Raises McpError."""
        raw, self._raw = self._raw, None
        if raw is None:
            raise McpError(WRONG)
        try:
            value = await decode(raw, self._server)
        except (ValueError, RecursionError):
            raise McpError(WRONG) from None
        if not _is_right(method, value):
            raise McpError(WRONG)
        return value


_current: ContextVar[RawAnswer | None] = ContextVar("codemode_mcp_answer", default=None)


@contextmanager
def answering(server: str) -> Generator[RawAnswer]:
    """Requests that are sent inside have their results put into this answer."""
    answer = RawAnswer(server)
    before = _current.set(answer)
    try:
        yield answer
    finally:
        _current.reset(before)


def answer_wanted() -> RawAnswer | None:
    """The answer to the request that is being sent now."""
    return _current.get()


async def decode(raw: bytes, session: str) -> Any:
    """In the lane if it is large: no two large ones at once, and the loop has a pause after each."""
    if is_large(raw):
        return await lane().run(lambda: msgspec.json.decode(raw), session)
    return msgspec.json.decode(raw)


def _is_small(value: Raw) -> bool:
    text = memoryview(value)
    return len(text) <= _MAX_FIELD and bytes(text[:1]) not in (b"[", b"{")


def _headed(fields: Mapping[str, Raw]) -> dict[str, Raw]:
    """The tools whose arguments the SDK is to send as headers too: it must read those itself."""
    tools = fields.get("tools", Raw(b"[]"))
    if b"x-mcp-header" not in bytes(tools):
        return {}
    listed = msgspec.json.decode(tools, type=list[Raw])
    return {
        msgspec.json.decode(tool, type=_Named).name: tool for tool in listed if b"x-mcp-header" in bytes(tool)
    }


def _is_right(method: str, value: object) -> bool:
    if not isinstance(value, dict):
        return False
    result = cast("dict[str, Any]", value)
    listed = result.get(_LISTS[method])
    if listed is None and method == "tools/call":
        listed = []
    if not isinstance(listed, list) or not all(
        isinstance(item, dict) for item in cast("list[object]", listed)
    ):
        return False
    cursor: object = result.get("nextCursor")
    if not isinstance(cursor, str | None):
        return False
    return method != "tools/call" or _is_call_result(result, cast("list[dict[str, Any]]", listed))


def _is_call_result(result: dict[str, Any], content: list[dict[str, Any]]) -> bool:
    structured = result.get("structuredContent")
    return (
        isinstance(result.get("isError", False), bool)
        and (structured is None or isinstance(structured, dict | list | str | int | float))
        and all(
            isinstance(block.get("type"), str)
            and (block["type"] != "text" or isinstance(block.get("text"), str))
            for block in content
        )
    )
