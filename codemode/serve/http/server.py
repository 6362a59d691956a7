"""`codemode serve --http`: one engine behind the API, MCP, console and metrics, until a signal ends it."""

from __future__ import annotations

import asyncio
import sys
from importlib.util import find_spec
from typing import Any

from codemode.config import ConfigError
from codemode.engine import Engine
from codemode.serve.address import accepted_headers, is_local, listen, shown_address
from codemode.serve.http.errors import error_body
from codemode.serve.lifecycle import ended_by_signals, open_engine
from codemode.serve.mcp.asking import ApprovalTexts
from codemode.serve.options import ServeOptions
from codemode.serve.tokens import Tokens, load_tokens

_MAX_HEAD_BYTES = 64 << 10
_KEEP_ALIVE_SECONDS = 75  # longer than clients and proxies keep one: whoever closes it first should be they


async def serve_http_api(options: ServeOptions) -> int:
    """Returns the exit code. Raises ConfigError before it serves."""
    for module in ("starlette", "uvicorn"):
        if find_spec(module) is None:
            raise ConfigError("http", 'serving HTTP needs more: pip install "codemode[http]".')
    assert options.http is not None, "only called with an address"
    tokens = _tokens(options)
    hosts, origins = accepted_headers(options.http[0], options.allowed_hosts, options.allowed_origins)
    listener = listen(*options.http)
    asked = ApprovalTexts(options.engine.get("approve"))
    with ended_by_signals() as ended, listener:
        async with open_engine({**options.engine, "approve": asked.approve}) as engine:
            served = _Served(engine, asked, options, tokens, hosts, origins)
            await served.until(ended, listener)
    return 0


def _tokens(options: ServeOptions) -> Tokens | None:
    """None where none are needed. Raises ConfigError: who reaches the server could do everything."""
    assert options.http is not None, "only called with an address"
    host = options.http[0]
    if options.no_tokens:
        if options.tokens is not None:
            raise ConfigError("no-tokens", "does not go with --tokens.")
        if not is_local(host):
            raise ConfigError("no-tokens", f"is only for this machine: {host} is reached from others.")
        return None
    found = load_tokens(options.tokens)
    if not len(found):
        raise ConfigError(
            "tokens",
            "there are none, so nobody could use the server: make one with `codemode tokens new NAME --file"
            " tokens.json` and give --tokens tokens.json; on this machine --no-tokens lets everybody in.",
        )
    return found


class _Served:
    def __init__(
        self,
        engine: Engine,
        asked: ApprovalTexts,
        options: ServeOptions,
        tokens: Tokens | None,
        hosts: tuple[str, ...],
        origins: tuple[str, ...],
    ) -> None:
        import uvicorn

        from codemode.serve.http.app import HttpApi
        from codemode.serve.http.files import ConsoleFiles
        from codemode.serve.http.gate import Gate
        from codemode.serve.http.state import ServerState
        from codemode.serve.mcp.connections import bounded_protocol
        from codemode.serve.mcp.door import Door
        from codemode.serve.mcp.http import quiet

        limits, files = options.http_limits, ConsoleFiles()
        self._engine = engine
        self._grace = limits.grace_seconds
        self.state = ServerState(limits.max_streams, limits.max_connections)
        mcp = _mcp_app(engine, asked, options, hosts, origins)
        self._api = HttpApi(engine, self.state, files, mcp)
        gate = Gate(self._api.app, tokens, hosts, origins, files.paths)
        self._api.gate = gate
        self._has = (mcp is not None, "/" in files.paths)
        config = uvicorn.Config(
            Door(gate, limits, options.max_message_bytes, error_body),
            http=bounded_protocol(limits, error_body),
            log_config=None,
            access_log=False,
            lifespan="on",
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
            timeout_graceful_shutdown=2,
        )
        self._http = quiet(uvicorn.Server)(config)

    async def until(self, ended: asyncio.Event, listener: Any) -> None:
        """Serves until the event is set; what is under way then has its time."""
        serving = asyncio.create_task(self._http.serve(sockets=[listener]), name="codemode http")
        ending = asyncio.create_task(ended.wait())
        self._tell(shown_address(listener))
        try:
            await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
            self.state.drain()
            self._api.journal.close()  # streams end, and their clients go elsewhere
            await asyncio.gather(self.state.until_idle(self._grace), self._engine.drain(timeout=self._grace))
        finally:
            self._http.should_exit = True
            ending.cancel()
            await asyncio.gather(serving, ending, return_exceptions=True)

    def _tell(self, address: str) -> None:
        has_mcp, has_console = self._has
        parts = [f"API at http://{address}/v1"]
        parts += [f"MCP at http://{address}/mcp"] if has_mcp else []
        parts += [f"console at http://{address}/"] if has_console else []
        print(f"codemode: {', '.join(parts)}", file=sys.stderr, flush=True)


def _mcp_app(
    engine: Engine,
    asked: ApprovalTexts,
    options: ServeOptions,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
) -> Any:
    if find_spec("mcp") is None:
        return None
    from mcp.server.transport_security import TransportSecuritySettings

    from codemode.serve.mcp.front import Front
    from codemode.serve.mcp.http import mcp_app
    from codemode.serve.mcp.server import make_server

    security = TransportSecuritySettings(allowed_hosts=list(hosts), allowed_origins=list(origins))
    server = make_server(Front(engine, asked), engine.config.snapshot_ttl_seconds)
    return mcp_app(server, engine, security, options)
