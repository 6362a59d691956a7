"""A child process, and the thread that starts it, waits for it and tells the loop when it has ended.

The thread lives exactly as long as the process, because the kernel sends the death signal when the *thread*
that started the process ends: a zygote started from a short-lived thread would die with that thread.
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
# -I and -S keep out the user's environment and site configuration, so the module path is passed as arguments.
# The dynamic linker has read its variable by then, and a worker has an empty environment.
_BOOT = """
import os, sys
os.environ.pop("LD_LIBRARY_PATH", None)
fd, pid, entry, *sys.path = sys.argv[1:]
__import__(entry, fromlist=["main"]).main(int(fd), int(pid))
"""


class End(NamedTuple):
    """`status` is None if the process could not be started. `complaint`: what it printed while starting."""

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
        # raised by a closed loop, where no task is left that could be told
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ended, end)

    def _run(self) -> End:
        try:
            # no shell and no user input: it starts our own interpreter
            process = subprocess.Popen(  # noqa: S603
                self._command,
                env=_linker_path(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(self._descriptor,),
                start_new_session=True,  # so that Ctrl-C reaches the host alone
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
            # the loop ends when the process has loaded everything: it then closes its end
            while chunk := os.read(stderr.fileno(), _MAX_COMPLAINT):
                complaint = (complaint + chunk)[-_MAX_COMPLAINT:]
        return End(process.wait(), complaint.decode(errors="replace").strip())

    def _ended(self, end: End) -> None:
        self._thread.join()
        self._on_end(end)


def _linker_path() -> dict[str, str]:
    """Some interpreters do not start without it: their libpython lies in a folder that only it names. The
    child starts in another folder, so its entries become absolute."""
    given = os.environ.get("LD_LIBRARY_PATH")
    if not given:
        return {}
    return {"LD_LIBRARY_PATH": ":".join(os.path.abspath(entry) for entry in given.split(":"))}
