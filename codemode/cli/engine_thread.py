"""An engine in a thread with its own loop, so that the main thread can wait at a prompt meanwhile.

Unlike in BlockingEngine, Ctrl-C does not cancel what runs: the thread passes it on and waits for the answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from codemode.cli.engine_session import open_engine
from codemode.cli.terminal.screen import Screen
from codemode.engine import Engine

T = TypeVar("T")


class EngineThread:
    """`with EngineThread(arguments, screen) as thread`, then `thread.call(lambda engine: ...)`."""

    def __init__(self, arguments: dict[str, Any], screen: Screen) -> None:
        self._arguments = arguments
        self._screen = screen
        self._opened: Future[Engine] = Future()
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._live, name="codemode repl", daemon=True)

    def __enter__(self) -> EngineThread:
        """Raises CommandError."""
        self._thread.start()
        try:
            self._opened.result()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the engine could not be opened, its loop is closed
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def call(
        self, work: Callable[[Engine], Coroutine[Any, Any, T]], on_interrupt: Callable[[], None] | None = None
    ) -> T:
        future = asyncio.run_coroutine_threadsafe(work(self._opened.result()), self._loop)
        while True:
            try:
                return future.result()
            except KeyboardInterrupt:
                if on_interrupt is None:
                    raise
                self._loop.call_soon_threadsafe(on_interrupt)

    def _live(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            try:
                runner.run(self._main())
            except Exception as error:
                if self._opened.done():
                    raise
                self._opened.set_exception(error)

    async def _main(self) -> None:
        async with open_engine(self._arguments, self._screen) as engine:
            self._opened.set_result(engine)
            await self._closing.wait()
