"""A zygote whose workers leave out their own stage of confinement, as on a system without seccomp."""

from __future__ import annotations

from typing import NoReturn

from codemode_runtime import confine, wire, zygote
from codemode_runtime.line import Line
from codemode_runtime.loading import Loaded


def main(control_fd: int, host_pid: int) -> NoReturn:
    zygote.main(control_fd, host_pid, _serve)


def _serve(line: Line, loaded: Loaded, parent_pid: int, hurry: bool) -> None:
    layers = [
        layer if layer.name != "seccomp" else confine.Layer("seccomp", "missing", "as if it were not there")
        for layer in confine.confine_worker(loaded.data_bytes, parent_pid)
    ]
    line.send(wire.encode(wire.Ready(tuple(layers))))
    line.receive()
