"""TypeScript to JavaScript, by a compiler that is itself a program in a guest.

The compiler (runtime/compiler, over the parser of Babel) runs in QuickJS in WebAssembly like the programs it
compiles: it can do nothing but compute, and a deadline or a limit stops it. It is started once and stopped
where it waits for a text; each program is compiled by a fresh copy of that state. Called by `prepare`.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from codemode_runtime import image as images
from codemode_runtime.compiled import load_machine
from codemode_runtime.guest import Guest
from codemode_runtime.image import Image, ImageUnavailable
from codemode_runtime.language import well_formed
from codemode_runtime.shapes import Limits, Settlement, Stop
from codemode_runtime.wasm import Machine
from codemode_runtime.wire import Done, Idle, Stopped

_MEMORY_BYTES = 256 << 20
_LEAST_MEMORY_BYTES = 64 << 20  # a program with a small heap is compiled all the same
_OUTPUT_BYTES = 64 << 20
_TOO_LARGE = "The TypeScript takes too much memory to compile: send a shorter program."
_TOO_DEEP = "The TypeScript is too deeply nested to compile: write it with fewer levels."
_NOT_READ = "The TypeScript cannot be compiled: write it in other words."
# Behind each text that the compiler adds; the number is how many bytes it has. See build/changes.py.
_ADDED = re.compile(rb"/\*\x01(\d+)\*/")


class NotCompiled(Exception):
    """The compiler refuses the text. `offset` counts bytes of UTF-8; "modules": for the word `reason`."""

    def __init__(self, kind: Literal["syntax", "unsupported", "modules"], reason: str, offset: int) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.offset = offset


class _Refused(msgspec.Struct, frozen=True):
    kind: Literal["syntax", "unsupported", "modules"]
    message: str
    offset: int  # in units of UTF-16


class _Translation(msgspec.Struct, frozen=True):
    code: str | None = None
    refused: _Refused | None = None


class _Returned(msgspec.Struct, frozen=True):
    value: _Translation


_read_result = msgspec.json.Decoder(_Returned).decode


class Compiler:
    """Starting it takes some 30 ms, a copy for a further program 4 ms. Raises ImageUnavailable."""

    def __init__(self, machine: Machine, image: Image, memory_bytes: int = _MEMORY_BYTES) -> None:
        self._machine, self._image = machine, image
        self._limits = Limits(memory_bytes=memory_bytes, output_bytes=_OUTPUT_BYTES)
        guest = self._new_guest()
        if not isinstance(guest.start(images.load_compiler()), Idle):
            raise ImageUnavailable("the compiler of TypeScript does not start: build it again")
        self._state = guest.capture()
        self._waiting: Guest | None = guest

    def to_javascript(self, text: str) -> str:
        """JavaScript for a program, or NotCompiled. What is left has not moved but for what is `_ADDED`."""
        guest, self._waiting = self._waiting or self._copy(), None
        outcome = guest.deliver([Settlement(1, msgspec.json.encode(text))])
        guest.close()
        match outcome:
            case Done(result=result):
                answer = _answer(result)
            case Stopped(reason=Stop.MEMORY):
                raise NotCompiled("unsupported", _TOO_LARGE, 0)
            case _:
                raise NotCompiled("unsupported", _TOO_DEEP, 0)
        if answer.refused is not None:
            found = answer.refused
            before = text.encode("utf-16-le")[: 2 * found.offset].decode("utf-16-le", "replace")
            raise NotCompiled(found.kind, found.message, len(before.encode()))
        assert answer.code is not None  # the compiler answers one or the other
        return well_formed(answer.code)

    def _copy(self) -> Guest:
        guest = self._new_guest()
        guest.restore(self._state, self._limits)
        return guest

    def _new_guest(self) -> Guest:
        return Guest(self._machine, self._image, self._limits)


def _answer(result: bytes) -> _Translation:
    """What the compiler says, which has read a hostile text."""
    try:
        return _read_result(result).value
    except msgspec.MsgspecError:
        raise NotCompiled("unsupported", _NOT_READ, 0) from None


_compiler: Compiler | None = None


def preload(machine: Machine, image: Image, memory_bytes: int) -> int:
    """Starts the compiler before confinement forbids opening files; forks share what it has loaded.

    Its heap, which this returns, is that of programs, unless they have less than it needs itself.
    """
    global _compiler
    heap = max(memory_bytes, _LEAST_MEMORY_BYTES)
    _compiler = Compiler(machine, image, heap)
    return heap


def to_javascript(text: str) -> str:
    global _compiler
    if _compiler is None:
        image = images.load()
        _compiler = Compiler(load_machine(image), image)
    return _compiler.to_javascript(text)


def source_offset(code: bytes, offset: int) -> int:
    """Where what stands in the code at `offset` stands in the program that it was made from."""
    added = sum(len(mark[0]) + int(mark[1]) for mark in _ADDED.finditer(code, 0, offset))
    return offset - added
