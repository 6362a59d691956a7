"""image: a picture of the workspace as content, which a program shows to the model or hands to a tool."""

from __future__ import annotations

from codemode.toolbox.workspace import Workspace
from codemode.tools import Image, Tool, ToolError, tool

_MAX_BYTES = 4 * 1024 * 1024
# by their first bytes: what a name says may be wrong
_SIGNS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def image_tool(workspace: Workspace) -> Tool:
    def image(path: str) -> Image:
        """Reads a PNG, JPEG, GIF or WebP file. Show it with `image(await tools.image({ path }))`.

        Args:
            path: Relative to the workspace.
        """
        data, _, shown = workspace.read_bytes(path, _MAX_BYTES)
        mime_type = next((kind for sign, kind in _SIGNS if data.startswith(sign)), None)
        if mime_type is None and data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            mime_type = "image/webp"
        if mime_type is None:
            raise ToolError(f"{path[:200]} is not a PNG, JPEG, GIF or WebP image.", code="not_an_image")
        return Image(data, mime_type, shown.rsplit("/", 1)[-1])

    return tool(image, read_only=True, idempotent=True, required_permissions=["fs.read"])
