"""Runs sync functions off the event loop: one daemon thread per call, with the caller's context variables.

A shared pool would let a few slow tools starve the rest, and joining it would hold up the process's exit.
The number of threads is bounded by the number of nested calls in flight.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
_log = logging.getLogger("codemode.tools")

# How long a cancelled call waits for its thread. A tool that looks at `context.aborted` ends in time.
JOIN_SECONDS = 1.0


async def call_in_thread(name: str, function: Callable[[], T]) -> T:
    """Cancelling waits a moment for the thread, then leaves it behind: Python cannot stop a thread."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    variables = contextvars.copy_context()

    def settle(set_outcome: Callable[[Any], None], outcome: object) -> None:
        if not done.done():
            set_outcome(outcome)

    def work() -> None:
        try:
            post, outcome = done.set_result, variables.run(function)
        except (StopIteration, GeneratorExit, KeyboardInterrupt) as error:
            # a future cannot carry StopIteration; the others would end the coroutine or loop that gets them
            told = f"{type(error).__name__}: {error}"
            post, outcome = done.set_exception, RuntimeError(told.removesuffix(": "))
        except BaseException as error:
            post, outcome = done.set_exception, error
        try:
            loop.call_soon_threadsafe(settle, post, outcome)
        except RuntimeError:
            _log.debug("%s ended after its event loop", name)

    threading.Thread(target=work, name=f"codemode-tool-{name[:40]}", daemon=True).start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        await asyncio.wait({done}, timeout=JOIN_SECONDS)
        if not done.done():
            _log.warning("%s does not react to its abort; its thread is left to end by itself", name)
            done.cancel()
        elif not done.cancelled():
            done.exception()  # retrieved, because asyncio complains of an exception that is not
        raise
