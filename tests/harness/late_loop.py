"""A loop that is late, without anybody waiting: its clock jumps, as it does when something held it up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class LateLoop:
    """Makes the running loop late: `hold_up` is what a step of so many seconds would have done to it."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._time: Callable[[], float] = loop.time
        self._ahead = 0.0
        loop.time = self.time  # type: ignore[method-assign]

    def time(self) -> float:
        return self._time() + self._ahead

    def hold_up(self, seconds: float) -> None:
        self._ahead += seconds
