"""MCP over standard input and output.

The SDK's own transport is not used: it reads lines of any length, in a thread that cannot be stopped.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from codemode_runtime.parts import measure

from codemode.gate.lane import is_large, lane
from codemode.mcp.envelope import peek
from codemode.mcp.transports import Readable, Stream
from codemode.serve.mcp.measured import too_much
from codemode.serve.pipes import LineReader, LineTooLong, LineWriter, PeerGone

if TYPE_CHECKING:  # loaded when it is served
    from mcp.server.lowlevel import Server
    from mcp.shared.message import SessionMessage

_INVALID_REQUEST = -32600  # as JSON-RPC has it


async def serve_pipes(server: Server[Any], lines: LineReader, out: LineWriter) -> None:
    """Serves until the client closes its end, then cancels its open requests."""
    await server.run(Incoming(lines, out), Outgoing(out), server.create_initialization_options())


class Incoming(Readable):
    """The client's messages. What is too much is measured and not decoded; the client is told so, if it asked
    for something. A line that is not a message goes to the SDK as an exception, which drops it."""

    def __init__(self, lines: LineReader, out: LineWriter) -> None:
        self._lines = lines
        self._out = out

    async def receive(self) -> SessionMessage | Exception:
        """The next message. Raises anyio.EndOfStream."""
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp.types import jsonrpc_message_adapter

        while True:
            try:
                line = await self._lines.read()
                if line is None:
                    raise anyio.EndOfStream
                refusal = too_much(await lane().run(partial(measure, line))) if is_large(line) else None
                if refusal is None:
                    return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                await self._refuse(line, refusal)
            except LineTooLong as problem:
                await self._refuse(problem.head, str(problem))
            except (ValueError, RecursionError) as problem:
                return problem

    async def _refuse(self, line: bytes, why: str) -> None:
        """Raises anyio.EndOfStream."""
        import anyio

        asked = peek(line)
        if asked is None or asked.id is None or asked.method is None:
            return
        error = {"code": _INVALID_REQUEST, "message": why}
        try:
            await self._out.send(msgspec.json.encode({"jsonrpc": "2.0", "id": asked.id, "error": error}))
        except PeerGone:
            raise anyio.EndOfStream from None


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
