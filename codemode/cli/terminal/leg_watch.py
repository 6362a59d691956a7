"""Watches one leg of a run: prints output in its order, draws the tree, knows which calls have ended.

A listener that is too slow may lose events. The result has all of the output, so what was not printed before
the leg ended is printed then.
"""

from __future__ import annotations

import asyncio
from typing import Any

from codemode.cli.terminal.live_tree import TICK_SECONDS, LiveTree
from codemode.cli.terminal.screen import Screen
from codemode.contract import events
from codemode.contract.results import CodeModeResult
from codemode.contract.scope import Scope
from codemode.engine import Engine


class LegWatch:
    """Use as `async with` around a leg and the pause after it; watches one run at a time."""

    def __init__(self, engine: Engine, screen: Screen, tree: LiveTree, scope: Scope, *, prints: bool) -> None:
        self.run_id = ""
        self._engine = engine
        self._screen = screen
        self._tree = tree
        self._scope = scope
        self._prints = prints
        self._finished: set[str] = set()
        self._printed = 0
        self._is_behind = False
        self._has_ended = False
        self._news = asyncio.Event()
        self._events = engine.events()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> LegWatch:
        self._tasks = [asyncio.create_task(self._read(), name="codemode cli events")]
        if self._screen.live:
            self._tasks.append(asyncio.create_task(self._draw(), name="codemode cli tree"))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._events.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def end(self, result: CodeModeResult) -> None:
        """The leg is over: prints the output that was not printed yet."""
        self._has_ended = True
        if self._prints:
            for item in result.output[self._printed :]:
                self._screen.item(item)

    async def has_news(self, calls: set[str], seconds: float) -> bool:
        """Waits until one of these calls has ended, at most this long; returns whether one has."""
        try:
            async with asyncio.timeout(seconds):
                while not (calls & self._finished or self._is_behind):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return False
        return True

    async def show_tree(self, *, is_over: bool = False) -> None:
        if not self._screen.live:
            return
        found = await self._engine.trajectory(self.run_id, scope=self._scope) if self.run_id else None
        if found is not None:
            self._tree.show(found, is_over=is_over)
        elif is_over:
            self._screen.clear()

    async def _read(self) -> None:
        async for event in self._events:
            self._take(event)

    async def _draw(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            await self.show_tree()

    def _take(self, event: events.Event) -> None:
        self._is_behind = self._is_behind or self._events.dropped > 0
        self.run_id = self.run_id or event.run_id  # of a late loop it is empty
        match event:
            case events.OutputAdded() if self._prints and not (self._is_behind or self._has_ended):
                self._printed += 1
                self._screen.item(event.item)
            case events.CallUpdated():
                self._tree.update(event.call_id, event.tool, event.progress)
            case events.CallFinished():
                self._finished.add(event.call_id)
                self._tree.updates.pop(event.call_id, None)
            case events.RunFinished():
                self._finished.add("")  # what the watch still waits for will not come
            case _:
                pass
        self._news.set()


def call_ids(pending: tuple[Any, ...]) -> set[str]:
    """The ids of the pending calls, and "" for the end of the run."""
    return {"", *(call.id for call in pending)}
