"""Answers what programs ask of the catalog: searches, descriptions, and why there is no such tool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, cast

import msgspec

from codemode.catalog import LARGE_CATALOG
from codemode.catalog.result_shapes import ResultShapes
from codemode.catalog.searches import Asker, Searches
from codemode.config import CodeModeConfig
from codemode.executor import CallFailed, CallOk, Via
from codemode.runs.run import Run
from codemode.runs.work import Work
from codemode.tools.threads import call_in_thread

_encode = msgspec.json.encode
VIA: dict[str, Via] = {"mcp": "mcp", "namespace": "namespace"}
Finish = Callable[[Run, Work, CallOk | CallFailed], None]
Spawn = Callable[[Run, Work, Coroutine[Any, Any, None], str], None]


class Lookups:
    """Part of the host work of an engine. `finish` ends a call; `spawn` runs a part of it in a task."""

    def __init__(
        self, config: CodeModeConfig, searches: Searches, shapes: ResultShapes, finish: Finish, spawn: Spawn
    ) -> None:
        self._config = config
        self._searches = searches
        self._shapes = shapes
        self._finish = finish
        self._spawn = spawn
        self._searching = asyncio.Lock()

    def describe(self, run: Run, work: Work) -> None:
        observed = partial(self._shapes.returns, run.scope.agent)
        found = run.environment.catalog.describe(work.target, observed)
        if found is None:
            self.unknown(run, work)
        else:
            self._finish(run, work, CallOk(_encode(found)))

    def search(self, run: Run, work: Work, arguments: list[Any]) -> None:
        query, options = (*arguments, None, None)[:2]
        fields = cast("dict[str, Any]", options) if isinstance(options, dict) else {}
        limit = fields.get("limit", self._config.search_default_limit)
        catalog = run.environment.catalog
        if not isinstance(limit, int | float) or isinstance(limit, bool):
            told = "limit must be a number: search(query, { limit: 8 })"
            self._finish(run, work, CallFailed("invalid_arguments", "InvalidArguments", told))
            return
        wanted = query if isinstance(query, str) else ""
        count = int(max(1, min(limit, self._config.max_search_limit)))
        if limit > count:
            run.active.meter.note_clamped(f"tools.search gives at most {count} entries")
        asker = Asker(run.scope.agent, run.scope.session, run.id)
        if self._searches.is_quick(catalog):
            found = self._searches.find_now(catalog, wanted, count, asker)
            self._finish(run, work, CallOk(_encode(found)))
        else:
            step = self._search_apart(run, work, self._searches.find(catalog, wanted, count, asker))
            self._spawn(run, work, step, "search")

    async def _search_apart(
        self, run: Run, work: Work, search: Coroutine[Any, Any, list[dict[str, Any]]]
    ) -> None:
        self._finish(run, work, CallOk(_encode(await search)))

    def unknown(self, run: Run, work: Work) -> None:
        """Looks for the nearest names, in a large catalog off the event loop."""
        if len(run.environment.catalog) > LARGE_CATALOG:
            self._spawn(run, work, self._find_nearest(run, work), "nearest")
        else:
            self._finish(run, work, _unknown(run, work))

    async def _find_nearest(self, run: Run, work: Work) -> None:
        async with self._searching:
            failure = await call_in_thread("nearest", partial(_unknown, run, work))
        self._finish(run, work, failure)


def _unknown(run: Run, work: Work) -> CallFailed:
    return run.environment.executor.unknown(work.target, VIA.get(work.method, "tools"))
