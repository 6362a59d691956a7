"""Runs one tool within its limits: how many at once, how long, and no longer than its caller."""

from __future__ import annotations

import asyncio
import logging
import types
from collections import deque
from collections.abc import Awaitable, Generator
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from codemode.contract.telemetry import ANSWERED_BY
from codemode.executor.approvals import QuestionTooLarge, request_answer
from codemode.executor.calling import GRACE_SECONDS, Calling, leave_behind
from codemode.executor.calls import CallFailed, CallOk, CallResult, NeedsApproval
from codemode.executor.failures import failure_of, meta_of
from codemode.executor.host_code import ends_the_task
from codemode.gate.heartbeat import Alarm
from codemode.tools import AnswerNeeded, CallContext, Tool
from codemode.tools.content import Collected
from codemode.tools.results import NotJson, encode_result

_log = logging.getLogger("codemode.executor")


class Gates:
    """One per engine: the limits of a tool hold over all its runs.

    Nothing is kept of a tool that does not run: a run may bring tools of its own, under any ids. Numbers and
    no semaphores: to make, take and leave one costs as much as a quick tool.
    """

    def __init__(self) -> None:
        self._running: dict[tuple[str, int], int] = {}  # calls, by tool and limit
        self._waiting: dict[tuple[str, int], deque[asyncio.Future[None]]] = {}

    @property
    def in_use(self) -> int:
        return len(self._running)

    def enter(self, tool: Tool) -> bool:
        """False if as many run as may; then `wait`. Whoever is in must `leave`."""
        key = (tool.id, tool.hints.concurrency)
        running = self._running.get(key, 0)
        if running >= tool.hints.concurrency:
            return False
        self._running[key] = running + 1
        return True

    async def wait(self, tool: Tool) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault((tool.id, tool.hints.concurrency), deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(tool)  # it was let in just as it gave up
            raise

    def leave(self, tool: Tool) -> None:
        """Lets the next one in, if one waits."""
        key = (tool.id, tool.hints.concurrency)
        waiting = self._waiting.get(key)
        while waiting:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        if waiting is not None:
            del self._waiting[key]
        if self._running[key] == 1:
            del self._running[key]
        else:
            self._running[key] -= 1


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
    if not gates.enter(tool):
        await gates.wait(tool)
    clock = _Clock(tool, calling)
    try:
        value = await _timed(tool.run(arguments, context), clock)
    except asyncio.CancelledError as stop:
        if clock.has_expired:
            return clock.failure
        if ends_the_task(stop, calling.task):
            calling.abort.set()
            raise
        return CallFailed("tool_error", "CancelledError", f"{tool.name} cancelled itself")
    except AnswerNeeded as needed:
        return clock.failure if clock.has_expired else _question(tool, arguments, context, needed)
    except BaseException as error:
        if ends_the_task(error, calling.task):
            raise
        _log.debug("%s failed", tool.id, exc_info=error)
        return clock.failure if clock.has_expired else _with_meta(failure_of(error), calling)
    finally:
        clock.stop()
        gates.leave(tool)
    if clock.has_expired:
        return clock.failure
    return _with_meta(_encoded(tool, value, max_result_bytes), calling)


def _question(
    tool: Tool, arguments: dict[str, Any], context: CallContext, needed: AnswerNeeded
) -> CallFailed | NeedsApproval:
    try:
        return NeedsApproval(request_answer(tool, arguments, context, needed))
    except QuestionTooLarge as refused:
        return CallFailed("tool_error", "QuestionTooLarge", f"{tool.name} asked {refused}")
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError):
        return CallFailed("tool_error", "NotJson", f"{tool.name} asked a question that is not JSON")


@types.coroutine
def _timed(work: Awaitable[Any], clock: _Clock) -> Generator[Any, Any, Any]:
    """Awaits the work, and starts the clock when the work first waits: a quick tool never does, and a timer
    costs as much as such a tool. From then on it is what `await` does."""
    steps = cast("Generator[Any, Any, Any]", work if isinstance(work, Generator) else work.__await__())
    try:
        awaited = steps.send(None)
        clock.start()
        while True:
            try:
                sent = yield awaited
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as error:
                awaited = steps.throw(error)
            else:
                awaited = steps.send(sent)
    except StopIteration as end:
        return end.value


def _with_meta(result: CallOk | CallFailed, calling: Calling) -> CallResult:
    """What the tool noted on its context; what its error says under the same names stands."""
    added = meta_of(calling.meta) if calling.meta else None
    if added is not None:
        added.pop(ANSWERED_BY, None)  # only the engine says that
    return result if added is None else replace(result, meta=added | (result.meta or {}))


class _Clock:
    """Cancels the call when its tool is over its time; a tool that still goes on is left behind."""

    __slots__ = ("_calling", "_timer", "_tool", "has_expired")

    def __init__(self, tool: Tool, calling: Calling) -> None:
        self._tool = tool
        self._calling = calling
        self.has_expired = False
        self._timer: Alarm | None = None

    def start(self) -> None:
        self._timer = Alarm(self._tool.hints.timeout_ms / 1000, self._expire)

    @property
    def failure(self) -> CallFailed:
        seconds = self._tool.hints.timeout_ms / 1000
        return CallFailed("timeout", "ToolTimeout", f"{self._tool.name} did not end within {seconds:g} s")

    def stop(self) -> None:
        if self._timer is not None:
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


def answered(tool: Tool, value: Any, max_result_bytes: int) -> CallResult:
    """The result of a call that a hook answered in place of its tool; what is kept of the call says so."""
    result = _encoded(tool, value, max_result_bytes)
    return replace(result, meta={ANSWERED_BY: "hook"}) if isinstance(result, CallOk) else result


def _encoded(tool: Tool, value: Any, max_result_bytes: int) -> CallOk | CallFailed:
    contents = Collected()
    try:
        encoded = encode_result(value, contents)
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
    return CallOk(encoded, contents=contents.found or None)
