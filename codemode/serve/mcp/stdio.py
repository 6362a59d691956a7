"""MCP over standard input and output.

The SDK's own transport is not used: it reads lines of any length, in a thread that cannot be stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codemode.mcp.transports import Readable, Stream
from codemode.serve.pipes import LineReader, LineTooLong, LineWriter, PeerGone

if TYPE_CHECKING:  # loaded when it is served
    from mcp.server.lowlevel import Server
    from mcp.shared.message import SessionMessage


async def serve_pipes(server: Server[Any], lines: LineReader, out: LineWriter) -> None:
    """Serves until the client closes its end, then cancels its open requests."""
    await server.run(Incoming(lines), Outgoing(out), server.create_initialization_options())


class Incoming(Readable):
    """The client's messages. A line that is not a message goes to the SDK as an exception, which drops it."""

    def __init__(self, lines: LineReader) -> None:
        self._lines = lines

    async def receive(self) -> SessionMessage | Exception:
        """The next message. Raises anyio.EndOfStream."""
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp.types import jsonrpc_message_adapter

        try:
            line = await self._lines.read()
            if line is None:
                raise anyio.EndOfStream
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except (ValueError, RecursionError, LineTooLong) as problem:
            return problem


class Outgoing(Stream):
    def __init__(self, out: LineWriter) -> None:
        self._out = out

    async def send(self, item: SessionMessage, /) -> None:
        """Writes a message. Raises anyio.BrokenResourceError."""
        import anyio

        try:
            await self._out.send(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode())
        except PeerGone:
            raise anyio.BrokenResourceError from None
