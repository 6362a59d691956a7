"""The life of a server: opens its engine, and ends it at a signal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from codemode.config import ConfigError
from codemode.engine import Engine

if TYPE_CHECKING:
    from codemode.toolbox import Toolbox

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@asynccontextmanager
async def open_engine(given: dict[str, Any]) -> AsyncGenerator[Engine]:
    """Raises ConfigError for arguments that cannot be used, and if code mode is off."""
    async with made_engine(given) as engine:
        if not engine.config.enabled:
            raise ConfigError("enabled", "must be true: what is served is code mode.")
        await engine.start()
        yield engine


@asynccontextmanager
async def made_engine(given: dict[str, Any]) -> AsyncGenerator[Engine]:
    """An engine that is not started yet, with the tools of `given["toolbox"]`, if any; closes both."""
    arguments = dict(given)
    toolbox: Toolbox | None = arguments.pop("toolbox", None)
    async with AsyncExitStack() as ending:
        if toolbox is not None:
            ending.push_async_callback(toolbox.close)
            arguments["tools"] = [*arguments.get("tools", ()), *toolbox.tools]
        engine = Engine(**arguments)
        ending.push_async_callback(engine.close)  # also if a signal comes while the engine starts
        if toolbox is not None:
            toolbox.bind(engine)
        yield engine


@contextmanager
def ended_by_signals() -> Generator[asyncio.Event]:
    """SIGINT and SIGTERM set the event. A second signal ends the process in the default way."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def end() -> None:
        ended.set()
        _forget(loop)

    for number in _SIGNALS:
        loop.add_signal_handler(number, end)
    try:
        yield ended
    finally:
        _forget(loop)


def _forget(loop: asyncio.AbstractEventLoop) -> None:
    for number in _SIGNALS:
        loop.remove_signal_handler(number)


async def until_either(work: Coroutine[Any, Any, None], ended: asyncio.Event) -> None:
    """Does the work until it is done or the event is set, and then cancels the rest."""
    doing, ending = asyncio.create_task(work), asyncio.create_task(ended.wait())
    try:
        await asyncio.wait({doing, ending}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        doing.cancel()
        ending.cancel()
        await asyncio.gather(doing, ending, return_exceptions=True)
    if not doing.cancelled():
        doing.result()
