"""Images, audio and files in the answers of MCP servers, as content that a program gets handles of. Pure."""

from __future__ import annotations

from typing import Any, cast

from codemode.mcp.results import McpError
from codemode.tools.content import Content

_BINARY = "application/octet-stream"


def with_content(answer: dict[str, Any], asked: str) -> dict[str, Any]:
    """The same answer with content in the place of base64: of a call, a resource or a prompt.

    Raises McpError for data that is not what the server says it is.
    """
    made = dict(answer)
    for name in ("content", "contents"):
        if isinstance(made.get(name), list):
            made[name] = [_block(block, asked) for block in cast("list[Any]", made[name])]
    if isinstance(made.get("messages"), list):
        made["messages"] = [_message(one, asked) for one in cast("list[Any]", made["messages"])]
    return made


def _message(message: Any, asked: str) -> Any:
    if not isinstance(message, dict) or "content" not in message:
        return cast("Any", message)
    found = cast("dict[str, Any]", message)
    return {**found, "content": _block(found["content"], asked)}


def _block(block: Any, asked: str) -> Any:
    if not isinstance(block, dict):
        return block
    found = cast("dict[str, Any]", block)
    match found:
        case {"type": "image" | "audio", "data": str(data)}:
            return _content(data, found.get("mimeType"), None, asked)
        case {"type": "resource", "resource": {"blob": str(data)}}:
            resource = cast("dict[str, Any]", found["resource"])
            return _content(data, resource.get("mimeType"), resource.get("uri"), asked)
        case {"blob": str(data)}:
            return _content(data, found.get("mimeType"), found.get("uri"), asked)
        case _:
            return found


def _content(data: str, mime: Any, name: Any, asked: str) -> Content:
    try:
        return Content.from_base64(data, mime if isinstance(mime, str) else _BINARY, name and str(name))
    except ValueError as problem:
        raise McpError(f"{asked} has run, but its content cannot be read: {problem}") from None
