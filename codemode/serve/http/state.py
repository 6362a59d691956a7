"""What one server knows of itself: whether it drains, who listens, what is under way."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress

from codemode import clock
from codemode.serve.http.errors import HttpRefused


class ServerState:
    def __init__(self, max_streams: int, max_connections: int) -> None:
        self.started_at_ms = clock.wall_ms()
        self.max_streams = max_streams
        self.max_connections = max_connections
        self.is_draining = False
        self._streams: Counter[str] = Counter()
        self._under_way = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    @property
    def streams(self) -> int:
        return self._streams.total()

    @property
    def under_way(self) -> int:
        return self._under_way

    def drain(self) -> None:
        self.is_draining = True

    @contextmanager
    def stream(self, token: str, is_shared: bool) -> Generator[None]:
        """A place for one stream. One token has at most half of them, unless all callers share it. Raises
        HttpRefused."""
        most = self.max_streams if is_shared else max(1, self.max_streams // 2)
        if self.streams >= self.max_streams or self._streams[token] >= most:
            raise HttpRefused(
                429, "There are as many event streams as there may be; close one, or come back."
            )
        self._streams[token] += 1
        try:
            yield
        finally:
            self._streams[token] -= 1
            if not self._streams[token]:
                del self._streams[token]

    @contextmanager
    def request(self) -> Generator[None]:
        self._under_way += 1
        self._is_idle.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._is_idle.set()

    async def until_idle(self, seconds: float) -> None:
        """Returns when no request is under way, or after so long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_idle.wait(), seconds)
