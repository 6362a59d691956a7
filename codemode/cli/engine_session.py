"""Keeps an engine open while a command needs it: shows progress and warnings, and turns its refusals into
errors of the command."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Generator
from typing import Any

from codemode_snapshots import SnapshotError

from codemode.cli.errors import CommandError, ExitCode
from codemode.cli.terminal.screen import Screen, ScreenHandler
from codemode.config import ConfigError
from codemode.engine import Engine
from codemode.serve.lifecycle import made_engine
from codemode.tools import ToolDefinitionError
from codemode.trajectory.debug_variables import VARIABLES

PATIENCE_SECONDS = 1.0  # a step that takes longer shows its progress
_TICK_SECONDS = 0.1


@contextlib.asynccontextmanager
async def open_engine(arguments: dict[str, Any], screen: Screen) -> AsyncGenerator[Engine]:
    """Raises CommandError for what Engine refuses. If only the workers cannot start, exec says so."""
    async with contextlib.AsyncExitStack() as ending:
        with explained():
            engine = await ending.enter_async_context(made_engine(arguments))
        with explained():
            async with progress(screen, "starting the engine"):
                await engine.start()
        # left first, so that its progress is shown while the engine stops
        await ending.enter_async_context(_stopping(engine, screen))
        yield engine


@contextlib.asynccontextmanager
async def _stopping(engine: Engine, screen: Screen) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        async with progress(screen, "stopping the engine"):
            await engine.close()


@contextlib.contextmanager
def explained() -> Generator[None]:
    """Turns errors that the user has to correct into CommandError, with the same text."""
    try:
        yield
    except (ConfigError, ToolDefinitionError) as error:
        raise CommandError(str(error)) from None
    except SnapshotError as error:
        raise CommandError(f"--store: {error}", ExitCode.UNAVAILABLE) from None


@contextlib.asynccontextmanager
async def progress(screen: Screen, what: str) -> AsyncGenerator[None]:
    """After the first second shows how long a step has taken; only on a terminal."""
    ticking = asyncio.create_task(_tick(screen, what)) if screen.live else None
    try:
        yield
    finally:
        if ticking is not None:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)
            screen.clear()


async def _tick(screen: Screen, what: str) -> None:
    began = time.monotonic()
    await asyncio.sleep(PATIENCE_SECONDS)
    while True:
        screen.draw([f"{what} ... {time.monotonic() - began:.0f} s"])
        await asyncio.sleep(_TICK_SECONDS)


@contextlib.contextmanager
def on_stderr(screen: Screen) -> Generator[None]:
    """Leads what tools print, and the warnings of all libraries, to stderr through the screen.

    Libraries quote what servers send, so none may print by itself. Where a debug variable is set, warnings
    come unchanged, for people who debug.
    """
    handler = ScreenHandler(screen)
    if not any(variable.is_set for variable in VARIABLES):
        logging.getLogger().addHandler(handler)
    try:
        with contextlib.redirect_stdout(screen.err):
            yield
    finally:
        logging.getLogger().removeHandler(handler)
