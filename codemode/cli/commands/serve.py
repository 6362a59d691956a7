"""`codemode serve`: offers the engine to other programs. The protocols are in codemode/serve/."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import fields
from typing import TYPE_CHECKING

from codemode.cli.engine_options import add_engine_arguments, engine_arguments
from codemode.cli.errors import CommandError

if TYPE_CHECKING:
    from codemode.serve.options import ServeOptions

DESCRIPTION = """\
Offers the engine to other programs: with --http as a server with a JSON API, events, MCP at
/mcp and a console; with --mcp as an MCP server over stdio, or over HTTP alone with --http;
with --stdio as JSON-RPC, one message a line. MCP servers whose tools programs may call are
given with --servers, because --mcp is what is spoken here."""
EXAMPLES = """\
  codemode serve --http 127.0.0.1:8000 --tokens tokens.json --tools shop.py:tools
  codemode serve --mcp --tools shop.py:tools
  codemode serve --mcp --http 127.0.0.1:8000 --servers servers.json
  codemode serve --stdio --tools shop.py:tools --store runs.sqlite
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    spoken = parser.add_mutually_exclusive_group()
    spoken.add_argument("--mcp", dest="speaks", action="store_const", const="mcp", help="an MCP server")
    spoken.add_argument("--stdio", dest="speaks", action="store_const", const="stdio", help="JSON-RPC")
    add_serving_arguments(parser)


def add_serving_arguments(parser: argparse.ArgumentParser) -> None:
    """How it is served, and the engine: also for `wrap`, which only speaks MCP."""
    parser.add_argument(
        "--session", metavar="NAME", help="with --mcp on stdio: the same name finds its runs in a store again"
    )
    http = parser.add_argument_group("over HTTP")
    http.add_argument(
        "--http", type=_address, metavar="HOST:PORT", help="listen there; with --mcp for MCP clients only"
    )
    http.add_argument("--tokens", metavar="FILE", help="who may do what: made by `codemode tokens new`")
    http.add_argument("--no-tokens", action="store_true", help="on this machine: everybody may do everything")
    http.add_argument(
        "--record",
        choices=("shapes", "values"),
        default="shapes",
        help="what is kept of programs, calls and results in trajectories and the history (shapes)",
    )
    http.add_argument(
        "--allow-host", action="append", default=[], metavar="HOST:PORT", help="a Host header to accept"
    )
    http.add_argument(
        "--allow-origin", action="append", default=[], metavar="URL", help="a browser's Origin to accept"
    )
    http.add_argument(
        "--max-connections", type=_number, metavar="N", help="connections at once over HTTP (1000)"
    )
    http.add_argument(
        "--max-sessions", type=_number, metavar="N", help="sessions of clients before 2026 at once (1000)"
    )
    http.add_argument(
        "--max-message-bytes",
        type=_number,
        metavar="N",
        help="bytes of one message to this server (16777216)",
    )
    http.add_argument(
        "--max-bodies-bytes", type=_number, metavar="N", help="bytes of all requests at once (67108864)"
    )
    http.add_argument("--head-seconds", type=_number, metavar="N", help="time for the head of a request (10)")
    http.add_argument("--body-seconds", type=_number, metavar="N", help="time for its body (30)")
    http.add_argument("--max-streams", type=_number, metavar="N", help="event streams at once (512)")
    http.add_argument(
        "--grace-seconds", type=_number, metavar="N", help="after a signal, for what is under way (10)"
    )
    add_engine_arguments(parser, servers=("--servers", "--mcp-config"))


def run(options: argparse.Namespace) -> int:
    speaks = options.speaks or ("http" if options.http is not None else None)
    if speaks is None:
        raise CommandError("say what is spoken: --http HOST:PORT, --mcp or --stdio")
    if options.http is not None and speaks == "stdio":
        raise CommandError("--http does not go with --stdio: one of them is spoken")
    if options.no_tokens and speaks != "http":
        raise CommandError("--no-tokens goes with --http alone: without --tokens, --mcp needs none")
    if options.tokens is not None and options.http is None:
        raise CommandError("--tokens goes with --http HOST:PORT")
    from codemode.cli.engine_session import explained, on_stderr
    from codemode.cli.terminal.screen import Screen
    from codemode.serve.options import MAX_MESSAGE_BYTES, HttpLimits, ServeOptions

    wrapped = getattr(options, "wrapped", None)
    if wrapped is not None and options.servers is not None:
        raise CommandError(
            "--servers: name the file itself, `codemode wrap FILE`, or use `codemode serve --mcp`"
        )
    given = {field.name: getattr(options, field.name) for field in fields(HttpLimits)}
    with on_stderr(Screen()), explained():
        told = ServeOptions(
            engine=engine_arguments(options)
            | ({} if wrapped is None else {"mcp": wrapped})
            | ({"redact": False} if options.record == "values" else {}),
            http=options.http,
            allowed_hosts=tuple(options.allow_host),
            allowed_origins=tuple(options.allow_origin),
            http_limits=HttpLimits(**{name: value for name, value in given.items() if value is not None}),
            tokens=options.tokens,
            no_tokens=options.no_tokens,
            session=options.session,
            max_message_bytes=options.max_message_bytes or MAX_MESSAGE_BYTES,
        )
        return asyncio.run(_serve(speaks, told))


async def _serve(speaks: str, told: ServeOptions) -> int:
    """Loads only the protocol that is spoken."""
    if speaks == "mcp":
        from codemode.serve.mcp.server import serve_mcp

        return await serve_mcp(told)
    if speaks == "http":
        from codemode.serve.http.server import serve_http_api

        return await serve_http_api(told)
    from codemode.serve.json_rpc.server import serve_stdio

    return await serve_stdio(told)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:8000")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1 << 40:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)
