"""All MCP servers of an engine: opened with it, closed with it, their tools as one list.

`version` counts the changes of that list, so that whoever made something of it knows when to make it anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

from codemode.bridges.mcp_link import Link, State
from codemode.bridges.questions import Ask
from codemode.bridges.servers import Server
from codemode.config import ConfigError
from codemode.tools import Tool


class McpBridge:
    def __init__(self, servers: Iterable[Server], ask: Ask) -> None:
        """Raises ConfigError if there are servers and no SDK to talk to them."""
        self.version = 0
        self._links = [Link(server, self._changed, ask) for server in servers]
        self._tools: tuple[Tool, ...] | None = None
        if self._links and find_spec("mcp") is None:
            raise ConfigError("mcp", 'needs the MCP SDK: pip install "codemode[mcp]".')

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(link.server.name for link in self._links)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Of all servers that have been reached. Those of a lost one stay: a call connects it again."""
        if self._tools is None:
            self._tools = tuple(tool for link in self._links for tool in link.tools)
        return self._tools

    async def open(self) -> None:
        """Returns when each eager server is connected or could not be; neither stops the engine."""
        await self._attempt([link for link in self._links if link.server.is_eager])

    async def prepare(self) -> None:
        """Before a run: the lazy ones are connected for the first that comes."""
        if any(link.state is State.IDLE for link in self._links):
            await self._attempt([link for link in self._links if link.state is State.IDLE])

    async def close(self) -> None:
        await asyncio.gather(*(link.close() for link in self._links))

    def add_health(self, health: dict[str, Any]) -> dict[str, Any]:
        """A server that cannot be reached degrades the engine; it never makes it unavailable."""
        if not self._links or health["status"] == "unavailable":
            return health
        reasons = [f"MCP server {link.server.name}: {link.problem}" for link in self._links if link.problem]
        status = "degraded" if reasons else health["status"]
        return {**health, "status": status, "reasons": [*health["reasons"], *reasons], "mcp": self.health()}

    def health(self) -> list[dict[str, Any]]:
        return [
            {
                "server": link.server.name,
                "state": link.state.value,
                "reason": link.problem,
                "tools": len(link.tools),
            }
            for link in self._links
        ]

    async def _attempt(self, links: list[Link]) -> None:
        for link in links:
            link.start()
        await asyncio.gather(*(link.attempted() for link in links))

    def _changed(self) -> None:
        self.version += 1
        self._tools = None
