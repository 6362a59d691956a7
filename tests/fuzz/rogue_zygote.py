"""A zygote whose workers send, order by order, the bytes that the program they were started with holds."""

from __future__ import annotations

import base64
import binascii
from contextlib import suppress
from typing import NoReturn

from codemode_runtime import confine, orders, wire, zygote
from codemode_runtime.line import Line
from codemode_runtime.loading import Loaded


def main(control_fd: int, host_pid: int) -> NoReturn:
    zygote.main(control_fd, host_pid, _serve)


def _serve(line: Line, loaded: Loaded, parent_pid: int, hurry: bool) -> None:
    connection = line._connection  # pyright: ignore[reportPrivateUsage] - to break the rules of frames
    if loaded.confined:
        confine.confine_worker(loaded.data_bytes, parent_pid)
    line.send(wire.encode(wire.Ready(())))
    replies: list[bytes] = []
    while (frame := line.receive()) is not None:
        order = orders.decode(frame.head)
        if isinstance(order, orders.StartLeg):
            replies = order.program.encode().split()
        if not replies:
            return  # one that is silent is waited for; tests/workers has it
        with suppress(binascii.Error):
            connection.sendall(base64.b64decode(replies.pop(0)))
