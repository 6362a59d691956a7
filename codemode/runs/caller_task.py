"""A leg runs in the task of whoever asked for it: a task of its own would cost two turns of the event loop.

So others end it by cancelling that task, and take the cancellation back when the leg is over, as
`asyncio.timeout` does. Whoever really cancels it may do so again and again: anyio does, at each await, until
the task has ended. What has to be tidied up is therefore done by a task of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable


class CallerTask:
    """Of one leg; made in its task as it begins. `end` must be called there when it is over."""

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "not in a task"
        self._task = task
        self._cancelled_before = task.cancelling()
        self._is_stopped = False
        self._over: asyncio.Event | None = None

    @property
    def is_only_stopped(self) -> bool:
        """Nobody but `stop` has cancelled the task, so it goes on after the leg."""
        return self._is_stopped and self._task.cancelling() <= self._cancelled_before + 1

    async def stop(self) -> None:
        """For others: cancels the leg, once, and returns when it is over."""
        if self._over is None:
            self._over = asyncio.Event()
            self._is_stopped = True
            self._task.cancel()
        await self._over.wait()

    def end(self) -> None:
        if self._over is not None:
            self._task.uncancel()
            self._over.set()


async def finish_despite_cancel(work: Awaitable[object]) -> bool:
    """Returns when the work is done, however often the caller is cancelled; whether it was."""
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
