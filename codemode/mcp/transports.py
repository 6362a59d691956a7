"""Carries messages between the engine and an MCP server: a child process, or streamable HTTP.

Both bound how much a server can make the host hold; the SDK's own stdio transport reads a line of any length.
A child gets its own process group, and nothing of it is left when the transport is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from codemode.mcp.listing import decode_message
from codemode.mcp.servers import Http, Stdio
from codemode.trajectory.debug_variables import SSE
from codemode.trajectory.sse_log import watched

if TYPE_CHECKING:  # the SDK takes half a second to load; engines without MCP never load it
    import httpx2
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

_log = logging.getLogger("codemode.mcp")

MAX_MESSAGE_BYTES = 16 << 20
_GRACE_SECONDS = 2.0
_LOOK_SECONDS = 0.005
_INHERITED = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
_HTTP_SECONDS = 30.0

OnEnd = Callable[[str], None]


@asynccontextmanager
async def open_stdio(name: str, stdio: Stdio, on_end: OnEnd) -> AsyncGenerator[TransportStreams]:
    """Starts the server; calls `on_end` with the reason when its output ends. Raises OSError."""
    import anyio

    process = await asyncio.create_subprocess_exec(
        stdio.command,
        *stdio.args,
        env={**{key: os.environ[key] for key in _INHERITED if key in os.environ}, **stdio.env},
        cwd=stdio.cwd,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        limit=MAX_MESSAGE_BYTES,
    )
    output = Output(name, process, on_end)
    drain = asyncio.create_task(_drain(name, process), name=f"codemode mcp {name} err")
    try:
        yield output, Input(process)
    finally:
        output.is_closed = True
        with anyio.CancelScope(shield=True):
            await _stop(process)
            drain.cancel()
            await asyncio.gather(drain, return_exceptions=True)


class Stream:
    """The SDK enters and leaves its ends of a connection as contexts; ours close with the process."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        pass


class Readable(Stream):
    """A stream of messages. `receive` returns one and raises anyio.EndOfStream after the last."""

    async def receive(self) -> SessionMessage | Exception:
        raise NotImplementedError

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        import anyio

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Output(Readable):
    """The server's messages. The task that iterates reads them: no other task and no queue in between."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, on_end: OnEnd) -> None:
        self.is_closed = False  # closed by us: then its end is not reported
        self._name = name
        self._process = process
        self._on_end = on_end

    async def receive(self) -> SessionMessage | Exception:
        """Raises anyio.EndOfStream."""
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp.types import jsonrpc_message_adapter

        while True:
            line = await self._line()
            if line is None:
                raise anyio.EndOfStream
            try:
                message = jsonrpc_message_adapter.validate_python(decode_message(line), by_name=False)
            except (ValueError, RecursionError):  # servers print other lines too, which do no harm
                _log.debug("%s wrote a line that is no message: %.200r", self._name, line)
                continue
            return SessionMessage(message)

    async def _line(self) -> bytes | None:
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            has_exited = await _exits(self._process)
            problem = f"it ended with code {self._process.returncode}" if has_exited else "its output ended"
        except asyncio.LimitOverrunError:
            problem = f"it sent a message of more than {MAX_MESSAGE_BYTES} bytes"
        except OSError:
            problem = "the connection was closed"
        if not self.is_closed:
            self._on_end(problem)
        return None

    async def aclose(self) -> None:
        self.is_closed = True


class Input(Stream):
    """Messages to the server. The task that sends writes them itself."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def send(self, item: SessionMessage, /) -> None:
        """Reports no failure: if the server stopped reading, its output ends or the call times out."""
        assert self._process.stdin is not None
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        self._process.stdin.write(text.encode() + b"\n")
        await self._process.stdin.drain()


async def _drain(name: str, process: asyncio.subprocess.Process) -> None:
    assert process.stderr is not None
    while chunk := await process.stderr.read(4096):
        _log.debug("%s: %.1000s", name, chunk.decode(errors="replace").rstrip())


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Stops it as MCP says: closes its input, then SIGTERM, then SIGKILL. Its children end with it."""
    assert process.stdin is not None
    process.stdin.close()
    for step in (signal.SIGTERM, signal.SIGKILL):
        if await _exits(process):
            break
        _signal_group(process, step)
    await _exits(process)
    _signal_group(process, signal.SIGKILL)
    transport = getattr(process, "_transport", None)  # a child that left the group may hold the pipes open
    if transport is not None:
        transport.close()


async def _exits(process: asyncio.subprocess.Process) -> bool:
    """Whether it exits within the grace. `process.wait` would also wait for all that hold its pipes."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _GRACE_SECONDS
    while process.returncode is None and loop.time() < deadline:  # noqa: ASYNC110 - there is no event for it
        await asyncio.sleep(_LOOK_SECONDS)
    return process.returncode is not None


def _signal_group(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


@asynccontextmanager
async def open_http(name: str, http: Http, on_end: OnEnd) -> AsyncGenerator[TransportStreams]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def look(response: httpx2.Response) -> None:
        if response.status_code == 404 and "mcp-session-id" in response.request.headers:
            on_end("it does not know this session any more")
        # The SDK limits event streams, per event, but not a plain answer.
        is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if not is_stream:
            response.stream = _passing(response.stream, _bounded)
        elif SSE.read() is not None:
            response.stream = _passing(response.stream, lambda chunks: watched(chunks, f"MCP server {name}"))

    # no limit on reading: a call has its own time-out, and a stream of notifications may be idle
    timeout = httpx2.Timeout(_HTTP_SECONDS, read=None)
    async with (
        httpx2.AsyncClient(
            headers=dict(http.headers), timeout=timeout, event_hooks={"response": [look]}
        ) as client,
        streamable_http_client(http.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams


def _passing(
    stream: httpx2.AsyncByteStream, through: Callable[[AsyncIterable[bytes]], AsyncIterator[bytes]]
) -> httpx2.AsyncByteStream:
    """The stream as it is read through a function of its chunks."""
    import httpx2

    class Passing(httpx2.AsyncByteStream):
        def __aiter__(self) -> AsyncIterator[bytes]:
            return through(stream)

        async def aclose(self) -> None:
            await stream.aclose()

    return Passing()


async def _bounded(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    import httpx2

    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > MAX_MESSAGE_BYTES:
            raise httpx2.StreamError(f"the answer has more than {MAX_MESSAGE_BYTES} bytes")
        yield chunk
