"""The life of a server: opens its engine, and ends it at a signal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from codemode.config import ConfigError
from codemode.engine import Engine

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@asynccontextmanager
async def open_engine(given: dict[str, Any]) -> AsyncGenerator[Engine]:
    """Raises ConfigError for arguments that cannot be used, and if code mode is off."""
    engine = Engine(**given)
    if not engine.config.enabled:
        raise ConfigError("enabled", "must be true: what is served is code mode.")
    try:
        await engine.start()
        yield engine
    finally:  # also if a signal came while the engine started
        await engine.close()


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
