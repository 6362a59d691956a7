"""Work that its caller's task does, and that moves to a task of its own when the caller is cancelled.

A task for each wait would cost two turns of the event loop, a quarter of a quick wait. So the caller's task
takes the work's steps itself, and waits for what the work waits for. If the caller is cancelled the work is
not: it stays where it is, and a task that is made only then goes on from there.

The work must not ask which task runs it, because that changes: it holds no `asyncio.timeout` over an await.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_Future = asyncio.Future[Any]


class Movable(Generic[T]):
    """Await it, once. If that is cancelled while the work is under way, `task` goes on with the work.

    `cancel`, `cancelling` and `uncancel` are like those of a task, for the work alone.
    """

    def __init__(self, work: Coroutine[Any, Any, T], name: str) -> None:
        """`name` is for the task, if there will be one."""
        self.task: asyncio.Task[T] | None = None
        self._work = work
        self._name = name
        self._awaited: _Future | None = None  # what the work waits for; None if it only lets the loop turn
        self._cancels = 0
        self._must_cancel = False  # in its next step
        self._is_in_task = False

    def __await__(self) -> Generator[Any, None, T]:
        while True:
            try:
                self._awaited = self._step()
            except StopIteration as end:
                return end.value
            stand_in = None if self._awaited is None else _StandIn(self._awaited)
            try:
                yield stand_in
            except GeneratorExit:  # the caller's coroutine is closed: its loop is gone
                self._work.close()
                raise
            except BaseException:
                if stand_in is None or stand_in.is_cancelled:
                    self.task = asyncio.create_task(self._go_on(), name=self._name)
                    raise
                # else the future failed; the work hears that from the future itself

    def cancel(self) -> None:
        if self.task is not None and self._is_in_task:
            self.task.cancel()
            return
        # a task that is cancelled before its first step would not take it
        self._cancels += 1
        self._must_cancel = self._awaited is None or not self._awaited.cancel()

    def cancelling(self) -> int:
        return self._cancels + (0 if self.task is None else self.task.cancelling())

    def uncancel(self) -> None:
        if self._cancels:
            self._cancels -= 1
        elif self.task is not None:
            self.task.uncancel()

    def _step(self) -> _Future | None:
        """Returns what the work waits for then. Raises StopIteration with its result."""
        if self._must_cancel:
            self._must_cancel = False
            return self._work.throw(asyncio.CancelledError())
        awaited = self._work.send(None)
        if self._must_cancel and awaited is not None:  # cancelled by its own step
            self._must_cancel = not awaited.cancel()
        return awaited

    async def _go_on(self) -> T:
        self._is_in_task = True
        return await self._rest()

    @types.coroutine
    def _rest(self) -> Generator[Any, None, T]:
        """Like `yield from`, for work that has begun: waits first for what the work waits for."""
        awaited = None if self._must_cancel else self._awaited
        while True:
            error: BaseException | None = asyncio.CancelledError() if self._must_cancel else None
            self._must_cancel = False
            try:
                yield awaited
            except BaseException as thrown:
                error = thrown
            try:
                awaited = self._work.send(None) if error is None else self._work.throw(error)
            except StopIteration as end:
                return end.value


class _StandIn:
    """What the caller's task waits for in place of the work's own future: a task that is cancelled cancels
    the future that it waits for. It has what asyncio asks of a future."""

    __slots__ = ("_asyncio_future_blocking", "_context", "_future", "_wake", "is_cancelled")

    def __init__(self, future: _Future) -> None:
        self.is_cancelled = False  # the caller's task was cancelled while it waited for this
        self._future = future
        self._asyncio_future_blocking = True  # tells the task to wait
        self._wake: Callable[[_Future], object] | None = None
        self._context: Context | None = None

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._future.get_loop()

    def add_done_callback(self, wake: Callable[[_Future], object], *, context: Context | None = None) -> None:
        """The task calls this, once, with what wakes it."""
        self._wake, self._context = wake, context
        self._future.add_done_callback(wake, context=context)

    def cancel(self, msg: object = None) -> bool:
        """Wakes the task with a cancellation; the future stays as it is. False if the task wakes anyway."""
        was_cancelled, self.is_cancelled = self.is_cancelled, True
        if was_cancelled or self._future.done() or self._wake is None:
            return False
        self._future.remove_done_callback(self._wake)
        cancelled: _Future = self.get_loop().create_future()
        cancelled.cancel(msg)
        cancelled.add_done_callback(self._wake, context=self._context)
        return True
