"""Runs one tool within its limits: how many at once, how long, and no longer than whoever asked for it.

Whoever cancels the call waits until the tool has ended, or until the grace of one that does not obey is over.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Coroutine
from typing import Any

from codemode.executor.calls import CallResult, Failed, Ok
from codemode.executor.failures import failure_of
from codemode.tools import CallContext, Tool, ToolError
from codemode.tools.results import NotJson, encode_result

_log = logging.getLogger("codemode.executor")

# Longer than a sync tool's thread is waited for.
_GRACE_SECONDS = 2.0


class Gates:
    """One per engine: the limits of a tool hold over all its runs."""

    def __init__(self) -> None:
        self._gates: dict[tuple[str, int], asyncio.Semaphore] = {}

    def of(self, tool: Tool) -> asyncio.Semaphore:
        return self._gates.setdefault(
            (tool.id, tool.hints.concurrency), asyncio.Semaphore(tool.hints.concurrency)
        )


async def run_tool(
    tool: Tool,
    arguments: dict[str, Any],
    context: CallContext,
    *,
    gates: Gates,
    variables: contextvars.Context | None,
    max_result_bytes: int,
) -> CallResult:
    """The time-out starts when the tool does, not while it waits for its turn."""
    async with gates.of(tool):
        work = _start(tool, arguments, context, variables)
        try:
            await asyncio.wait({work}, timeout=tool.hints.timeout_ms / 1000)
        except asyncio.CancelledError:
            await _stop(tool, work, context)
            raise
        if not work.done():
            await _stop(tool, work, context)
            seconds = tool.hints.timeout_ms / 1000
            return Failed("timeout", "ToolTimeout", f"{tool.name} did not end within {seconds:g} s")
    return _outcome(tool, work, max_result_bytes)


def _start(
    tool: Tool, arguments: dict[str, Any], context: CallContext, variables: contextvars.Context | None
) -> asyncio.Task[Any]:
    async def guarded() -> Any:
        try:
            return await tool.run(arguments, context)
        except SystemExit as error:  # asyncio would end the host with it
            raise ToolError("the tool tried to end the process", name="SystemExit") from error

    coroutine: Coroutine[Any, Any, Any] = guarded()
    own = variables.copy() if variables is not None else None
    return asyncio.create_task(coroutine, name=f"codemode tool {tool.id}", context=own)


async def _stop(tool: Tool, work: asyncio.Task[Any], context: CallContext) -> None:
    context.abort.set()
    work.cancel()
    await asyncio.wait({work}, timeout=_GRACE_SECONDS)
    if work.done():
        _ = work.cancelled() or work.exception()  # retrieved, or asyncio would complain about it
    else:
        _log.warning("%s does not end although it was cancelled; it is left behind", tool.id)
        work.add_done_callback(lambda late: late.cancelled() or late.exception())


def _outcome(tool: Tool, work: asyncio.Task[Any], max_result_bytes: int) -> CallResult:
    if work.cancelled():
        return Failed("tool_error", "CancelledError", f"{tool.name} cancelled itself")
    error = work.exception()
    if error is not None:
        _log.debug("%s failed", tool.id, exc_info=error)
        return failure_of(error)
    try:
        encoded = encode_result(work.result())
    except NotJson as problem:
        return Failed("tool_error", "NotJson", f"{tool.name} has run, but {problem}")
    if len(encoded) > max_result_bytes:
        return Failed(
            "tool_error",
            "ResultTooLarge",
            f"{tool.name} has run, but its result of {len(encoded)} bytes is over the limit of "
            f"{max_result_bytes}. Ask for less at once.",
            {"bytes": len(encoded), "limit": max_result_bytes},
        )
    return Ok(encoded)
