"""What may leave the host's own code: a tool, a hook, whoever is asked for approvals, the audit. Anything.

Almost all of it is an outcome of that code, whatever class it has: a call that nobody has stopped must end in
a result. What is not is decided here, for all who call such code.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any


def ends_the_task(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    """Whether it is meant for the task in which the host's code was called, and has to be passed on."""
    match error:
        case asyncio.CancelledError():
            # without a request to the task, something that the code awaited was cancelled
            return task is None or task.cancelling() > 0
        case GeneratorExit():
            # raised from outside, a coroutine is being collected: its loop is gone, and nobody listens
            return _running_task() is not task
        case KeyboardInterrupt():
            # Ctrl-C interrupts the main thread; in any other it is the code's own
            return threading.current_thread() is threading.main_thread()
        case _:  # SystemExit too: a host is not ended by a tool
            return False


def _running_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs
        return None
