"""A run from its exec to its end, for callers who want one result: `Engine.run`, its blocking twin and
`codemode.run`.

It goes on with a yield and with pending tools by itself. It cannot give an approval: a run that needs one
ends as waiting, unless the caller's `on_waiting` has decided.
"""

from __future__ import annotations

import inspect
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import get_args

from msgspec.structs import replace

from codemode.contract.for_model import bounded_notes
from codemode.contract.results import CodeModeResult, Output, Waiting, output_bytes, with_duration
from codemode.contract.telemetry import CallMethod
from codemode.tools.threads import call_in_thread

OnWaiting = Callable[[Waiting], "Awaitable[bool | None] | bool | None"]

MAX_IDLE_YIELDS = 1_000  # in a row, with nothing that could be seen from outside: no output, no call
MAX_KEPT_BYTES = 16 << 20  # of the output of all legs: a program may write for ever


async def run_to_end(
    first: Awaitable[CodeModeResult],
    wait: Callable[[str], Awaitable[CodeModeResult]],
    is_open: Callable[[str, str], bool],
    on_waiting: OnWaiting | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - nothing is cancelled when it is over
) -> CodeModeResult:
    """The last result, with the output of all legs. `is_open`: whether a run still asks for an approval.

    What `on_waiting` raises is raised here; the run then stays suspended.
    """
    ends = None if timeout is None else time.monotonic() + timeout
    output, progress = JoinedOutput(), Progress()
    result = await first
    output.add(result.output)
    took = result.telemetry.duration_ms
    while isinstance(result, Waiting):
        said = None if on_waiting is None else on_waiting(result)
        said = await said if inspect.isawaitable(said) else said
        goes_on = _can_go_on(result, is_open) if said is None else said
        if not goes_on or progress.is_stuck(result) or (ends is not None and time.monotonic() >= ends):
            break
        result = await wait(result.run_id)
        output.add(result.output)
        took += result.telemetry.duration_ms
    return with_duration(output.joined(result), took)


def _can_go_on(result: Waiting, is_open: Callable[[str, str], bool]) -> bool:
    """Whether `wait` has something to do: not if all approvals are still open; one decided is enough."""
    asked = [call.approval.id for call in result.pending_tool_calls if call.approval is not None]
    return result.reason != "approval" or not all(is_open(result.run_id, one) for one in asked)


def off_loop(on_waiting: OnWaiting) -> OnWaiting:
    """The same in a thread of its own, where it may call a blocking engine."""

    async def elsewhere(result: Waiting) -> bool | None:
        said = await call_in_thread("on_waiting", lambda: on_waiting(result))
        return await said if inspect.isawaitable(said) else said

    return elsewhere


class Progress:
    """Tells a program that yields for ever and does nothing else from one that gets on."""

    def __init__(self) -> None:
        self._done = (0, 0)
        self._idle = 0

    def is_stuck(self, result: Waiting) -> bool:
        found = result.telemetry
        made = sum(found.counts.get(method, 0) for method in get_args(CallMethod))
        done = (made, sum(call.status == "pending" for call in found.calls))
        is_idle = result.reason == "yield" and not result.output and done == self._done
        self._done, self._idle = done, self._idle + 1 if is_idle else 0
        return self._idle >= MAX_IDLE_YIELDS


class JoinedOutput:
    """The output of all legs, in order; of too much, the beginning and the end."""

    def __init__(self, max_bytes: int = MAX_KEPT_BYTES) -> None:
        self._half = max_bytes // 2
        self._head: list[Output] = []
        self._tail: deque[tuple[Output, int]] = deque()
        self._head_bytes = self._tail_bytes = 0
        self._dropped = self._dropped_bytes = 0

    def add(self, items: tuple[Output, ...]) -> None:
        for item in items:
            size = _bytes(item)
            if not self._tail and self._head_bytes + size <= self._half:
                self._head.append(item)
                self._head_bytes += size
                continue
            self._tail.append((item, size))
            self._tail_bytes += size
            while self._tail_bytes > self._half and len(self._tail) > 1:
                _, gone = self._tail.popleft()
                self._tail_bytes -= gone
                self._dropped, self._dropped_bytes = self._dropped + 1, self._dropped_bytes + gone

    def joined(self, result: CodeModeResult) -> CodeModeResult:
        kept = (*self._head, *(item for item, _ in self._tail))
        if not self._dropped:
            return replace(result, output=kept)
        note = (
            f"{self._dropped:,} items of output in the middle were dropped: {self._dropped_bytes:,} bytes. "
            "Those before and after them are there."
        )
        return replace(result, output=kept, notes=bounded_notes((note, *result.notes)))


def _bytes(item: Output) -> int:
    """About what it holds in memory."""
    return 64 + output_bytes(item)
