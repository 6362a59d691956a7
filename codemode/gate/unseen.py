"""What was made for a caller who has not seen it yet: its run waits for an answer, and the caller then comes
again. The MCP server and the adapters of frameworks keep output there."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")

_MAX_BYTES = 32 << 20


class Unseen(Generic[T]):
    """Keeps things by session and run, bounded in the bytes of their JSON: the oldest, whose caller never
    came again, goes first."""

    def __init__(self, most_bytes: int = _MAX_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[tuple[str, str], tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def put(self, session: str, run_id: str, thing: T) -> None:
        self.take(session, run_id)
        size = len(msgspec.json.encode(thing))
        self._kept[session, run_id] = (thing, size)
        self._bytes += size
        while self._bytes > self._most_bytes and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1][1]

    def take(self, session: str, run_id: str) -> T | None:
        thing, size = self._kept.pop((session, run_id), (None, 0))
        self._bytes -= size
        return thing
