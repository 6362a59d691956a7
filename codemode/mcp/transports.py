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
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from codemode.gate.pace import Pace
from codemode.mcp.budget import Overspent
from codemode.mcp.credentials import Secrets
from codemode.mcp.http_intake import (
    MAX_MESSAGE_BYTES,
    admitted_answer,
    admitted_events,
    asked_by,
    bounded,
    passing,
    refused_packed,
)
from codemode.mcp.intake import Intake
from codemode.mcp.servers import Http, Stdio
from codemode.tools.threads import call_in_thread
from codemode.trajectory.debug_variables import SSE
from codemode.trajectory.sse_log import watched

if TYPE_CHECKING:  # the SDK takes half a second to load; engines without MCP never load it
    import httpx2
    from mcp.client._transport import TransportStreams
    from mcp.shared._stream_protocols import WriteStream
    from mcp.shared.message import SessionMessage

_log = logging.getLogger("codemode.mcp")

_CHUNK_BYTES = 64 << 10
_GRACE_SECONDS = 2.0
_LOOK_SECONDS = 0.005
_INHERITED = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
_HTTP_SECONDS = 30.0

_READ_SECONDS = 0.00002  # what reading one line costs, about
_SDK_SECONDS = 0.0002  # and what the SDK spends on one message

OnEnd = Callable[[str | Overspent], None]


@asynccontextmanager
async def open_stdio(
    name: str, stdio: Stdio, intake: Intake, on_end: OnEnd
) -> AsyncGenerator[TransportStreams]:
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
    output = Output(process, intake, on_end)
    drain = asyncio.create_task(_drain(name, process, Secrets(stdio.env)), name=f"codemode mcp {name} err")
    try:
        yield output, Input(process, intake)
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

    def __init__(self, process: asyncio.subprocess.Process, intake: Intake, on_end: OnEnd) -> None:
        self.is_closed = False  # closed by us: then its end is not reported
        self._process = process
        self._intake = intake
        self._on_end = on_end
        self._pace = Pace()

    async def receive(self) -> SessionMessage | Exception:
        """Raises anyio.EndOfStream."""
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp.types import jsonrpc_message_adapter

        while True:
            line = await self._line()
            if line is None:
                raise anyio.EndOfStream
            began = time.perf_counter()
            try:
                told = self._intake.admit(line)
                message = None if told is None else jsonrpc_message_adapter.validate_json(told, by_name=False)
            except Overspent as offence:
                self._on_end(offence)
                raise anyio.EndOfStream from None
            except (ValueError, RecursionError):
                message = None
            del line  # it may be large, and the pause long
            spent = time.perf_counter() - began + _READ_SECONDS
            await self._pace.after(spent if message is None else spent + _SDK_SECONDS)
            if message is not None:
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

    def __init__(self, process: asyncio.subprocess.Process, intake: Intake) -> None:
        self._process = process
        self._intake = intake

    async def send(self, item: SessionMessage, /) -> None:
        """Reports no failure: if the server stopped reading, its output ends or the call times out."""
        self._intake.note_sent(item)
        assert self._process.stdin is not None
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        self._process.stdin.write(text.encode() + b"\n")
        await self._process.stdin.drain()


async def _drain(name: str, process: asyncio.subprocess.Process, secrets: Secrets) -> None:
    assert process.stderr is not None
    pace = Pace()
    while chunk := await process.stderr.read(_CHUNK_BYTES):
        if _log.isEnabledFor(logging.DEBUG):
            text = secrets.strike(chunk[:4000].decode(errors="replace").rstrip())
            _log.debug("%s: %.1000s", name, text)
        await pace.after(_READ_SECONDS)


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
async def open_http(
    name: str, http: Http, intake: Intake, on_end: OnEnd, auth: httpx2.Auth | None = None
) -> AsyncGenerator[TransportStreams]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def look(response: httpx2.Response) -> None:
        is_challenge = auth is not None and response.status_code in (401, 403)
        if is_challenge or response.request.url != http.url:  # of logging in: it is no message
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = passing(response.stream, bounded)
            return
        if response.status_code == 401 and auth is None:
            on_end(f"it wants a login: `codemode mcp login {name}`")
        if response.status_code == 404 and "mcp-session-id" in response.request.headers:
            on_end("it does not know this session any more")
        asked = asked_by(response.request)
        is_packed = response.headers.pop("content-encoding", "identity").lower() != "identity"
        is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        admitted = admitted_events if is_stream else admitted_answer
        if is_packed:
            admitted = refused_packed

        async def through(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
            if is_stream and SSE.read() is not None:
                chunks = watched(chunks, f"MCP server {name}")
            try:
                async for chunk in admitted(chunks, intake, asked):
                    yield chunk
            except Overspent as offence:
                on_end(offence)
                raise httpx2.StreamError(str(offence)) from None

        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = passing(response.stream, through)

    # no limit on reading: a call has its own time-out, and a stream of notifications may be idle
    timeout = httpx2.Timeout(_HTTP_SECONDS, read=None)
    # a small compressed answer may be a large one: a bound on its bytes would say nothing
    headers = {**http.headers, "accept-encoding": "identity"}
    trusted = await call_in_thread("certificates", httpx2.create_ssl_context)  # reads some hundred of them
    hooks = {"response": [look]}
    async with (
        httpx2.AsyncClient(
            headers=headers, timeout=timeout, verify=trusted, event_hooks=hooks, auth=auth
        ) as client,
        streamable_http_client(http.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams[0], Noting(streams[1], intake)


class Noting(Stream):
    """The SDK's stream to the server; the intake hears of each message first."""

    def __init__(self, inner: WriteStream[SessionMessage], intake: Intake) -> None:
        self._inner = inner
        self._intake = intake

    async def send(self, item: SessionMessage, /) -> None:
        self._intake.note_sent(item)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()
