"""The wall clock of the host: everything that is dated is dated here.

Durations inside one process are measured with `time.perf_counter`, and deadlines with the loop's own clock;
only what is told to people or compared after a restart is wall time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

seconds: Callable[[], float] = time.time  # tests set another


def wall_ms() -> int:
    """Milliseconds since 1970."""
    return int(seconds() * 1000)


def elapsed_ms(since_ms: int) -> float:
    """Never negative: a wall clock may be set back."""
    return max(0.0, seconds() * 1000 - since_ms)
