"""Starts the process of a zygote, and of the first one before the engine is loaded.

For a command line the two together are the cold start: what the host imports and what a zygote imports take
about as long, and there are two processors. So a command that will need a worker starts the process first,
and the engine's first zygote takes it over. Loads nothing of the engine, not even asyncio.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

ZYGOTE = "codemode_runtime.zygote"  # of checkers, in Python
NATIVE = "native"  # instead of a module: the runner in C
# -I and -S keep out the user's environment and site configuration, so the module path is passed as arguments.
# The dynamic linker has read its variable by then, and a worker has an empty environment.
_BOOT = """
import os, sys
os.environ.pop("LD_LIBRARY_PATH", None)
fd, pid, entry, *sys.path = sys.argv[1:]
__import__(entry, fromlist=["main"]).main(int(fd), int(pid))
"""


class Started(NamedTuple):
    """A process that loads what a zygote needs and waits for its setup; `control` is our end of the line."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    host_pid: int


_ahead: list[Started] = []  # at most one


@contextmanager
def ahead() -> Generator[None]:
    """Starts a zygote's process now. Ends it afterwards if no engine took it.

    Enter it in a thread that outlives the engine: the process dies with the thread that started it.
    """
    try:
        ours, theirs = socket.socketpair()
        try:
            _ahead.append(Started(start_process(NATIVE, theirs.fileno()), ours, os.getpid()))
        finally:
            theirs.close()
    except OSError:  # an engine will try again, and tell why it cannot
        pass
    try:
        yield
    finally:
        while _ahead:
            end_ahead(_ahead.pop())


def take_ahead(entry: str) -> Started | None:
    """The process that was started ahead, for the first that asks; it is the taker's from then on."""
    if entry != NATIVE or not _ahead or _ahead[0].host_pid != os.getpid():
        return None
    started = _ahead.pop()
    if started.process.poll() is None:
        return started
    end_ahead(started)
    return None


def start_process(entry: str, descriptor: int, image: Path | None = None) -> subprocess.Popen[bytes]:
    """Starts the runner with an image, or our own interpreter with a module that has a
    `main(control_fd, host_pid)`. Raises OSError."""
    if entry == NATIVE:
        command, variables = _native_command(descriptor, image), dict[str, str]()
    else:
        command = [sys.executable, "-I", "-S", "-c", _BOOT, str(descriptor), str(os.getpid()), entry]
        command += [os.path.abspath(folder) for folder in sys.path if folder]
        variables = _linker_path()
    # no shell and no user input
    return subprocess.Popen(  # noqa: S603
        command,
        env=variables,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(descriptor,),
        start_new_session=True,  # so that Ctrl-C reaches the host alone
    )


def _native_command(descriptor: int, image: Path | None) -> list[str]:
    from codemode_runtime import native
    from codemode_runtime.image import ImageUnavailable

    try:
        return native.command(descriptor, os.getpid(), image)
    except ImageUnavailable as error:
        raise OSError(str(error)) from None


def end_ahead(started: Started) -> None:
    started.control.close()
    started.process.kill()
    with started.process as process:  # closes its pipe
        process.wait()


def _linker_path() -> dict[str, str]:
    """Some interpreters do not start without it: their libpython lies in a folder that only it names. The
    child starts in another folder, so its entries become absolute."""
    given = os.environ.get("LD_LIBRARY_PATH")
    if not given:
        return {}
    return {"LD_LIBRARY_PATH": ":".join(os.path.abspath(entry) for entry in given.split(":"))}
