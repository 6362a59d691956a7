"""The engine for code without an event loop: the same names, each call blocking until its answer is there.

A thin front: one thread with one event loop, in which an ordinary Engine lives.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from codemode.contract import CodeModeResult
from codemode.engine import Engine

T = TypeVar("T")


class BlockingEngine:
    """`with BlockingEngine(...) as engine`; takes what Engine takes. Safe to call from several threads."""

    def __init__(self, tools: Iterable[Any] = (), config: object = True, **options: Any) -> None:
        self.engine = Engine(tools, config, **options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="codemode", daemon=True)

    def __enter__(self) -> BlockingEngine:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        self._thread.start()
        try:
            self._do(self.engine.start())
        except BaseException:
            self._stop()
            raise

    def close(self) -> None:
        if self._thread.is_alive():
            try:
                self._do(self.engine.close())
            finally:
                self._stop()

    def exec(
        self, given: str | Mapping[str, Any], language: str | None = None, **options: Any
    ) -> CodeModeResult:
        return self._do(self.engine.exec(given, language, **options))

    def wait(self, given: str | Mapping[str, Any], **options: Any) -> CodeModeResult:
        return self._do(self.engine.wait(given, **options))

    def abort(self, run_id: str, **options: Any) -> bool:
        return self._do(self.engine.abort(run_id, **options))

    def abort_session(self, session: str, **options: Any) -> int:
        return self._do(self.engine.abort_session(session, **options))

    def approve(self, run_id: str, approval_id: str, **options: Any) -> bool:
        return self._do(self.engine.approve(run_id, approval_id, **options))

    def deny(self, run_id: str, approval_id: str, **options: Any) -> bool:
        return self._do(self.engine.deny(run_id, approval_id, **options))

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        """An interrupted wait cancels what it waited for."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def run(
    program: str | Mapping[str, Any],
    tools: Iterable[Any] = (),
    config: object = True,
    *,
    language: str | None = None,
    **options: Any,
) -> CodeModeResult:
    """One program, from start to end: goes on waiting while it waits for tools. An approval that is asked for
    and that no `approve` handler answers ends it as `waiting`, since nobody else could."""
    with BlockingEngine(tools, config, **options) as engine:
        result = engine.exec(program, language)
        while result.status == "waiting" and result.reason != "approval":
            result = engine.wait(result.run_id)
        return result
