"""Asks for approvals on a terminal: shows what the call would do, and reads y or n.

The question is asked while the run waits, so that nothing else is drawn meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from codemode.cli.terminal.approvals import lines_of
from codemode.cli.terminal.screen import Screen
from codemode.trajectory.escape import plain

if TYPE_CHECKING:
    from codemode.executor import ApprovalRequest

_MAX_LINE = 1000


class TerminalQuestions:
    """Asks one question at a time."""

    def __init__(self, screen: Screen) -> None:
        self.can_ask = sys.stdin.isatty() and screen.err.isatty()
        self._screen = screen

    async def ask(self, asked: ApprovalRequest) -> bool | None:
        """None at the end of input."""
        self._screen.note(f"{plain(asked.tool_id)} asks for approval", "yellow")
        for line in lines_of(asked):
            self._screen.note(line)
        with self._screen.held():
            return await self._answer()

    async def _answer(self) -> bool | None:
        while True:
            self._screen.err.write("approve? [y/n] ")
            self._screen.err.flush()
            try:
                answer = await _read_line()
            except asyncio.CancelledError:
                self._screen.err.write("\n")  # so that the next text begins its own line
                raise
            match answer.strip().lower():
                case "y" | "yes":
                    return True
                case "n" | "no":
                    return False
                case _ if not answer:
                    return None
                case _:
                    pass


async def _read_line() -> str:
    """Reads a typed line; empty at the end of input. Unlike input(), it can be cancelled."""
    loop = asyncio.get_running_loop()
    descriptor = sys.stdin.fileno()
    arrived: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, lambda: arrived.done() or arrived.set_result(None))
    try:
        await arrived
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, _MAX_LINE).decode(errors="replace")  # a terminal gives whole lines
