"""Tools for the tests of the console: one that a test answers, one that needs a yes, one with a picture."""

import asyncio
import struct
import zlib
from pathlib import Path

from codemode import Image, tool


@tool
async def hold(path: str) -> str:
    """Answers when the file is there."""
    while not Path(path).exists():  # noqa: ASYNC110, ASYNC240 - what is waited for is a file of the test
        await asyncio.sleep(0.01)
    return Path(path).read_text()  # noqa: ASYNC240 - likewise


@tool(requires_approval=True)
async def pay(to: str, cents: int) -> str:
    """Sends money to <b>somebody</b>."""
    return f"paid {cents} to {to}"


@tool
async def picture() -> Image:
    """A red dot."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return Image(
        b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b"")
    )


tools = [hold, pay, picture]
