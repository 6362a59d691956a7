"""A thread with its own event loop, which does the work of blocking callers that have no loop.

Any number of threads may give it work and wait. Its own thread gets an error instead, because it would wait
for ever. The blocking front of the engine uses it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from codemode.executor.calling import GRACE_SECONDS

T = TypeVar("T")

NOT_RUNNING = "This engine is not running: use it in a `with` block, or between start() and close()."
_OWN_THREAD = (
    "This was called in the engine's own thread, by an async tool, a hook or a handler: waiting here would "
    "stop the very loop that has to answer. Make it a plain function, which gets a thread of its own, or "
    "await the same method of `.engine`."
)


_OTHER_PROCESS = (
    "This engine was started before the process forked: its thread and its workers belong to the parent. "
    "Make an engine of its own in the child, after the fork."
)


class LoopThread:
    """Starts once and stops once. Work runs with the context variables of the thread that gave it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # no thread may give work to a loop that stops
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._under_way: set[Future[Any]] = set()
        self._is_over = asyncio.Event()
        self._pid = 0  # of the process that has the thread; 0 before the start

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The thread's loop; None before the start and after the end."""
        return self._loop

    @property
    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    @property
    def is_elsewhere(self) -> bool:
        """In a child that was forked since the start: only the parent has the thread."""
        return self._pid not in (0, os.getpid())

    def refuse_itself(self) -> None:
        """Raises RuntimeError in the loop's own thread, and in a process that was forked since the start.

        Call it before anything that blocks, even a lock: at the fork another thread may have held that.
        """
        if self.is_elsewhere:
            raise RuntimeError(_OTHER_PROCESS)
        if self.is_current:
            raise RuntimeError(_OWN_THREAD)

    def require_start(self) -> None:
        """Raises RuntimeError before the start, but not after the end: a closed engine can still answer."""
        if self._thread is None:
            raise RuntimeError(NOT_RUNNING)

    def start(self) -> None:
        with self._lock:
            if self._thread is not None:
                raise RuntimeError("This engine was started before: make a new one.")
            self._pid = os.getpid()
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._live, args=(self._loop,), name="codemode", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Stops the thread. Callers that still wait get their result, if it comes within the grace."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            wait(list(self._under_way), GRACE_SECONDS)
            loop.call_soon_threadsafe(self._is_over.set)
        if self._thread is not None:
            self._thread.join()

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._loop is None:
                return _answered_at_once(work)
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        return future

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for the work; an interrupt cancels it. Raises RuntimeError in the loop's own thread."""
        try:
            self.refuse_itself()
        except RuntimeError:
            work.close()  # or Python would warn of a coroutine that was never awaited
            raise
        future = self.begin(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def look(self, function: Callable[[], T]) -> T:
        """Calls a function in the loop, from any thread. Nothing changes meanwhile; it must not wait."""
        if self.is_current:
            return function()

        async def looking() -> T:
            return function()

        return self.do(looking())

    def _live(self, loop: asyncio.AbstractEventLoop) -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(self._is_over.wait())


def _answered_at_once(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Runs the work without a loop: an engine that is not open answers before its first await."""
    future: Future[T] = Future()
    try:
        work.send(None)
    except StopIteration as done:
        future.set_result(done.value)
    except Exception as error:
        future.set_exception(error)
    else:
        work.close()
        future.set_exception(RuntimeError(NOT_RUNNING))
    return future
