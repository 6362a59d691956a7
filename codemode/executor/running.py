"""Runs one tool within its limits: how many at once, how long, and no longer than its caller."""

from __future__ import annotations

import asyncio
import logging
from typing import Any
from weakref import WeakValueDictionary

from msgspec.structs import replace

from codemode.executor.calling import GRACE_SECONDS, Calling, leave_behind
from codemode.executor.calls import CallFailed, CallOk, CallResult
from codemode.executor.failures import failure_of, meta_of
from codemode.executor.host_code import ends_the_task
from codemode.gate.heartbeat import Alarm
from codemode.tools import CallContext, Tool
from codemode.tools.results import NotJson, encode_result

_log = logging.getLogger("codemode.executor")


class Gates:
    """One per engine: the limits of a tool hold over all its runs.

    A gate lives as long as a call holds it or waits at it: a run may bring tools of its own, under any ids.
    """

    def __init__(self) -> None:
        self._gates: WeakValueDictionary[tuple[str, int], asyncio.Semaphore] = WeakValueDictionary()

    @property
    def in_use(self) -> int:
        return len(self._gates)

    def of(self, tool: Tool) -> asyncio.Semaphore:
        key = (tool.id, tool.hints.concurrency)
        gate = self._gates.get(key)
        if gate is None:
            gate = self._gates[key] = asyncio.Semaphore(tool.hints.concurrency)
        return gate


async def run_tool(
    tool: Tool,
    arguments: dict[str, Any],
    context: CallContext,
    calling: Calling,
    *,
    gates: Gates,
    max_result_bytes: int,
) -> CallResult:
    """Runs in the call's own task. The time-out starts with the tool, after the wait for its turn."""
    async with gates.of(tool):
        clock = _Clock(tool, calling)
        try:
            value = await tool.run(arguments, context)
        except asyncio.CancelledError as stop:
            if clock.has_expired:
                return clock.failure
            if ends_the_task(stop, calling.task):
                calling.abort.set()
                raise
            return CallFailed("tool_error", "CancelledError", f"{tool.name} cancelled itself")
        except BaseException as error:
            if ends_the_task(error, calling.task):
                raise
            _log.debug("%s failed", tool.id, exc_info=error)
            return clock.failure if clock.has_expired else _with_meta(failure_of(error), calling)
        finally:
            clock.stop()
        if clock.has_expired:
            return clock.failure
    return _with_meta(_encoded(tool, value, max_result_bytes), calling)


def _with_meta(result: CallOk | CallFailed, calling: Calling) -> CallResult:
    """What the tool noted on its context; what its error says under the same names stands."""
    added = meta_of(calling.meta) if calling.meta else None
    return result if added is None else replace(result, meta=added | (result.meta or {}))


class _Clock:
    """Cancels the call when its tool is over its time; a tool that still goes on is left behind."""

    __slots__ = ("_calling", "_timer", "_tool", "has_expired")

    def __init__(self, tool: Tool, calling: Calling) -> None:
        self._tool = tool
        self._calling = calling
        self.has_expired = False
        self._timer = Alarm(tool.hints.timeout_ms / 1000, self._expire)

    @property
    def failure(self) -> CallFailed:
        seconds = self._tool.hints.timeout_ms / 1000
        return CallFailed("timeout", "ToolTimeout", f"{self._tool.name} did not end within {seconds:g} s")

    def stop(self) -> None:
        self._timer.cancel()
        if self.has_expired and self._calling.task is not None:
            self._calling.task.uncancel()  # hooks and audit come after the tool and must not be cancelled

    def _expire(self) -> None:
        self.has_expired = True
        self._calling.abort.set()
        if self._calling.task is not None:
            self._calling.task.cancel()
        self._timer = Alarm(GRACE_SECONDS, self._give_up)

    def _give_up(self) -> None:
        leave_behind(self._calling)
        self._calling.tell(self.failure)


def _encoded(tool: Tool, value: Any, max_result_bytes: int) -> CallOk | CallFailed:
    try:
        encoded = encode_result(value)
    except NotJson as problem:
        return CallFailed("tool_error", "NotJson", f"{tool.name} has run, but {problem}")
    if len(encoded) > max_result_bytes:
        return CallFailed(
            "tool_error",
            "ResultTooLarge",
            f"{tool.name} has run, but its result of {len(encoded)} bytes is over the limit of "
            f"{max_result_bytes}. Ask for less at once.",
            {"bytes": len(encoded), "limit": max_result_bytes},
        )
    return CallOk(encoded)
