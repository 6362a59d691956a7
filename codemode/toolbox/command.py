"""One command under way: its guard, what it said, how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, Literal

from codemode.toolbox.output_tail import OutputTail
from codemode.tools import ToolError
from codemode.tools.threads import call_in_thread

Status = Literal["running", "exited", "killed", "timed_out"]

_GUARD = Path(__file__).with_name("command_guard.py")
_GRACE_SECONDS = 0.5  # between asking processes to end and killing them
_KILL_SECONDS = 15.0  # for the guard to end them all
_HELD_OPEN_SECONDS = 1.0  # for the end of the output after the end of the command
_BLOCK = 64 * 1024
_MARK = "CODEMODE_COMMAND"  # in the environment of all processes of a command
_ROUNDS = 200
_FLOOD = 1024 * 1024


class Command:
    """`start` it once; `ended` is set when no process of it is left."""

    def __init__(self, text: str, output_bytes: int) -> None:
        self.text = text
        self.output = OutputTail(output_bytes)
        self.ended = asyncio.Event()
        self.status: Status = "running"
        self.code: int | None = None
        self.left_behind = 0
        self._began = time.monotonic()
        self._lasted: float | None = None
        self._guard: asyncio.subprocess.Process | None = None
        self._input: int | None = None
        self._wanted: Status | None = None
        self._token = secrets.token_hex(16)
        self._follower: asyncio.Task[None] | None = None

    @property
    def duration_ms(self) -> int:
        return round(((time.monotonic() - self._began) if self._lasted is None else self._lasted) * 1000)

    async def start(
        self, argv: list[str], folder: int, environment: dict[str, str], *, has_input: bool
    ) -> None:
        """Raises OSError if no process can be started. `folder` stays the caller's to close."""
        given_in, given_out = os.pipe() if has_input else (None, None)
        environment = environment | {_MARK: self._token}
        order = {
            "argv": argv,
            "environment": environment,
            "folder": folder,
            "input": given_in,
            "grace": _GRACE_SECONDS,
        }
        try:
            self._guard = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(_GUARD)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=[folder] if given_in is None else [folder, given_in],
                env={"PATH": os.defpath, "CODEMODE_ORDER": json.dumps(order)},
                start_new_session=True,
            )
        except BaseException:
            if given_out is not None:
                os.close(given_out)
            raise
        finally:
            if given_in is not None:
                os.close(given_in)
        if given_out is not None:
            os.set_blocking(given_out, False)
            self._input = given_out
        self._follower = asyncio.create_task(self._follow(self._guard), name="codemode command")

    def write(self, data: bytes) -> int:
        """Gives the command input, as much as its pipe takes now."""
        if self._input is None:
            raise ToolError("The input of this process is closed.", code="closed")
        try:
            return os.write(self._input, data)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise ToolError("The process does not read its input any more.", code="closed") from None

    def close_input(self) -> None:
        if self._input is not None:
            os.close(self._input)
            self._input = None

    async def stop(self, status: Status = "killed") -> None:
        """Ends the command and everything that came of it; returns when nothing is left."""
        self._wanted = self._wanted or status
        guard = self._guard
        if guard is None or self.ended.is_set():
            return
        if guard.stdin is not None:
            guard.stdin.close()  # the guard takes it as the order to end them all
        try:
            await asyncio.wait_for(self.ended.wait(), _KILL_SECONDS)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(guard.pid, signal.SIGKILL)
            await self.ended.wait()

    async def _follow(self, guard: asyncio.subprocess.Process) -> None:
        assert guard.stdout is not None
        assert guard.stderr is not None
        reading = asyncio.create_task(self._read(guard.stdout), name="codemode command output")
        try:
            told = await guard.stderr.read()
            if not told:  # the command killed its guard
                await call_in_thread("command", partial(_end_marked, self._token))
            await asyncio.wait([reading], timeout=_HELD_OPEN_SECONDS)
            await guard.wait()
        finally:
            reading.cancel()
            self.close_input()
            self._lasted = time.monotonic() - self._began
        self._end(told)

    async def _read(self, said: asyncio.StreamReader) -> None:
        since_rest = 0
        while block := await said.read(_BLOCK):
            self.output.add(block)
            since_rest += len(block)
            if self.output.omitted and since_rest >= _FLOOD:
                since_rest = 0
                await asyncio.sleep(0.01)  # a flood waits in its pipe, not in the host's loop

    def _end(self, told: bytes) -> None:
        try:
            ending: dict[str, Any] = json.loads(told)
            self.code, self.left_behind = int(ending["code"]), int(ending["left"])
            self.status = self._wanted or "exited"
        except (ValueError, KeyError, TypeError):
            self.status = self._wanted or "killed"  # somebody killed the guard
        self.ended.set()


def _end_marked(token: str) -> None:
    """Kills what a guard left that was killed itself: all processes that have its mark."""
    mark = f"{_MARK}={token}".encode()
    for _ in range(_ROUNDS):
        left = [pid for pid in _processes() if mark in _environment(pid).split(b"\0")]
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _processes() -> list[int]:
    return (
        [int(name) for name in os.listdir("/proc") if name.isdigit()] if os.path.isdir("/proc/self") else []
    )


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""  # ended, or somebody else's
