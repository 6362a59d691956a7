"""The connections of one server, one for each set of credentials that callers are given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from codemode.mcp.credentials import Credentials, McpCaller, ask_credentials, with_credentials
from codemode.mcp.link import Link
from codemode.mcp.servers import Server
from codemode.tools import CallContext

_MAX_CALLERS = 64  # connections of one server beside its own; above it the one that is idle for longest ends


class CallerLinks:
    """`find` for each call. `make` opens nothing: a link connects with its first call."""

    def __init__(self, own: Link, credentials: Credentials, make: Callable[[Server], Link]) -> None:
        self._own = own
        self._credentials = credentials
        self._make = make
        self._links: dict[tuple[tuple[str, str], ...], Link] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def find(self, context: CallContext) -> Link:
        """Raises McpError."""
        server = self._own.server
        given = await ask_credentials(self._credentials, McpCaller.of(context), server.name)
        if not given:
            return self._own
        key = tuple(sorted(given.items()))
        link = self._links.pop(key, None)
        if link is None:
            link = self._make(with_credentials(server, given))
            link.keep_secret(given)
        self._links[key] = link  # at the end: used last
        if len(self._links) > _MAX_CALLERS:
            self._let_one_go()
        return link

    def _let_one_go(self) -> None:
        for key, link in self._links.items():
            if not link.is_busy:
                del self._links[key]
                ending = asyncio.create_task(link.close(), name="codemode mcp caller ends")
                self._closing.add(ending)
                ending.add_done_callback(self._closing.discard)
                return

    async def close(self) -> None:
        links, self._links = list(self._links.values()), {}
        await asyncio.gather(*(link.close() for link in links), *self._closing)
