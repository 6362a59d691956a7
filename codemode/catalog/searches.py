"""Carries out searches: codemode's ranking, what the agent's searches led to before, and a host's ranker."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from msgspec import Struct

from codemode.catalog.catalog import LARGE_CATALOG, Catalog
from codemode.catalog.search_memory import SearchMemory
from codemode.tools import Tool
from codemode.tools.threads import call_in_thread

_log = logging.getLogger("codemode.catalog")

_MAX_RANKED = 50
_RANKER_SECONDS = 5.0


class SearchRequest(Struct, frozen=True):
    """What a ranker is asked."""

    query: str
    limit: int
    agent: str
    session: str
    tools: tuple[Tool, ...]
    """All tools that the program may find: after policy, sorted by id."""
    found: tuple[str, ...]
    """Ids, as codemode itself would rank them; at most fifty."""


Ranker = Callable[[SearchRequest], Iterable[str] | Awaitable[Iterable[str]]]
"""Gives the ids of the best tools, best first, for example by embeddings. Ids of tools that are not in the
request are dropped. codemode's own ranking fills up what is missing, also if the ranker fails or takes over
five seconds."""


class Asker(Struct, frozen=True):
    agent: str
    session: str
    run_id: str


class Searches:
    """One per engine."""

    def __init__(self, ranker: Ranker | None = None) -> None:
        self.memory = SearchMemory()
        self._ranker = ranker
        self._searching = asyncio.Lock()

    def is_quick(self, catalog: Catalog) -> bool:
        """Whether `find_now` may be used: a large catalog is searched off the loop, a ranker is awaited."""
        return self._ranker is None and len(catalog) <= LARGE_CATALOG

    def find_now(self, catalog: Catalog, query: str, limit: int, asker: Asker) -> list[dict[str, Any]]:
        learned = self.memory.learned(asker.agent, query)
        self.memory.searched(asker.agent, asker.run_id, query)
        return catalog.entries(catalog.hits(query, limit, learned))

    async def find(self, catalog: Catalog, query: str, limit: int, asker: Asker) -> list[dict[str, Any]]:
        count = limit if self._ranker is None else max(limit, _MAX_RANKED)
        search = partial(catalog.hits, query, count, self.memory.learned(asker.agent, query))
        self.memory.searched(asker.agent, asker.run_id, query)
        if len(catalog) > LARGE_CATALOG:
            # one search at a time: the first builds the index, the others find it built
            async with self._searching:
                found = await call_in_thread("search", search)
        else:
            found = search()
        if self._ranker is not None and query.strip():
            found = await self._ranked(self._ranker, catalog, query, limit, asker, found)
        return catalog.entries(found[:limit])

    async def _ranked(
        self, ranker: Ranker, catalog: Catalog, query: str, limit: int, asker: Asker, found: list[Tool]
    ) -> list[Tool]:
        own = tuple(tool.id for tool in found[:_MAX_RANKED])
        request = SearchRequest(query, limit, asker.agent, asker.session, tuple(catalog.searched), own)
        try:
            answer = ranker(request)
            if inspect.isawaitable(answer):
                answer = await asyncio.wait_for(answer, _RANKER_SECONDS)
            by_id = {tool.id: tool for tool in request.tools}
            ranked = [by_id[tool_id] for tool_id in list(answer)[:_MAX_RANKED] if tool_id in by_id]
        except Exception:
            _log.warning("the ranker failed; the tools are ranked without it", exc_info=True)
            return found
        return list({tool.id: tool for tool in [*ranked, *found]}.values())
