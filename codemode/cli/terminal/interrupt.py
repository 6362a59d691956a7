"""Ctrl-C: first leaves a run that is kept in a store at its next pause; the second time, or without a store,
aborts the run; and if that does not help, ends the command."""

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
    """Ctrl-C calls `ask`. The driver sets `abort` and `can_leave` while it drives a run; `abort` ends that
    run and returns whether there was one."""

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
    """Returns the exit code of the work, or that of an interrupted command."""

    async def main() -> int:
        task = asyncio.current_task()
        assert task is not None
        stop = Interrupt(screen, task)
        loop = asyncio.get_running_loop()
        with contextlib.suppress(NotImplementedError, RuntimeError):  # then Python's own Ctrl-C stays
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
