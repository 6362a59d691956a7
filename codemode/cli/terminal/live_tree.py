"""Draws the nested calls of a run while they happen: the trajectory so far, cut to what fits."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import msgspec

from codemode import clock
from codemode.cli.terminal.screen import Colour, Screen
from codemode.trajectory.escape import fit
from codemode.trajectory.tree import draw_run

if TYPE_CHECKING:
    from codemode.trajectory import Trajectory

TICK_SECONDS = 0.1
PATIENCE_SECONDS = 1.0  # before that a run without calls is not worth a tree
_LEAST_ROWS = 4
_MAX_ROWS = 40
_BAR = re.compile(r"[-=]+>?$")
_COLOURS: tuple[tuple[str, Colour], ...] = (
    (" error", "red"), (" denied", "red"), (" aborted", "red"), (" failed", "red"),
    (" pending", "yellow"), (" waiting", "yellow"), (" running", "yellow"),
    (" ok", "green"), (" completed", "green"),
)  # fmt: skip


class LiveTree:
    """Draws one run; `updates` holds the latest progress of running calls, by call id."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._began = time.monotonic()
        self.updates: dict[str, str] = {}

    def show(self, run: Trajectory, *, is_over: bool = False) -> None:
        calls = sum(len(call.calls) for call in run.calls)
        if not calls and (is_over or time.monotonic() - self._began < PATIENCE_SECONDS):
            self._screen.clear()
            return
        width = self._screen.width - 1  # a full line would wrap on some terminals
        now = None if is_over else clock.wall_ms()
        rows = draw_run(run, width, now).split("\n")
        rows += [] if is_over else [fit(f"   {text}", width).rstrip() for text in self.updates.values()]
        rows = [fit(row, width).rstrip() for row in _cut(rows, self._most_rows())]
        self._screen.draw([self._coloured(index, row) for index, row in enumerate(rows)])
        if is_over:
            self._screen.keep()

    def update(self, call_id: str, tool: str, progress: object) -> None:
        try:
            told = msgspec.json.encode(progress).decode()
        except (TypeError, ValueError, RecursionError, OverflowError):
            told = type(progress).__name__
        self.updates[call_id] = f"{tool}: {told}"

    def _most_rows(self) -> int:
        return max(_LEAST_ROWS, min(_MAX_ROWS, self._screen.height - 3))

    def _coloured(self, index: int, row: str) -> str:
        if index < 2:
            return self._screen.painted(row, "dim" if index else "bold")
        bar = _BAR.search(row)
        if bar is None:
            return self._screen.painted(row, "dim")
        told = row[: bar.start()]
        colour: Colour | None = next((colour for word, colour in _COLOURS if word in told), None)
        return told + self._screen.painted(bar[0], colour)


def _cut(rows: list[str], most: int) -> list[str]:
    """The head and the latest rows."""
    if len(rows) <= most:
        return rows
    left = len(rows) - most + 1
    return [*rows[:2], f"|  ... {left} rows", *rows[2 + left :]]
