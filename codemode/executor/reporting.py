"""Progress of a call: comes from any thread into the event loop, in order, until the call ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from codemode.executor.calling import Calling
from codemode.executor.calls import CallUpdate
from codemode.tools.results import NotJson, encode_result

_log = logging.getLogger("codemode.executor")


class Reporter:
    """A tool calls it with its progress. Reports after the end of the call are dropped."""

    __slots__ = ("_call_id", "_calling", "_loop", "_run_id", "_sink", "_tool_id")

    def __init__(
        self, run_id: str, call_id: str, tool_id: str, calling: Calling, sink: Callable[[CallUpdate], None]
    ) -> None:
        self._run_id = run_id
        self._call_id = call_id
        self._tool_id = tool_id
        self._calling = calling
        self._sink = sink
        self._loop = asyncio.get_running_loop()

    def __call__(self, progress: Any) -> None:
        if self._calling.is_over:
            return
        try:
            plain = msgspec.json.decode(encode_result(progress))
        except NotJson:
            _log.debug("%s reported progress that is not JSON", self._tool_id)
            return
        if _running_loop() is self._loop:
            self._deliver(plain)  # at once: a quick tool has ended by the next turn
        else:
            self._loop.call_soon_threadsafe(self._deliver, plain)

    def _deliver(self, progress: Any) -> None:
        if not self._calling.is_over:
            self._sink(CallUpdate(self._run_id, self._call_id, self._tool_id, progress))


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:  # in a thread
        return None
