"""How an engine calls its store: in threads of its own, or directly if the store is in its own memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from codemode.runs.caller_task import to_end

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")


class StoreLine:
    """Calls of one engine's store; of several threads each takes the next call."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    def open(self, threads: int) -> None:
        """Without this calls are made directly."""
        from concurrent.futures import ThreadPoolExecutor  # the store in memory needs no thread

        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="codemode-store")

    async def do(self, action: Callable[[], T]) -> T:
        if self._threads is None:
            return action()
        return await asyncio.get_running_loop().run_in_executor(self._threads, action)

    async def do_to_end(
        self, action: Callable[[], T], late: Callable[[T], Awaitable[object]] | None = None
    ) -> T:
        """The store goes on in its thread when the caller is cancelled, who waits for it, and for `late`."""
        return action() if self._threads is None else await to_end(self.do(action), late)

    async def close(self, last: Callable[[], None]) -> None:
        """`last` is done before the threads end."""
        try:
            await self.do(last)
        finally:
            threads, self._threads = self._threads, None
            if threads is not None:
                threads.shutdown(wait=True)
