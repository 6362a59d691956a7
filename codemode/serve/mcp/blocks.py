"""Images and files of a result as blocks of MCP, for clients of the server. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # loaded when it is served
    from mcp import types

_URI = "codemode://content/"


def mcp_block(item: Mapping[str, Any]) -> types.ContentBlock:
    """An item of output with its data; its `ref` is where the result's JSON names it."""
    from mcp import types

    mime, data = item["mimeType"], item["data"]
    if item["type"] == "image":
        return types.ImageContent(data=data, mime_type=mime)
    if mime.startswith("audio/"):
        return types.AudioContent(data=data, mime_type=mime)
    found = types.BlobResourceContents(uri=f"{_URI}{item['ref']}", mime_type=mime, blob=data)
    return types.EmbeddedResource(resource=found)
