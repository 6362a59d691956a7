"""Exceptions of the host's own code: tools, hooks, the approval handler, the audit.

Such code may raise anything, and almost all of it is an outcome of that code: a call that was not stopped
must end in a result. This module decides which exceptions end the task instead, for all callers.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any


def ends_the_task(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    """Whether the error is meant for the task that called the host's code, which must then raise it again."""
    match error:
        case asyncio.CancelledError():
            # without a request to the task, only something that the code awaited was cancelled
            return task is None or task.cancelling() > 0
        case GeneratorExit():
            # from outside the task, Python collects the coroutine: its loop is gone, and no caller listens
            return _running_task() is not task
        case KeyboardInterrupt():
            # Ctrl-C interrupts the main thread; in any other thread the code raised this itself
            return threading.current_thread() is threading.main_thread()
        case _:  # SystemExit too: a tool must not end its host
            return False


def _running_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs
        return None
