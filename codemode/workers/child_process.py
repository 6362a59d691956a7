"""A child process, and the thread that starts it, waits for it and tells the loop when it has ended.

The thread lives exactly as long as the process, because the kernel sends the death signal when the *thread*
that started the process ends: a zygote started from a short-lived thread would die with that thread.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

_MAX_COMPLAINT = 4096


class End(NamedTuple):
    """`status` is None if the process could not be started. `complaint`: what it printed while starting."""

    status: int | None
    complaint: str


class ChildProcess:
    """Owns the process from `__init__` on; `on_end` is called in the loop, exactly once."""

    def __init__(
        self,
        start: Callable[[], subprocess.Popen[bytes]],
        abandon: Callable[[], None],
        on_end: Callable[[End], None],
    ) -> None:
        """`start` is called in the thread, once, and may raise OSError; `abandon` if there is none."""
        self._start = start
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_unwanted = False
        self._thread = threading.Thread(target=self._keep, name="codemode-keeper", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # the system has no room for a thread
            abandon()
            self._loop.call_soon(on_end, End(None, f"no thread for it: {error}"))

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def kill(self) -> None:
        with self._lock:
            self._is_unwanted = True
            if self._process is not None:
                self._process.kill()

    def _keep(self) -> None:
        end = self._run()
        # raised by a closed loop, where no task is left that could be told
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ended, end)

    def _run(self) -> End:
        try:
            process = self._start()
        except OSError as error:
            return End(None, str(error))
        with self._lock:
            self._process = process
            if self._is_unwanted:
                process.kill()
        assert process.stderr is not None
        complaint = b""
        with process.stderr as stderr:
            # the loop ends when the process has loaded everything: it then closes its end
            while chunk := os.read(stderr.fileno(), _MAX_COMPLAINT):
                complaint = (complaint + chunk)[-_MAX_COMPLAINT:]
        return End(process.wait(), complaint.decode(errors="replace").strip())

    def _ended(self, end: End) -> None:
        self._thread.join()
        self._on_end(end)
