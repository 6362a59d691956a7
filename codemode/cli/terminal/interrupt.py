"""Ctrl-C: a run that is kept in a store is left at its next pause; the second time, or without a store, the
run is aborted; and if that does not help either, the command ends."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from codemode.cli.errors import ExitCode
from codemode.cli.terminal.screen import Screen

_LEAVING = "Ctrl-C: the run is left at its next pause; once more aborts it"


class Interrupt:
    """`ask` is what Ctrl-C does. `abort` ends the run of this moment, and says whether there is one; it and
    `can_leave` are set by whoever drives a run, for as long as that takes."""

    def __init__(self, screen: Screen, task: asyncio.Task[Any]) -> None:
        self.leaving = asyncio.Event()
        self.was_asked = False
        self.can_leave = False
        self.abort: Callable[[], bool] = lambda: False
        self._screen = screen
        self._task = task

    def ask(self) -> None:
        self.was_asked = True
        if self.can_leave and not self.leaving.is_set():
            self.leaving.set()
            self._screen.note(_LEAVING)
        elif not self.abort():
            self._task.cancel()


def run_until_stopped(work: Callable[[Interrupt], Coroutine[Any, Any, int]], screen: Screen) -> int:
    """The exit code of the work, or that of an interrupted command."""

    async def main() -> int:
        task = asyncio.current_task()
        assert task is not None
        stop = Interrupt(screen, task)
        loop = asyncio.get_running_loop()
        with contextlib.suppress(NotImplementedError, RuntimeError):  # no signals here: Python's own way
            loop.add_signal_handler(signal.SIGINT, stop.ask)
        try:
            code = await work(stop)
        except asyncio.CancelledError:
            if not stop.was_asked:
                raise
            screen.clear()
            screen.note("interrupted")
            return ExitCode.INTERRUPTED
        return ExitCode.INTERRUPTED if stop.was_asked and code != ExitCode.DONE else code

    return asyncio.run(main())
