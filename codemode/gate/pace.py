"""Keeps a reader from taking the whole loop: after each slice of work it rests for as long as it worked."""

from __future__ import annotations

import asyncio

SLICE_SECONDS = 0.005


class Pace:
    """One per reader. Whatever arrives, half of the loop is left for others."""

    def __init__(self) -> None:
        self._worked = 0.0

    async def after(self, seconds: float) -> None:
        """Call after each piece of work with the time that it took; rests when a slice is full."""
        self._worked += seconds
        if self._worked > SLICE_SECONDS:
            rest, self._worked = self._worked, 0.0
            await asyncio.sleep(rest)
