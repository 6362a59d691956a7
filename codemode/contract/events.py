"""What happens in runs, as it happens: a typed event for each step, and a hub that hands them to listeners.

The engine publishes and goes on: a listener that is too slow loses its oldest events and can see how many.
The hub starts no task and holds listeners weakly: an iterator that nobody holds any more is gone by itself.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Any, ClassVar, Literal
from weakref import WeakSet

import msgspec
from msgspec import Struct

from codemode.contract.error_codes import ErrorCode
from codemode.contract.results import Output, WaitReason
from codemode.contract.telemetry import CallMethod, CallStatus
from codemode.executor import CallUpdate

CAPACITY = 1024  # events a listener may be behind


class _Event(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", omit_defaults=True):
    """`at_ms` is wall time since 1970."""

    run_id: str
    at_ms: int

    def to_dict(self) -> dict[str, Any]:
        return msgspec.json.decode(msgspec.json.encode(self))


class Started(_Event, frozen=True, tag="started"):
    """`tool_call` is what exec was called with: how whoever called it learns the run's id while it runs."""

    type: ClassVar[Literal["started"]] = "started"
    session: str
    language: str
    tool_call: str = ""


class OutputAdded(_Event, frozen=True, tag="output"):
    type: ClassVar[Literal["output"]] = "output"
    item: Output


class CallStarted(_Event, frozen=True, tag="call_started"):
    type: ClassVar[Literal["call_started"]] = "call_started"
    call_id: str
    tool: str
    name: str
    method: CallMethod


class CallFinished(_Event, frozen=True, tag="call_finished"):
    type: ClassVar[Literal["call_finished"]] = "call_finished"
    call_id: str
    tool: str
    name: str
    status: CallStatus
    ms: float


class CallUpdated(_Event, frozen=True, tag="call_update"):
    """Progress that a running tool reported, in the tool's own terms: its values are not redacted."""

    type: ClassVar[Literal["call_update"]] = "call_update"
    call_id: str
    tool: str
    progress: Any


class Suspended(_Event, frozen=True, tag="suspended"):
    type: ClassVar[Literal["suspended"]] = "suspended"
    reason: WaitReason
    bytes: int


class Resumed(_Event, frozen=True, tag="resumed"):
    type: ClassVar[Literal["resumed"]] = "resumed"
    settled: int


class LimitHit(_Event, frozen=True, tag="limit_hit"):
    type: ClassVar[Literal["limit_hit"]] = "limit_hit"
    code: ErrorCode


class Finished(_Event, frozen=True, tag="finished"):
    """The last event of a run. `code` is there if it failed."""

    type: ClassVar[Literal["finished"]] = "finished"
    status: Literal["completed", "failed"]
    code: ErrorCode | None = None


Event = (
    Started
    | OutputAdded
    | CallStarted
    | CallUpdated
    | CallFinished
    | Suspended
    | Resumed
    | LimitHit
    | Finished
)


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
        """Events that are there already can still be read."""
        self._is_closed = True
        self._wake()

    def put(self, event: Event) -> None:
        """For the hub."""
        if self._is_closed or self.run_id not in (None, event.run_id):
            return
        if len(self._events) == self._capacity:
            self._events.popleft()
            self.dropped += 1
        self._events.append(event)
        if self.run_id is not None and isinstance(event, Finished):
            self._is_closed = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class EventHub:
    """To be used from the engine's event loop only."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._listeners: WeakSet[Subscription] = WeakSet()
        self._is_closed = False

    @property
    def has_listeners(self) -> bool:
        """Whether making an event is worth it."""
        return bool(self._listeners)

    def subscribe(self, run_id: str | None = None) -> Subscription:
        """From now on; without a run, to all of them."""
        listener = Subscription(run_id, self._capacity)
        if self._is_closed:
            listener.close()
        else:
            self._listeners.add(listener)
        return listener

    def publish(self, event: Event) -> None:
        """Never waits and never fails."""
        for listener in list(self._listeners):
            listener.put(event)

    def tell_start(self, run_id: str, session: str, language: str, tool_call: str) -> None:
        if self._listeners:
            at_ms = int(time.time() * 1000)
            self.publish(Started(session, language, tool_call, run_id=run_id, at_ms=at_ms))

    def tell_update(self, update: CallUpdate) -> None:
        if self._listeners:
            self.publish(
                CallUpdated(
                    run_id=update.run_id,
                    at_ms=int(time.time() * 1000),
                    call_id=update.call_id,
                    tool=update.tool_id,
                    progress=update.progress,
                )
            )

    def close(self) -> None:
        self._is_closed = True
        for listener in list(self._listeners):
            listener.close()
        self._listeners.clear()
