"""All MCP servers of an engine: opens and closes them with the engine, and lists their tools.

`version` counts the changes of that list, so that callers know when to rebuild what they made from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from codemode.config import ConfigError
from codemode.contract.report import McpServerStats
from codemode.executor.approvals import Ask
from codemode.mcp.changes import ToolChanges
from codemode.mcp.token_store import read_token_store
from codemode.tools import Tool

if TYPE_CHECKING:  # only engines with servers load it
    from codemode.mcp.callers import CallerLinks
    from codemode.mcp.credentials import Credentials
    from codemode.mcp.link import Link
    from codemode.mcp.oauth import Login, StoredLogin
    from codemode.mcp.servers import Http
    from codemode.mcp.token_store import TokenStore
    from codemode.otel.mcp_spans import McpSpans


class McpBridge:
    def __init__(
        self,
        given: object,
        ask: Ask,
        spans: McpSpans | None = None,
        credentials: Credentials | None = None,
        on_redefined: Callable[[str, Sequence[str]], None] | None = None,
        login: Login | None = None,
        tokens: object = None,
    ) -> None:
        """`given` is the configuration, or None. Raises ConfigError, also if the SDK is missing."""
        self.version = 0
        self._callers: list[CallerLinks] = []
        self._links: list[Link] = [] if given is None else self._make(given, ask, spans)
        if credentials is not None:
            self._divide(credentials, ask, spans)
        self.changes = ToolChanges(on_redefined)
        for link in self._links:
            link.on_redefined = self.changes.add
            link.login = partial(_log_in, link.server.name, read_token_store(tokens), login)
        self.has_servers = bool(self._links)
        self._tools: tuple[Tool, ...] | None = None

    def _make(self, given: object, ask: Ask, spans: McpSpans | None) -> list[Link]:
        from codemode.mcp.link import Link
        from codemode.mcp.servers import read_servers

        links = [Link(server, self._changed, ask, spans) for server in read_servers(given)]
        if links and find_spec("mcp") is None:
            raise ConfigError("mcp", 'needs the MCP SDK: pip install "codemode[mcp]".')
        return links

    def _divide(self, credentials: Credentials, ask: Ask, spans: McpSpans | None) -> None:
        """Each caller's calls go by a connection of their own; the list of tools is read by the engine's."""
        from codemode.mcp.callers import CallerLinks
        from codemode.mcp.credentials import ask_credentials
        from codemode.mcp.link import Link

        for link in self._links:
            callers = CallerLinks(link, credentials, lambda server: Link(server, _unheard, ask, spans))
            link.route = callers.find
            link.credentials = partial(ask_credentials, credentials, None, link.server.name)
            self._callers.append(callers)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(link.server.name for link in self._links)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Tools of all servers reached so far. A lost server keeps its tools: a call connects it again."""
        if self._tools is None:
            self._tools = tuple(tool for link in self._links for tool in link.tools)
        return self._tools

    async def open(self) -> None:
        """Returns when each eager server is connected or has failed; a failure does not stop the engine."""
        try:
            await self._attempt([link for link in self._links if link.server.is_eager])
        except asyncio.CancelledError:  # a caller that gives up on the start will not call close
            await self.close()
            raise

    async def prepare(self) -> None:
        """Call before a run: connects the lazy servers, which wait for the first run."""
        idle = [link for link in self._links if link.is_idle]
        if idle:
            await self._attempt(idle)

    async def close(self) -> None:
        await asyncio.gather(*(part.close() for part in (*self._links, *self._callers)))

    async def probe(self, patience_seconds: float) -> None:
        """Asks each server used so far for its tools; `health` then tells the outcome."""
        await asyncio.gather(*(link.probe(patience_seconds) for link in self._links if not link.is_idle))

    def health(self) -> list[dict[str, Any]]:
        return [
            {
                "server": link.server.name,
                "state": link.state.value,
                "reason": link.problem,
                "tools": len(link.tools),
                "dropped": link.counts.dropped,
                "refused": link.counts.refused,
                "disconnected": link.counts.disconnected,
            }
            for link in self._links
        ]

    def stats(self) -> list[McpServerStats]:
        return [
            McpServerStats(
                link.server.name, link.counts.dropped, link.counts.refused, link.counts.disconnected
            )
            for link in self._links
        ]

    async def _attempt(self, links: list[Link]) -> None:
        for link in links:
            link.start()
        await asyncio.gather(*(link.attempted() for link in links))

    def _changed(self) -> None:
        self.version += 1
        self._tools = None


async def _log_in(name: str, store: TokenStore, login: Login | None, http: Http) -> StoredLogin | None:
    from codemode.mcp.oauth import auth_for

    return await auth_for(name, http, store, login)


def _unheard() -> None:
    """The tools of a caller's connection are not offered: those of the engine's own are."""
