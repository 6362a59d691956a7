"""Running the command line: in this process, as a process, and in a terminal that a test types into."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from codemode.cli import main
from tests.harness.patience import PATIENCE_SECONDS

TOOLS = str(Path(__file__).parents[1] / "cli" / "cli_tools.py")
COMMAND = Path(sys.executable).with_name("codemode")
CONTROL_C = "\x03"
_PRESSES = 10
_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@dataclass(frozen=True)
class Told:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Cli:
    """`cli("run", "-e", "return 1")`, in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str | Path) -> Told:
        code = main([str(argument) for argument in arguments])
        said = self._capsys.readouterr()
        return Told(code, said.out, said.err)


def as_process(*arguments: str | Path, stdin: str = "", **env: str) -> Told:
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return Told(done.returncode, done.stdout, done.stderr)


@dataclass
class Terminal:
    """A pseudo terminal with the command in it. `shown` is all it ever wrote, with its control sequences."""

    process: subprocess.Popen[bytes]
    descriptor: int
    shown: str = ""
    _seen: int = field(default=0)

    @property
    def text(self) -> str:
        return _SEQUENCE.sub("", self.shown).replace("\r\n", "\n")

    def type(self, keys: str) -> None:
        os.write(self.descriptor, keys.encode())

    def wait_for(self, pattern: str) -> str:
        """Until it shows up, after what was waited for before; control sequences do not count."""
        found = self._look_for(pattern, PATIENCE_SECONDS)
        assert found is not None, f"{pattern!r} did not come:\n{self.text[-3000:]}"
        return found

    def interrupt_the_line(self) -> None:
        """Ctrl-C at the prompt, once more if need be: a signal that comes while CPython's readline draws
        the character before is not seen until the next key."""
        for _ in range(_PRESSES):
            self.type(CONTROL_C)
            if self._look_for("> ", PATIENCE_SECONDS / _PRESSES) is not None:
                return
        raise AssertionError(f"Ctrl-C gave no new prompt:\n{self.text[-3000:]}")

    def end(self) -> int:
        """The exit code, when all is read."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._read(deadline):
            pass
        return self.process.wait(PATIENCE_SECONDS)

    def _look_for(self, pattern: str, seconds: float) -> str | None:
        deadline = time.monotonic() + seconds
        while (found := re.compile(pattern).search(self.text, self._seen)) is None:
            if not self._read(deadline):
                return None
        self._seen = found.end()
        return found[0]

    def _read(self, deadline: float) -> bool:
        ready = select.select([self.descriptor], [], [], max(0, deadline - time.monotonic()))[0]
        if not ready:
            return False
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:  # the other side is closed
            return False
        self.shown += data.decode(errors="replace")
        return bool(data)


def _own_environment() -> dict[str, str]:
    """Without the size of whatever terminal the tests were started in: it would win over the pty's own."""
    return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}


@contextlib.contextmanager
def terminal(*arguments: str | Path, columns: int = 100, rows: int = 30, **env: str) -> Generator[Terminal]:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        [COMMAND, *map(str, arguments)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**_own_environment(), "TERM": "xterm", **env},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C is a signal
    )
    os.close(follower)
    try:
        yield Terminal(process, leader)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE_SECONDS)
        os.close(leader)
