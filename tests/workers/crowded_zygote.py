"""A real zygote on a system that allows it one process, as a pids limit does when it is reached."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from itertools import count
from typing import NoReturn

from codemode_runtime import zygote


def main(control_fd: int, host_pid: int) -> NoReturn:
    os.fork = _crowded(os.fork)
    zygote.main(control_fd, host_pid)


def _crowded(fork: Callable[[], int]) -> Callable[[], int]:
    asked = count()

    def fork_or_refuse() -> int:
        if next(asked):
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return fork()

    return fork_or_refuse
