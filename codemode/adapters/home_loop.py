"""Reaches the event loop in which an engine lives, from other loops and from threads without one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_OWN_THREAD = (
    "This was called in the thread of the engine's event loop, which would wait for itself: call it in "
    "another thread, or use the async way (ainvoke, astream)."
)


class HomeLoop:
    """The loop that was running when this was made. Work has the context variables of its caller."""

    def __init__(self) -> None:
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:  # tools that no engine prepared
            self._loop = None

    async def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits the work, in its own loop."""
        if self._loop is None or asyncio.get_running_loop() is self._loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def block(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for the work in a thread that has no loop to run it. Raises RuntimeError in the loop's own
        thread, and if the loop does not run."""
        loop = self._loop
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if loop is None or not loop.is_running() or running is loop:
            work.close()  # or Python would warn of a coroutine that was never awaited
            raise RuntimeError(
                _OWN_THREAD if running is loop and loop else "The engine's loop is not running."
            )
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise
