"""What the machine itself takes: a copy, a message to another process and back, a process.

The "program" of a request names the operation. Nothing that does the same work can be below these.
"""

from __future__ import annotations

import ctypes
import os

from bench.side_by_side.subjects.serve import Ran, Subject, now_ms, serve

BATCH = 16  # a round trip and a copy are too short to be timed one by one


class Floor(Subject):
    async def open(self) -> None:
        size = 8 << 20
        self._source = os.urandom(size)
        self._target = ctypes.create_string_buffer(size)
        ctypes.memset(self._target, 1, size)  # touched, or page faults would be timed
        self._write, self._read = echo_process()

    async def run(self, program: str, language: str) -> Ran:  # noqa: ARG002
        name, _, size = program.partition(" ")
        began = now_ms()
        match name:
            case "copy":
                for _ in range(BATCH):
                    ctypes.memmove(self._target, self._source, int(size))
            case "pipe":
                for _ in range(BATCH):
                    os.write(self._write, b"x" * 64)
                    os.read(self._read, 64)
            case "fork":
                fork_and_wait()
                return Ran(None, now_ms() - began)
            case _:
                raise ValueError(program)
        return Ran(None, (now_ms() - began) / BATCH)


def echo_process() -> tuple[int, int]:
    """A child that sends back what it reads: the ends to write to and to read from."""
    there_read, there_write = os.pipe()
    back_read, back_write = os.pipe()
    if os.fork() == 0:
        os.close(there_write)
        os.close(back_read)
        while data := os.read(there_read, 64):
            os.write(back_write, data)
        os._exit(0)
    os.close(there_read)
    os.close(back_write)
    return there_write, back_read


def fork_and_wait() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    serve(Floor())
