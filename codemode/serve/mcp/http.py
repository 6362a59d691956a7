"""MCP over streamable HTTP: an address, checked headers, and sessions that take their runs with them.

There is no authentication here. Every client that reaches the address can run programs with all tools: a
server bound to anything but this machine belongs behind a proxy that authenticates.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codemode.config import ConfigError
from codemode.engine import Engine
from codemode.serve.mcp.connections import bounded_protocol
from codemode.serve.mcp.door import App, Door, Message, Receive, Send
from codemode.serve.mcp.front import session_name
from codemode.serve.options import ServeOptions
from codemode.trajectory.sse_log import SseWatch, watch_if_asked

if TYPE_CHECKING:  # loaded when it is served
    from mcp.server.lowlevel import Server
    from mcp.server.transport_security import TransportSecuritySettings

PATH = "/mcp"
_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_GRACE_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Place:
    """The socket for clients, and the headers they may send."""

    listener: socket.socket
    security: TransportSecuritySettings


def open_place(options: ServeOptions) -> Place:
    """Listens at the address. Raises ConfigError for one that cannot be used."""
    assert options.http is not None, "only called with an address"
    allowed = security(options)
    return Place(_listen(*options.http), allowed)


async def serve_http(server: Server[Any], engine: Engine, place: Place, options: ServeOptions) -> None:
    """Serves until it is cancelled; open requests then have a moment to end."""
    import uvicorn

    limits = options.http_limits

    listener = place.listener
    app: App = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=place.security,
        max_request_body_size=options.max_message_bytes,
        max_sessions=limits.max_sessions,
    )
    config = uvicorn.Config(
        Door(_ending_sessions(_watched(app), engine), limits, options.max_message_bytes),
        http=bounded_protocol(limits),
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    http = _quiet(uvicorn.Server)(config)
    serving = asyncio.create_task(http.serve(sockets=[listener]), name="codemode http")
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    print(f"codemode: MCP at http://{shown}:{port}{PATH}", file=sys.stderr, flush=True)
    try:
        await asyncio.shield(serving)
    finally:
        http.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)


def _listen(host: str, port: int) -> socket.socket:
    """Opens the socket. Raises ConfigError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as problem:
        listener.close()
        raise ConfigError("http", f"cannot listen at {host}:{port}: {problem.strerror}.") from None
    return listener


def security(options: ServeOptions) -> TransportSecuritySettings:
    """The accepted Host and Origin headers: a page in a browser must not reach this server by a name that its
    owner points here. Raises ConfigError if no Host header would be accepted."""
    from mcp.server.transport_security import TransportSecuritySettings

    assert options.http is not None, "only called with an address"
    host = options.http[0]
    own = [*_LOCAL] if _is_local(host) else [f"[{host}]" if ":" in host else host]
    if _is_any(host):
        own = []
        if not options.allowed_hosts:
            raise ConfigError("http", f"{host} is every address: name the hosts that clients may call it by.")
    return TransportSecuritySettings(
        allowed_hosts=[*(f"{name}:*" for name in own), *options.allowed_hosts],
        allowed_origins=[*(f"http://{name}:*" for name in own), *options.allowed_origins],
    )


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _ending_sessions(app: App, engine: Engine) -> App:
    """A client that ends its session (DELETE) ends its suspended runs: it cannot wait for them any more."""

    async def ending(scope: Message, receive: Receive, send: Send) -> None:
        statuses: list[int] = []

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        await app(scope, receive, watched)
        if scope["type"] == "http" and scope["method"] == "DELETE" and statuses and statuses[0] < 400:
            ids = [value.decode("latin-1") for name, value in scope["headers"] if name == b"mcp-session-id"]
            for session_id in ids[:1]:
                await engine.abort_session(session_name(session_id))

    return ending


def _watched(app: App) -> App:
    """Tells the log of event streams about what goes to clients, if it is asked for."""

    async def watching(scope: Message, receive: Receive, send: Send) -> None:
        watch: SseWatch | None = None

        async def sent(message: Message) -> None:
            nonlocal watch
            if message["type"] == "http.response.start" and _is_event_stream(message):
                watch = watch_if_asked("the MCP server to a client")
            elif watch is not None and message["type"] == "http.response.body":
                watch.feed(message.get("body", b""))
            await send(message)

        try:
            await app(scope, receive, sent)
        finally:
            if watch is not None:
                watch.end()

    return watching


def _is_event_stream(start: Message) -> bool:
    headers = dict(start.get("headers", ()))
    return headers.get(b"content-type", b"").lower().startswith(b"text/event-stream")


def _quiet(base: type[Any]) -> type[Any]:
    """uvicorn's server without its signal handlers: those of serve/ end everything, not only HTTP."""

    class Quiet(base):
        @contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

    return Quiet
