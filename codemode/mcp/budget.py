"""What an MCP server may send without being asked, and how much of it was too much. Pure but for its clock.

A message costs one unit and another for each 16 KiB. Units come back with time. Above the budget messages
are dropped unread; a server that goes on nevertheless is disconnected.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

BURST_UNITS = 2_000
UNITS_PER_SECOND = 200
MAX_DEBT_UNITS = 20_000
UNIT_BYTES = 16 << 10


@dataclass(slots=True)
class Counts:
    """Counts for one server since the engine started, for its health."""

    dropped: int = 0  # messages that nobody asked for, above the budget
    refused: int = 0  # messages that are too large, too deep or made of too many parts
    disconnected: int = 0  # because it did not stop


class Overspent(Exception):
    """The server is to be disconnected. Its text says why."""


class Budget:
    """What one connection may still send unasked."""

    def __init__(self, counts: Counts, clock: Callable[[], float] = time.monotonic) -> None:
        self._counts = counts
        self._clock = clock
        self._units = float(BURST_UNITS)
        self._since = clock()

    def charge(self, size: int) -> bool:
        """Whether a message of this size may be read. Raises Overspent."""
        now = self._clock()
        self._units = min(BURST_UNITS, self._units + (now - self._since) * UNITS_PER_SECOND)
        self._since = now
        self._units -= 1 + size // UNIT_BYTES
        if self._units < -MAX_DEBT_UNITS:
            self._counts.disconnected += 1
            raise Overspent(
                "it sent more than anybody asked for and did not stop "
                f"({self._counts.dropped} messages dropped, {self._counts.refused} refused)"
            )
        if self._units < 0:
            self._counts.dropped += 1
            return False
        return True
