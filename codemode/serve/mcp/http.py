"""MCP over streamable HTTP: an address, checked headers, and sessions that take their runs with them.

Without tokens every client that reaches the address can run programs with all tools: a server bound to
anything but this machine needs them, or belongs behind a proxy that authenticates.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codemode.engine import Engine
from codemode.serve.address import accepted_headers, listen, shown_address
from codemode.serve.mcp.connections import bounded_protocol
from codemode.serve.mcp.door import App, Door, Message, Receive, Send
from codemode.serve.mcp.front import session_name
from codemode.serve.mcp.guard import TokenGuard
from codemode.serve.options import ServeOptions
from codemode.serve.tokens import Tokens, load_tokens
from codemode.trajectory.sse_log import SseWatch, watch_if_asked

if TYPE_CHECKING:  # loaded when it is served
    from mcp.server.lowlevel import Server
    from mcp.server.transport_security import TransportSecuritySettings

PATH = "/mcp"
_GRACE_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Place:
    """The socket for clients, and the headers they may send."""

    listener: socket.socket
    security: TransportSecuritySettings
    tokens: Tokens | None = None  # without them everybody may


def open_place(options: ServeOptions) -> Place:
    """Listens at the address. Raises ConfigError for one that cannot be used."""
    assert options.http is not None, "only called with an address"
    allowed = security(options)
    tokens = None if options.tokens is None else load_tokens(options.tokens)
    return Place(listen(*options.http), allowed, tokens)


async def serve_http(server: Server[Any], engine: Engine, place: Place, options: ServeOptions) -> None:
    """Serves until it is cancelled; open requests then have a moment to end."""
    import uvicorn

    limits = options.http_limits

    listener = place.listener
    app = mcp_app(server, engine, place.security, options)
    if place.tokens is not None:
        app = TokenGuard(app, place.tokens, f"http://{shown_address(listener)}{PATH}", PATH)
    config = uvicorn.Config(
        Door(app, limits, options.max_message_bytes),
        http=bounded_protocol(limits),
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    http = quiet(uvicorn.Server)(config)
    serving = asyncio.create_task(http.serve(sockets=[listener]), name="codemode http")
    print(f"codemode: MCP at http://{shown_address(listener)}{PATH}", file=sys.stderr, flush=True)
    try:
        await asyncio.shield(serving)
    finally:
        http.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)


def security(options: ServeOptions) -> TransportSecuritySettings:
    """The accepted Host and Origin headers: a page in a browser must not reach this server by a name that its
    owner points here. Raises ConfigError if no Host header would be accepted."""
    from mcp.server.transport_security import TransportSecuritySettings

    assert options.http is not None, "only called with an address"
    hosts, origins = accepted_headers(options.http[0], options.allowed_hosts, options.allowed_origins)
    return TransportSecuritySettings(allowed_hosts=list(hosts), allowed_origins=list(origins))


def mcp_app(
    server: Server[Any], engine: Engine, allowed: TransportSecuritySettings, options: ServeOptions
) -> App:
    """The SDK's app, whose sessions take their runs with them."""
    app: App = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=allowed,
        max_request_body_size=options.max_message_bytes,
        max_sessions=options.http_limits.max_sessions,
    )
    return _ending_sessions(_watched(app), engine)


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


def quiet(base: type[Any]) -> type[Any]:
    """uvicorn's server without its signal handlers: those of serve/ end everything, not only HTTP."""

    class Quiet(base):
        @contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

    return Quiet
