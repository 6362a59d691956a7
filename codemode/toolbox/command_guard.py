"""Runs one command and every process that comes of it, and leaves none of them behind. A program of its own.

Started as `python -I -S command_guard.py` with a JSON order in its environment. It adopts processes that
leave their parents (on Linux, as their subreaper), so that a daemon is still found. It ends them all when its
command has ended, and when its standard input is closed: the host asks for it, or died. The command's output
goes to its standard output; on its standard error it tells the host how the command ended. It uses the
standard library only and imports nothing of codemode: it must start in milliseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time
from typing import Any, NoReturn

_PR_SET_CHILD_SUBREAPER = 36
_ROUNDS = 2_000  # of killing: a fork bomb is ended in tens of them


def main() -> None:
    order = json.loads(os.environ["CODEMODE_ORDER"])
    _adopt_children()
    child = os.fork()
    if child == 0:
        _become(order)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    if order["input"] is not None:
        os.close(order["input"])
    os.close(order["folder"])
    code = _wait(child)
    left = _end_all(order["grace"])
    if code is None:
        code = _reaped.get(child, -signal.SIGKILL)
    os.write(2, json.dumps({"code": code, "left": left}).encode())
    os._exit(0)


def _adopt_children() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _become(order: dict[str, Any]) -> NoReturn:
    try:
        os.setsid()
        os.fchdir(order["folder"])
        os.close(order["folder"])
        os.dup2(1, 2)
        source = os.open(os.devnull, os.O_RDONLY) if order["input"] is None else order["input"]
        os.dup2(source, 0)
        if source > 2:
            os.close(source)
        for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(  # noqa: S606 - this is what it is for
            order["argv"][0], order["argv"], order["environment"]
        )
    except OSError as error:
        os.write(2, f"{order['argv'][0]}: {error.strerror}\n".encode())
    os._exit(127)


_reaped: dict[int, int] = {}


def _wait(child: int) -> int | None:
    """The command's exit code, negative for a signal; None if the host wants it ended first."""
    signals, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, _noted)
    while True:
        _reap()
        if child in _reaped:
            return _reaped[child]
        ready, _, _ = select.select([0, signals], [], [])
        if 0 in ready and not os.read(0, 1):
            return None
        if signals in ready:
            os.read(signals, 4096)


def _noted(_number: int, _frame: object) -> None:
    """Python then writes to the wakeup descriptor."""


def _reap() -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _reaped[pid] = os.waitstatus_to_exitcode(status)


def _end_all(grace: float) -> int:
    """Ends whatever is left, kindly at first. Returns how many processes there were."""
    left = _descendants()
    count = len(left)
    if left and grace:
        for pid in left:
            _signal(pid, signal.SIGTERM)
        end = time.monotonic() + grace
        while left and time.monotonic() < end:
            time.sleep(0.01)
            _reap()
            left = _descendants()
    for _ in range(_ROUNDS):
        left = _descendants()
        if not left:
            return count
        # stopped first, so that none forks while the others are killed
        for pid in left:
            _signal(pid, signal.SIGSTOP)
        for pid in _descendants():
            _signal(pid, signal.SIGKILL)
        _reap()
    return count


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _descendants() -> list[int]:
    """All processes below this one, by their parents; zombies are reaped, not counted."""
    _reap()
    if sys.platform != "linux":
        return []
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] not in (b"Z", b"X"):
                parents.setdefault(int(fields[1]), []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


if __name__ == "__main__":
    main()
