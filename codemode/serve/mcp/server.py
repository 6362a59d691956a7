"""`codemode serve --mcp`: an MCP server with exactly `exec` and `wait`, in front of all tools of an engine.

It serves one client over stdio, or many over streamable HTTP, each with runs of its own.
"""

from __future__ import annotations

import secrets
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import codemode
from codemode.config import ConfigError
from codemode.serve.lifecycle import ended_by_signals, open_engine, until_either
from codemode.serve.mcp.asking import ApprovalTexts
from codemode.serve.mcp.front import Front
from codemode.serve.mcp.task_methods import add_task_methods
from codemode.serve.options import ServeOptions
from codemode.serve.pipes import standard_lines

if TYPE_CHECKING:  # half a second to load, and only there with codemode[mcp]
    from mcp.server.lowlevel import Server

_NAME = "codemode"
_INSTRUCTIONS = """\
All tools of this server are reached by programs: write JavaScript or TypeScript for `exec`, which says how. \
If a result has the status "waiting", call `wait` with its runId."""


async def serve_mcp(options: ServeOptions) -> int:
    """Returns the exit code: 0 if the client or a signal ended it. Raises ConfigError before it serves."""
    if find_spec("mcp") is None:
        raise ConfigError("mcp", 'serving MCP needs its SDK: pip install "codemode[mcp]".')
    with ended_by_signals() as ended:
        await until_either(_over_stdio(options) if options.http is None else _over_http(options), ended)
    return 0


async def _over_stdio(options: ServeOptions) -> None:
    from codemode.serve.mcp.stdio import serve_pipes

    async with standard_lines(options.max_message_bytes) as (lines, out):
        asked = ApprovalTexts(options.engine.get("approve"))
        async with open_engine({**options.engine, "approve": asked.approve}) as engine:
            front = Front(engine, asked, options.session)
            await serve_pipes(make_server(front, engine.config.snapshot_ttl_seconds), lines, out)


async def _over_http(options: ServeOptions) -> None:
    from codemode.serve.mcp.http import open_place, serve_http

    place = open_place(options)
    asked = ApprovalTexts(options.engine.get("approve"))
    with place.listener:
        async with open_engine({**options.engine, "approve": asked.approve}) as engine:
            server = make_server(Front(engine, asked), engine.config.snapshot_ttl_seconds)
            await serve_http(server, engine, place, options)


def make_server(front: Front, ttl_seconds: float) -> Server[Any]:
    """Makes the SDK's server. A client has `ttl_seconds` to answer a question.

    What a client sends back with its answers is sealed together with its session: from another session it is
    refused like one that nobody has sealed.
    """
    from mcp.server.lowlevel import Server
    from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

    server: Server[Any] = Server(
        _NAME,
        version=codemode.__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=front.list_tools,
        on_call_tool=front.call_tool,
    )
    add_task_methods(server, front)
    sealed = RequestStateSecurity(
        keys=[secrets.token_bytes(32)], ttl=ttl_seconds, bind_principal=front.session_of
    )
    server.middleware.append(RequestStateBoundary(sealed, default_audience=_NAME))
    return server
