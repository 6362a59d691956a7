"""A child process and the thread that keeps it: starts it, waits for it, tells the loop of its end.

The thread lives exactly as long as the process, because the kernel's death signal fires when the *thread*
that started a process ends: started from a passing thread, a zygote would die with that thread.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

_MAX_COMPLAINT = 4096
# -I and -S: nothing of the user's environment or site configuration; where modules are is handed over.
_BOOT = """
import sys
fd, pid, entry, *sys.path = sys.argv[1:]
__import__(entry, fromlist=["main"]).main(int(fd), int(pid))
"""


class End(NamedTuple):
    """`status` is None if the process could not be started. `complaint` is what it printed as it started."""

    status: int | None
    complaint: str


class ChildProcess:
    """Owns the process from `__init__` on; `on_end` is called in the loop, exactly once."""

    def __init__(self, entry: str, descriptor: int, on_end: Callable[[End], None]) -> None:
        """`entry` is a module with a `main(control_fd, host_pid)`. `descriptor` is closed here."""
        self._descriptor = descriptor
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._command = [sys.executable, "-I", "-S", "-c", _BOOT, str(descriptor), str(os.getpid()), entry]
        self._command += [os.path.abspath(entry) for entry in sys.path if entry]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_unwanted = False
        self._thread = threading.Thread(target=self._keep, name="codemode-keeper", daemon=True)
        self._thread.start()

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
        # a loop that is closed has nobody left to tell
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ended, end)

    def _run(self) -> End:
        try:
            # not shell, no user input: our own interpreter
            process = subprocess.Popen(  # noqa: S603
                self._command,
                env={},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(self._descriptor,),
                start_new_session=True,  # Ctrl-C is the host's to handle
            )
        except OSError as error:
            return End(None, str(error))
        finally:
            os.close(self._descriptor)
        with self._lock:
            self._process = process
            if self._is_unwanted:
                process.kill()
        assert process.stderr is not None
        complaint = b""
        with process.stderr as stderr:
            # ends when the process has everything loaded: it closes its end then
            while chunk := os.read(stderr.fileno(), _MAX_COMPLAINT):
                complaint = (complaint + chunk)[-_MAX_COMPLAINT:]
        return End(process.wait(), complaint.decode(errors="replace").strip())

    def _ended(self, end: End) -> None:
        self._thread.join()
        self._on_end(end)
