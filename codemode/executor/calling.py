"""A call under way: one task from the arguments to the result, and the ways to end it before its time.

The tool runs in this task and in no other, so that a quick tool costs one turn of the event loop. A callback
tells the result to the caller, once. A tool that does not end although it was cancelled is left behind, and
its later result is dropped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from codemode.executor.calls import CallResult
from codemode.tools.context import AbortSignal

_log = logging.getLogger("codemode.executor")

# Longer than tools/threads.py waits for the thread of a sync tool.
GRACE_SECONDS = 2.0

OnEnd = Callable[["Calling", CallResult], None]


class Calling:
    """One call; Executor.start makes it. The tool looks at `abort` to see that it should stop."""

    __slots__ = ("_on_end", "abort", "meta", "name", "task")

    def __init__(self, name: str, on_end: OnEnd) -> None:
        self.name = name
        self.abort = AbortSignal()
        self.meta: dict[str, Any] = {}
        self.task: asyncio.Task[None] | None = None
        self._on_end: OnEnd | None = on_end

    @property
    def is_over(self) -> bool:
        return self._on_end is None

    def tell(self, result: CallResult) -> None:
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end(self, result)

    def stop(self) -> None:
        """Sets the tool's abort signal, then cancels the task and drops its result; `join` waits for it."""
        self._on_end = None
        self.abort.set()
        if self.task is not None and not self.task.cancelling():  # a second cancel would cut its clean-up
            self.task.cancel()


async def join(calls: list[Calling]) -> None:
    """Waits until all calls have ended, at most for the grace; then leaves behind those that do not obey."""
    tasks = {call.task: call for call in calls if call.task is not None}
    if not tasks:
        return
    _, left = await asyncio.wait(tasks, timeout=GRACE_SECONDS)
    for task in left:
        leave_behind(tasks[task])


def leave_behind(call: Calling) -> None:
    _log.warning("%s does not end although it was cancelled; it is left behind", call.name)
    if call.task is not None:
        call.task.add_done_callback(lambda late: late.cancelled() or late.exception())
