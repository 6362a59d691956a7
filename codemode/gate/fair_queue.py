"""A queue that is fair between sessions: sessions take turns, and within one the first comes first. Pure."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """A session with a hundred requests delays the first request of another by one turn, not by a hundred."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, deque[T]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def push(self, session: str, item: T) -> None:
        self._sessions.setdefault(session, deque()).append(item)
        self._length += 1

    def pop(self) -> T:
        """Raises IndexError when empty."""
        if not self._sessions:
            raise IndexError("the queue is empty")
        session, items = self._sessions.popitem(last=False)
        item = items.popleft()
        if items:
            self._sessions[session] = items
        self._length -= 1
        return item

    def pop_of(self, may: Callable[[str], bool]) -> tuple[str, T] | None:
        """The next item of a session that may have it now; None if there is none. Others keep their place."""
        for session in self._sessions:
            if may(session):
                self._sessions.move_to_end(session, last=False)
                return session, self.pop()
        return None

    def sessions(self) -> Iterable[str]:
        """Those that have something in the queue."""
        return self._sessions.keys()

    def count_of(self, session: str) -> int:
        return len(self._sessions.get(session, ()))

    def discard(self, session: str, item: T) -> None:
        """Removes an item whose owner gave up waiting; does nothing if the item is not there."""
        items = self._sessions.get(session)
        if items is not None and item in items:
            items.remove(item)
            self._length -= 1
            if not items:
                del self._sessions[session]
