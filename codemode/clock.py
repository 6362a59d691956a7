"""The wall clock of the host: every date in a result, a record or a store comes from here.

`time.perf_counter` measures durations inside one process, and the loop's own clock keeps deadlines; wall time
is only for what people read and what is compared after a restart.
"""

from __future__ import annotations

import time
from collections.abc import Callable

seconds: Callable[[], float] = time.time  # tests set another clock


def wall_ms() -> int:
    """Milliseconds since 1970."""
    return int(seconds() * 1000)


def elapsed_ms(since_ms: int) -> float:
    """Never negative, although a wall clock may be set back."""
    return max(0.0, seconds() * 1000 - since_ms)


def ms_since(began: float) -> float:
    """Since a `time.perf_counter()`: a duration that no change of the wall clock can touch."""
    return (time.perf_counter() - began) * 1000
