"""Hands events to listeners. The engine publishes and goes on; a listener that is too slow loses its oldest
events, and can see how many.

The hub starts no task and holds listeners weakly: an iterator that its reader drops is gone by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from weakref import WeakSet

from codemode.contract.events import Event, RunFinished

_log = logging.getLogger("codemode.engine")
CAPACITY = 1024  # events a listener may be behind


class Subscription:
    """An asynchronous iterator over events, for one reader. It ends with its run or with the hub."""

    def __init__(self, run_id: str | None, capacity: int) -> None:
        self.run_id = run_id
        self.dropped = 0
        self._capacity = capacity
        self._events: deque[Event] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._is_closed = False

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._is_closed:
                raise StopAsyncIteration
            assert self._waiter is None, "one reader per subscription"
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._events.popleft()

    def close(self) -> None:
        """Ends the iteration after the events that have arrived."""
        self._is_closed = True
        self._wake()

    def put(self, event: Event) -> None:
        """The hub calls this for every event."""
        if self._is_closed or self.run_id not in (None, event.run_id):
            return
        if len(self._events) == self._capacity:
            self._events.popleft()
            self.dropped += 1
        self._events.append(event)
        if self.run_id is not None and isinstance(event, RunFinished):
            self._is_closed = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class EventListener(Subscription):
    """Calls a function for each event, at once and in the engine's event loop; what it raises is logged."""

    def __init__(self, told: Callable[[Event], None]) -> None:
        super().__init__(None, 0)
        self._told = told

    def put(self, event: Event) -> None:
        if not self._is_closed:
            try:
                self._told(event)
            except Exception:
                _log.exception("a listener failed at an event")


class EventHub:
    """Passes events to subscriptions; one per engine. Use it in the engine's event loop only."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self.listeners: WeakSet[Subscription] = (
            WeakSet()
        )  # the recorder makes an event only if there are listeners
        self._is_closed = False

    def subscribe(self, run_id: str | None = None) -> Subscription:
        """Events from now on: of one run, or of all runs."""
        listener = Subscription(run_id, self._capacity)
        if self._is_closed:
            listener.close()
        else:
            self.listeners.add(listener)
        return listener

    def listen(self, told: Callable[[Event], None]) -> EventListener:
        """Whoever keeps the listener is told; it is dropped with its last reference."""
        listener = EventListener(told)
        if self._is_closed:
            listener.close()
        else:
            self.listeners.add(listener)
        return listener

    def publish(self, event: Event) -> None:
        """Never waits and never fails."""
        for listener in list(self.listeners):
            listener.put(event)

    def close(self) -> None:
        self._is_closed = True
        for listener in list(self.listeners):
            listener.close()
        self.listeners.clear()
