"""The process beside a test session that owns its PostgreSQL server, so that both end together.

Reads orders, a line each, from its input, and answers `done` or `failed: …`: `start`, `stop` (as an operator
does), `crash` (as a power cut does). The end of its input, however the session ended, stops the server and
removes its folder. If the keeper itself is killed, the kernel stops the server.

    python -m tests.harness.postgres_keeper FOLDER INSTALLED
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.harness.patience import PATIENCE_SECONDS

_USER = 65534 if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root; None changes nothing
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)
_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "io_method": "sync",  # no extra processes
    "fsync": "off",  # no test cuts the power; benchmarks turn it on
    "log_min_messages": "warning",
}


class Server:
    """One server in one folder: `data`, `log`, and the socket."""

    def __init__(self, folder: Path, installed: Path, settings: dict[str, str]) -> None:
        self._folder = folder
        self._programs = installed / "bin"
        self._settings = {**_SETTINGS, **settings, "unix_socket_directories": str(folder)}
        self._process: subprocess.Popen[bytes] | None = None

    def create(self) -> None:
        self._run("initdb", "--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale")

    def start(self) -> None:
        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._folder / "data", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_end_with_keeper,
                start_new_session=True,  # what is sent to the session's group is not for the server
                user=_USER,
                group=_USER,
            )
        until = time.monotonic() + PATIENCE_SECONDS
        # the last line of this file says how far the server is; pg_ctl looks there as well
        while not (self._is_ready() and self._answers()):
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError((self._folder / "log").read_text())
            time.sleep(0.01)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(PATIENCE_SECONDS)

    def _is_ready(self) -> bool:
        try:
            lines = (self._folder / "data" / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return self._process is not None and lines[:1] == [str(self._process.pid)] and "ready" in lines[-1]

    def _answers(self) -> bool:
        """Whether a connection is taken: on a busy machine the file can be ahead of the socket."""
        with socket.socket(socket.AF_UNIX) as line:
            return line.connect_ex(str(self._folder / ".s.PGSQL.5432")) == 0

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments, "-D", self._folder / "data"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            user=_USER,
            group=_USER,
        )


def main(folder: Path, installed: Path, *settings: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the session's; its end is told by the pipe
    server = Server(folder, installed, dict(setting.split("=", 1) for setting in settings))
    try:
        server.create()
        _answer(None)
        orders = {
            "start": server.start,
            "stop": server.stop,
            "crash": lambda: server.stop(signal.SIGQUIT),
        }
        for line in sys.stdin:
            try:
                orders[line.strip()]()
            except Exception as error:  # whoever gave the order is told
                _answer(error)
            else:
                _answer(None)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _answer(error: Exception | None) -> None:
    print("done" if error is None else f"failed: {error!r}", flush=True)


def _end_with_keeper() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
