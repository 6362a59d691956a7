"""The task that leads a leg. It is the caller's: a task of its own would cost two turns of the loop.

So other tasks end a leg of exec by cancelling that task, and take the cancellation back when the leg is over,
as `asyncio.timeout` does; a leg of wait can be cancelled apart from its task (movable.py). A cancellation of
the caller may come again and again: anyio cancels at each await until the task has ended. Clean-up is
therefore done in a task of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from codemode.runs.movable import Movable

T = TypeVar("T")


class CallerTask:
    """The task that leads one leg, or the work that it does. Call `end` when the leg is over."""

    def __init__(self, task: asyncio.Task[Any] | Movable[Any]) -> None:
        self._task = task
        self._cancelled_before = task.cancelling()
        self._is_stopped = False
        self._over: asyncio.Event | None = None
        self.keeps = False  # the task is cancelled, but the run stays as it was
        self.is_alone = False  # the caller is gone, so the task need not wait for news

    @classmethod
    def running(cls) -> CallerTask:
        """The task that calls this."""
        task = asyncio.current_task()
        assert task is not None, "not in a task"
        return cls(task)

    @property
    def is_only_stopped(self) -> bool:
        """Only `stop` has cancelled the task, so the task goes on after the leg."""
        return self._is_stopped and self._task.cancelling() <= self._cancelled_before + 1

    async def stop(self) -> None:
        """Other tasks call this: cancels the leg, once, and returns when it is over."""
        if self._over is None:
            self._over = asyncio.Event()
            self._is_stopped = True
            self._task.cancel()
        await self._over.wait()

    def leave(self) -> None:
        """Cancels a wait that has not touched its run."""
        self.keeps = True
        self._task.cancel()

    def end(self) -> None:
        if self._over is not None:
            self._task.uncancel()
            self._over.set()


async def finish_despite_cancel(work: Awaitable[object]) -> bool:
    """Returns when the work is done, however often the caller is cancelled; True if it was cancelled."""
    task = asyncio.ensure_future(work)
    was_cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            was_cancelled = True
    task.result()
    return was_cancelled


async def to_end(work: Awaitable[T], late: Callable[[T], Awaitable[object]] | None = None) -> T:
    """Returns what the work returns. A caller who is cancelled waits until it is done, and `late` with its
    result: then nobody has that result."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with suppress(Exception):  # the caller hears of the cancellation
            await finish_despite_cancel(task)
            if late is not None:
                await finish_despite_cancel(late(task.result()))
        raise
