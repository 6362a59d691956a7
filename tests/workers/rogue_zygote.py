"""A zygote whose workers have other habits: the program they are sent names what they do instead.

Real processes on a real socket, confined like the real ones. `probe` is the hook into a confined process that
no real worker has.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import NoReturn

import msgspec
from codemode_runtime import batches, confine, orders, wire, zygote
from codemode_runtime.frames import encode_frame
from codemode_runtime.line import Line
from codemode_runtime.loading import Loaded
from codemode_runtime.shapes import MAX_OUTPUT_ITEMS

DONE = b'{"type":"done","messages":[],"spent":{},"result":{"value":%s,"lossy":[]}}'
IDLE = wire.encode(wire.Idle((), False, 0, 0, 0))
_PTRACE_ATTACH = 16
_READY = wire.encode(wire.Ready(()))


def main(control_fd: int, host_pid: int) -> NoReturn:
    zygote.main(control_fd, host_pid, _serve)


def _serve(line: Line, loaded: Loaded, parent_pid: int, hurry: bool) -> None:
    connection = line._connection  # pyright: ignore[reportPrivateUsage] - to break the rules of frames
    probes = _probes(parent_pid)
    layers = confine.confine_worker(loaded.data_bytes, parent_pid) if loaded.confined else []
    line.send(wire.encode(wire.Ready(tuple(layers))))
    while (frame := line.receive()) is not None:
        order = orders.decode(frame.head)
        if isinstance(order, orders.StartLeg):
            _misbehave(order.program, line, connection, probes)


def _misbehave(
    habit: str, line: Line, connection: socket.socket, probes: dict[str, Callable[[], object]]
) -> None:
    match habit.split(":"):
        case ["probe", name]:
            line.send(DONE % msg(_attempt(probes[name])))
        case ["garbage"]:
            connection.sendall(bytes(range(256)) * 8)
        case ["half a frame"]:
            connection.sendall(struct.pack("<II", 1000, 0) + b'{"type":"do')
            os._exit(0)
        case ["a gigabyte announced"]:
            connection.sendall(struct.pack("<II", 1 << 30, 0))
        case ["a tail nobody asked for"]:
            line.send(IDLE, b"tail")
        case ["a tail larger than any batch"]:
            connection.sendall(struct.pack("<II", len(IDLE), 100 << 20) + IDLE)
        case ["a million timers"]:
            timers = b"[" + b",".join([b'{"type":"timer","id":1,"ms":9}'] * 2000) + b"]"
            line.send(wire.encode(wire.Idle((), False, 0, 9, 0, chunks=500)), batches.pack([timers] * 500))
        case ["many messages in a large chunk"]:
            timers = b"[" + b",".join([b'{"type":"clear","id":1}'] * 4000) + b"]"
            line.send(wire.encode(wire.Idle((), False, 0, 9, 0, chunks=1)), batches.pack([timers]))
        case ["fewer chunks than it says"]:
            line.send(wire.encode(wire.Idle((), False, 0, 0, 0, chunks=2)), batches.pack([b"[]"]))
        case ["more chunks than messages"]:
            line.send(wire.encode(wire.Idle((), False, 0, 0, 0, chunks=1 << 30)), b"xxxx")
        case ["a result before its end"]:
            line.send(wire.encode(wire.Idle((), False, 0, 0, 0, apart=True)), batches.pack([b"{}"]))
        case ["a result of many losses"]:
            losses = b",".join([b'{"path":"$","kind":"x"}'] * 200_000)
            result = b'{"value":1,"lossy":[' + losses + b"]}"
            line.send((DONE % b"1")[:-1] + b',"apart":true}', batches.pack([result]))
        case ["asks without reading"]:
            asked = wire.encode(wire.LookupRequest(0, ""))
            connection.sendall(encode_frame(asked) * 2000)
            _sleep_forever()
        case ["no JSON"]:
            line.send(b"\xff\xfe not JSON")
        case ["an unknown message"]:
            line.send(b'{"type":"surprise"}')
        case ["an unknown field"]:
            line.send((DONE % b"1")[:-1] + b',"extra":1}')
        case ["deep JSON"]:
            line.send(DONE % (b"[" * 100_000 + b"]" * 100_000))
        case ["too many empty texts"]:
            texts = tuple(wire.Text("") for _ in range(MAX_OUTPUT_ITEMS + 1))
            line.send(wire.encode(wire.Idle(texts, False, 1, 0, 0)))
        case ["ready again"]:
            line.send(_READY)
        case ["calls", *ids]:
            line.send(calling(int(number) for number in ids))
        case ["two answers"]:
            line.send(DONE % b"1")
            line.send(DONE % b"2")
        case ["a capture"]:
            line.send(wire.encode(wire.Captured(0, 0)))
        case ["only closes its socket"]:
            connection.shutdown(socket.SHUT_RDWR)
            _sleep_forever()
        case ["exits", status]:
            os._exit(int(status))
        case ["never answers"]:
            _sleep_forever()
        case ["answers, then stops reading"]:
            line.send(IDLE)
            _sleep_forever()
        case ["floods"]:
            while True:
                connection.sendall(struct.pack("<II", 64 << 20, 0) + b" " * (1 << 20))
        case _:
            line.send(DONE % b"null")


def calling(ids: Iterable[int]) -> bytes:
    """A guest that waits for calls of these ids."""
    calls = tuple(wire.Call(number, "call", "echo", msgspec.Raw(b"[{}]")) for number in ids)
    return wire.encode(wire.Idle(calls, False, len(calls), 0, 0))


def msg(text: str) -> bytes:
    return b'"' + text.encode() + b'"'


def _attempt(act: Callable[[], object]) -> str:
    try:
        act()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "OSError")
    return "it worked"


def _probes(parent_pid: int) -> dict[str, Callable[[], object]]:
    """Made before confinement, so that a failure is confinement's and not an import's."""
    libc = ctypes.CDLL(None, use_errno=True)

    def ptrace() -> None:
        if libc.ptrace(_PTRACE_ATTACH, parent_pid, 0, 0) < 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def environment() -> None:
        if not os.environ.keys() - {"LC_CTYPE"}:
            raise OSError(errno.ENODATA, "empty")

    return {
        "file": lambda: open("/etc/passwd"),
        "write": lambda: open("/tmp/escaped", "w"),
        "socket": socket.socket,
        "process": lambda: subprocess.run([sys.executable, "-V"], check=False),
        "fork": os.fork,
        "environment": environment,
        "environment of the process": lambda: open("/proc/self/environ"),
        "ptrace": ptrace,
        "signal": lambda: os.kill(parent_pid, 9),
    }


def _sleep_forever() -> NoReturn:
    while True:
        select.poll().poll()
