"""What an engine knows of its event loop: how often and how long it was held up, by whatever code."""

from __future__ import annotations

import time
from collections.abc import Callable

from codemode.contract.report import LoopStats
from codemode.gate.heartbeat import Heartbeat, heartbeat

_LATELY_SECONDS = 60.0


class LoopWatch:
    """One per engine, open while the engine is. `tell` hears of each stall, in milliseconds."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        self._tell = tell
        self._heart: Heartbeat | None = None
        self._stalls = 0
        self._worst = self._lost = 0.0
        self._lately: tuple[float, float] | None = None  # how long the worst of the last minute was, and when

    def open(self) -> None:
        self._heart = heartbeat()
        self._heart.join(self._on_late)

    def close(self) -> None:
        if self._heart is not None:
            self._heart.leave(self._on_late)

    def stats(self) -> LoopStats:
        last = 0.0 if self._heart is None else self._heart.last
        return LoopStats(_ms(last), _ms(self._worst), _ms(self._lost), self._stalls)

    def lately(self) -> tuple[float, float] | None:
        """Seconds of the worst stall of the last minute, and how many seconds ago it ended."""
        if self._lately is None or time.monotonic() - self._lately[1] > _LATELY_SECONDS:
            return None
        return self._lately[0], time.monotonic() - self._lately[1]

    def _on_late(self, seconds: float) -> None:
        self._stalls += 1
        self._lost += seconds
        self._worst = max(self._worst, seconds)
        worst = self.lately()
        if worst is None or seconds >= worst[0]:
            self._lately = (seconds, time.monotonic())
        self._tell(_ms(seconds))


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
