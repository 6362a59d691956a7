"""An MCP server over stdio whose tools answer with an image, audio and a file; one lies about its data."""

import base64

from mcp.server.mcpserver import MCPServer
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
)

PNG = b"\x89PNG picture"

server = MCPServer("pictures")


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@server.tool(structured_output=False)
def show() -> list[ContentBlock]:
    """Text, an image, audio and a file."""
    pdf = BlobResourceContents(uri="memo://report", mime_type="application/pdf", blob=encoded(b"%PDF"))
    return [
        TextContent(text="there"),
        ImageContent(data=encoded(PNG), mime_type="image/png"),
        AudioContent(data=encoded(b"RIFF"), mime_type="audio/wav"),
        EmbeddedResource(resource=pdf),
    ]


@server.tool(structured_output=False)
def lie() -> list[ContentBlock]:
    """No base64."""
    return [ImageContent(data="%%", mime_type="image/png")]


@server.resource("memo://bytes", mime_type="image/png")
def picture() -> bytes:
    """A picture to read."""
    return PNG


if __name__ == "__main__":
    server.run()
