"""`codemode mcp`: logging in to MCP servers, and out."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from typing import cast

from codemode.cli.errors import CommandError

DESCRIPTION = """\
Logs in to MCP servers over HTTP that want it, for engines and commands of this user. Without a
browser on this machine, open the URL anywhere and paste the address that you were sent to."""
EXAMPLES = """\
  codemode mcp login github --servers servers.json
  codemode mcp login https://example.com/mcp
  codemode mcp status
  codemode mcp logout github --servers servers.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("login", "logout", "status"))
    parser.add_argument("server", nargs="?", metavar="SERVER", help="its name in --servers, or its URL")
    parser.add_argument("--servers", metavar="FILE", help="MCP servers: a file with mcpServers")
    parser.add_argument("--tokens", metavar="FILE", help="where logins are kept, a private file")
    parser.add_argument("--scope", metavar="SCOPES", help="login: ask for these, separated by blanks")
    parser.add_argument("--no-browser", action="store_true", help="login: only show the URL")


def run(options: argparse.Namespace) -> int:
    from codemode.cli.engine_session import explained
    from codemode.mcp.token_store import TokenFile

    with explained():
        store = TokenFile(options.tokens)
        match options.action:
            case "status":
                return _status(store.read(), _servers(options))
            case "logout":
                return asyncio.run(_log_out(store, _url(options)))
            case _:
                return asyncio.run(_log_in(store, options))


def _status(kept: dict[str, str], servers: dict[str, str]) -> int:
    names = {url: name for name, url in servers.items()}
    for url in sorted({*kept, *names}):
        told = "logged in" if '"tokens"' in kept.get(url, "") else "not logged in"
        print(f"{names.get(url, '-'):20} {told:14} {url}")
    if not kept and not names:
        print("no logins")
    return 0


async def _log_out(store: object, url: str) -> int:
    from codemode.mcp.token_store import TokenFile

    assert isinstance(store, TokenFile)
    known = await store.load(url) is not None
    await store.save(url, None)
    print("logged out" if known else "there was no login")
    return 0


async def _log_in(store: object, options: argparse.Namespace) -> int:
    from dataclasses import replace

    from codemode.mcp.logging_in import listening, log_in
    from codemode.mcp.results import McpError
    from codemode.mcp.servers import Http, Server, read_servers
    from codemode.mcp.token_store import TokenFile

    assert isinstance(store, TokenFile)
    url = _url(options)
    listed = read_servers(options.servers) if options.servers else ()
    server = next((one for one in listed if one.name == options.server), Server(options.server, Http(url)))
    http = server.transport
    if not isinstance(http, Http):
        raise CommandError(f"{options.server} is a command: it has no login")
    if options.scope:
        http = replace(http, oauth=replace(http.oauth, scope=options.scope))
        server = replace(server, transport=http)

    def show(name: str, address: str) -> None:
        print(f"To log in to {name}, open:\n\n  {address}\n", flush=True)
        print("Then come back; or paste the address that you were sent to, here:", flush=True)
        if not options.no_browser:
            import webbrowser

            with contextlib.suppress(webbrowser.Error):
                webbrowser.open(address)

    try:
        async with listening(http.oauth.redirect_uri, show, _pasted) as login:
            count = await log_in(server, store, login)
    except Exception as problem:
        raise CommandError(f"the login failed: {_reason(problem, McpError)}") from None
    print(f"logged in: {server.name} has {count} tools")
    return 0


async def _pasted() -> str:
    """A line of standard input, read without a thread that could outlive the command."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := (await reader.readline()).decode(errors="replace").strip():
        if "code=" in line or "error=" in line:
            return line
        print("That is not it: paste the whole address, with code= in it.", flush=True)
    await asyncio.Event().wait()  # input has ended: the browser may still come
    raise AssertionError


def _servers(options: argparse.Namespace) -> dict[str, str]:
    from codemode.mcp.servers import Http, read_servers

    listed = read_servers(options.servers) if options.servers else ()
    return {one.name: one.transport.url for one in listed if isinstance(one.transport, Http)}


def _url(options: argparse.Namespace) -> str:
    if not options.server:
        raise CommandError(f"{options.action} needs a SERVER: its URL, or its name in --servers FILE")
    if options.server.startswith(("http://", "https://")):
        return options.server
    known = _servers(options)
    if options.server not in known:
        raise CommandError(
            f"there is no server {options.server} over HTTP in {options.servers or '--servers FILE'}"
        )
    return known[options.server]


def _reason(problem: BaseException, told: type[Exception]) -> str:
    """The first exception of a group, without what may be a secret."""
    first = problem
    while isinstance(first, BaseExceptionGroup):
        first = cast("BaseExceptionGroup[BaseException]", first).exceptions[0]
    text = str(first).splitlines()[0] if str(first) else ""
    is_ours = isinstance(first, told) or type(first).__module__.startswith(("mcp.", "codemode."))
    return text[:300] if is_ours else type(first).__name__
