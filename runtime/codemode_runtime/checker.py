"""The checker process: says of one text at a time whether it is a program, and makes JavaScript of it.

It parses hostile text, so it is a process of its own, confined as the workers are that run programs
(runtime/runner); the host gives it what those leave in doubt, and TypeScript. zygote.py starts it; any
failure here ends the process, and the host fails that one run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import NoReturn

from codemode_runtime import orders, wire
from codemode_runtime.compile import SourceError, prepare
from codemode_runtime.frames import FrameRefused
from codemode_runtime.language import Language
from codemode_runtime.line import Line
from codemode_runtime.shapes import Layer
from codemode_runtime.watchdog import Interruptible, Watchdog
from codemode_runtime.wire import Message
from codemode_runtime.zygote_wire import Flavour

# Uses what most texts make a check do: a parser for the words of modules, the compiler for the types.
_SAMPLES: dict[Language, tuple[str, ...]] = {
    "javascript": ("const process = 1; return process", "import x from 'x'"),
    "typescript": ("enum E { A } return E.A as number", "const = 1", "import x from 'x'; x()"),
}


class CheckerLoop:
    """Serves frames until the host closes the socket. Make it before confinement: it starts a thread."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._watchdog = Watchdog(self._answer_and_exit)
        self._watchdog.start()

    def serve(self, layers: Sequence[Layer]) -> None:
        """`layers` is what confinement did to this process."""
        self._send(wire.Ready(tuple(layers)))
        while (frame := self._line.receive()) is not None:
            self._obey(orders.decode(frame.head))

    def _obey(self, order: orders.Order) -> None:
        match order:
            case orders.CheckText(budget_ms=budget_ms):
                self._watchdog.arm(time.monotonic() + budget_ms / 1000)
                self._watchdog.enter(None)
                message, code = _check(order)
                self._watchdog.leave()
                self._send(message, code)
            case orders.Attend():
                self._line.attend()
            case orders.Reset():
                self._watchdog.arm(None)
                self._send(wire.Ready(()))
            case _:
                raise FrameRefused("a checker runs no program")

    def _send(self, message: Message, tail: bytes = b"") -> None:
        self._line.send(wire.encode(message), tail)

    def _answer_and_exit(self, _: Interruptible | None) -> NoReturn:
        """Runs in the watchdog's thread: the text takes too long."""
        try:
            self._send(wire.Interrupted[wire.GuestMessages](()))
        finally:
            os._exit(0)


def rehearse(flavour: Flavour) -> None:
    """Checks texts for nobody: in a zygote, because nothing can be loaded after confinement; in a fork,
    because touching the pages that it shares takes longer than a short check."""
    language: Language = "typescript" if flavour == "typescript" else "javascript"
    for text in _SAMPLES[language]:
        _check(orders.CheckText(text, language, 0))


def _check(order: orders.CheckText) -> tuple[wire.Checked | wire.Refused, bytes]:
    began = time.perf_counter_ns()
    try:
        code = prepare(order.program, order.language, allow={order.language}).code
    except SourceError as error:
        return wire.Refused(error.code, error.message, error.line, error.column, error.source_line), b""
    return wire.Checked((time.perf_counter_ns() - began) // 1000), code.encode()
