"""A zygote whose workers tell which modules they have loaded."""

from __future__ import annotations

import sys
from typing import NoReturn

import msgspec
from codemode_runtime import wire, zygote
from codemode_runtime.line import Line
from codemode_runtime.loading import Loaded
from msgspec import Raw


def main(control_fd: int, host_pid: int) -> NoReturn:
    zygote.main(control_fd, host_pid, _serve)


def _serve(line: Line, loaded: Loaded, parent_pid: int, hurry: bool) -> None:
    line.send(wire.encode(wire.Ready(())))
    line.receive()
    modules = sorted(sys.modules)
    result = Raw(msgspec.json.encode({"value": modules, "lossy": []}))
    line.send(wire.encode(wire.Done((), result)))
    line.receive()
