"""A real zygote on a system that allows it one process, as a pids limit does when it is reached."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from itertools import count
from typing import NoReturn

from codemode_runtime import wire, zygote
from codemode_runtime.line import Line
from codemode_runtime.loading import Loaded
from msgspec import Raw


def main(control_fd: int, host_pid: int) -> NoReturn:
    os.fork = _crowded(os.fork)
    zygote.main(control_fd, host_pid, _serve)


def _serve(line: Line, loaded: Loaded, parent_pid: int, hurry: bool) -> None:
    """Has a program that calls one tool and returns."""
    line.send(wire.encode(wire.Ready(())))
    line.receive()
    call = wire.Call(1, "call", "x", Raw(b"[]"))
    line.send(wire.encode(wire.Idle((call,), False, 1, 0, 0)))
    line.receive()
    line.send(wire.encode(wire.Done((), wire.Value(Raw(b"null"), ()))))
    line.receive()


def _crowded(fork: Callable[[], int]) -> Callable[[], int]:
    asked = count()

    def fork_or_refuse() -> int:
        if next(asked):
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return fork()

    return fork_or_refuse
