"""Logs in to one MCP server with a person's help, and says which logins there are. For the command line.

The server sends the person's browser to an address of this machine. A browser on another machine cannot reach
that: then the person copies the address of the page that does not load, and pastes it here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from codemode.config import ConfigError
from codemode.mcp.budget import Counts
from codemode.mcp.intake import Intake
from codemode.mcp.oauth import Login, StoredLogin
from codemode.mcp.requests import list_tools
from codemode.mcp.servers import Http, OAuth, Server
from codemode.mcp.token_store import TokenStore
from codemode.mcp.transports import open_http

_MAX_REQUEST_BYTES = 8 << 10
_PAGE = b"You are logged in. You can close this page."
_DONE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
    % (len(_PAGE), _PAGE)
)


async def log_in(server: Server, store: TokenStore, login: Login) -> int:
    """Connects, with the person's help if the server asks for it. Returns the number of its tools."""
    from mcp import Client

    http = server.transport
    if not isinstance(http, Http) or http.oauth is OAuth.OFF:
        raise ConfigError(server.name, "has no login: it is a command, or its oauth is off.")
    auth = StoredLogin(server.name, http, store, login)
    problems: list[object] = []
    intake = Intake(server.name, Counts(), lambda: None)
    async with Client(open_http(server.name, http, intake, problems.append, auth), cache=None) as client:
        return len(await list_tools(client, server.name))


@asynccontextmanager
async def listening(
    redirect_uri: str, show: Callable[[str, str], None], pasted: Callable[[], Awaitable[str]] | None
) -> AsyncGenerator[Login]:
    """A login that shows the URL and takes the answer from the browser, or from what is pasted."""
    place = urlsplit(redirect_uri)
    arrived: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = (await reader.readuntil(b"\r\n"))[:_MAX_REQUEST_BYTES].decode("latin-1").split(" ")
            if len(line) == 3 and urlsplit(line[1]).path == place.path and not arrived.done():
                writer.write(_DONE)
                await writer.drain()
                arrived.set_result(f"{place.scheme}://{place.netloc}{line[1]}")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        finally:
            writer.close()

    try:
        server = await asyncio.start_server(
            answer, place.hostname, place.port or 80, limit=_MAX_REQUEST_BYTES
        )
    except OSError:  # taken, or not ours: what is pasted still works
        server = None
    pasting: asyncio.Task[str] | None = None

    async def login(name: str, url: str) -> str:
        nonlocal pasting
        show(name, url)
        waiting: set[asyncio.Future[str]] = {arrived}
        if pasted is not None:
            pasting = asyncio.ensure_future(pasted())  # pyright: ignore[reportAssignmentType] - a coroutine
            waiting.add(pasting)
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()

    try:
        yield login
    finally:
        if pasting is not None:
            pasting.cancel()
        if server is not None:
            server.close()
