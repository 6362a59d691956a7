"""Reads and writes bounded lines on standard input and output, for servers that speak over them.

It takes the descriptors away from the rest of the process: code that prints writes to stderr, code that reads
finds nothing. Reading holds at most one line; a line over the limit is skipped, never kept.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import selectors
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from codemode.config import ConfigError

_FLUSH_SECONDS = 2.0
_HEAD_BYTES = 256


class LineTooLong(Exception):
    """The line was skipped; the next one can be read. `head` is its beginning."""

    def __init__(self, head: bytes, limit: int) -> None:
        super().__init__(f"a message may have {limit} bytes")
        self.head = head


class PeerGone(Exception):
    """The other side no longer reads what we write."""


@asynccontextmanager
async def standard_lines(max_bytes: int) -> AsyncGenerator[tuple[LineReader, LineWriter]]:
    """Takes stdin and stdout for good. Raises ConfigError if the loop cannot wait for one of them."""
    loop = asyncio.get_running_loop()
    source, sink = _claim(0, os.open(os.devnull, os.O_RDONLY)), _claim(1, os.dup(2))
    stream = asyncio.StreamReader(limit=max_bytes)
    incoming, seen = await loop.connect_read_pipe(lambda: _Source(stream), os.fdopen(source, "rb", 0))
    outgoing, writer = await loop.connect_write_pipe(LineWriter, os.fdopen(sink, "wb", 0))
    try:
        yield LineReader(stream, max_bytes, seen.ended), writer
    finally:
        incoming.close()
        await writer.close(outgoing)


def _claim(number: int, instead: int) -> int:
    """Moves the descriptor to a number that no child inherits, and puts `instead` in its place."""
    private = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3)
    os.dup2(instead, number)
    os.close(instead)
    with selectors.DefaultSelector() as probe:
        try:
            probe.register(private, selectors.EVENT_READ)
        except (PermissionError, ValueError):  # a file, or /dev/null
            name = ("stdin", "stdout")[number]
            raise ConfigError(name, "must be a pipe, a socket or a terminal, not a file.") from None
    return private


class _Source(asyncio.StreamReaderProtocol):
    def __init__(self, stream: asyncio.StreamReader) -> None:
        super().__init__(stream)
        self.ended = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()
        super().connection_lost(exc)


class LineReader:
    """`ended` is set as soon as the other side has closed, even while lines are left to read."""

    def __init__(self, stream: asyncio.StreamReader, limit: int, ended: asyncio.Event) -> None:
        self.ended = ended
        self._stream = stream
        self._limit = limit

    async def read(self) -> bytes | None:
        """The next line; None at the end, where half a line is dropped. Raises LineTooLong."""
        try:
            return await self._stream.readuntil(b"\n")
        except (asyncio.IncompleteReadError, OSError):
            return None
        except asyncio.LimitOverrunError as over:
            head = await self._skip(over.consumed)
            raise LineTooLong(head, self._limit) from None

    async def _skip(self, consumed: int) -> bytes:
        head = b""
        while True:
            try:
                chunk = await self._stream.readexactly(consumed)
                head = head or chunk[:_HEAD_BYTES]
                await self._stream.readuntil(b"\n")
            except asyncio.LimitOverrunError as over:
                consumed = over.consumed
            except asyncio.IncompleteReadError:
                return head
            else:
                return head


class LineWriter(asyncio.BaseProtocol):
    """A sender waits while the other side does not read, so nothing piles up here."""

    def __init__(self) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._lost = asyncio.Event()

    @property
    def is_lost(self) -> bool:
        return self._lost.is_set()

    async def send(self, line: bytes) -> None:
        """Raises PeerGone."""
        await self._writable.wait()
        if self._transport is None or self.is_lost or self._transport.is_closing():
            raise PeerGone
        self._transport.write(line + b"\n")
        await self._writable.wait()

    def offer(self, line: bytes) -> None:
        """Sends the line if that needs no waiting, else drops it."""
        if self._writable.is_set() and self._transport is not None and not self._transport.is_closing():
            self._transport.write(line + b"\n")

    async def until_lost(self) -> bool:
        return await self._lost.wait()

    async def close(self, transport: asyncio.WriteTransport) -> None:
        """Writes what was sent first, if the other side reads it in time."""
        transport.close()
        try:
            await asyncio.wait_for(self._lost.wait(), _FLUSH_SECONDS)
        except TimeoutError:
            transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's shape
        self._lost.set()
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()
