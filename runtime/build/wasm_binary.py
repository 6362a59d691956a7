"""Just enough of the WebAssembly binary format to replace a module's data section.

Used at build time to write an initialised memory back into the module (what Wizer does). Pure.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

PAGE = 65536
_INTEGER_CONST = 0x41, 0x42  # i32.const, i64.const


class Kind(enum.IntEnum):
    """The sections that matter here."""

    CUSTOM = 0
    MEMORY = 5
    GLOBAL = 6
    START = 8
    DATA = 11
    DATA_COUNT = 12


@dataclass(frozen=True, slots=True)
class Section:
    id: int  # a Kind, or one that is only copied
    body: bytes


def sections(module: bytes) -> Iterator[Section]:
    at = 8
    while at < len(module):
        kind = module[at]
        size, at = read_leb(module, at + 1)
        yield Section(kind, module[at : at + size])
        at += size


def read_leb(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def leb(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed_leb(value: int) -> bytes:
    out = bytearray()
    while True:
        byte = value & 0x7F
        value >>= 7
        if (value == 0 and not byte & 0x40) or (value == -1 and byte & 0x40):
            out.append(byte)
            return bytes(out)
        out.append(byte | 0x80)


def mutable_globals(module: bytes) -> int:
    """How many mutable globals the module has: their values are in no memory. Integers only."""
    for section in sections(module):
        if section.id == Kind.GLOBAL:
            count, at = read_leb(section.body, 0)
            mutable = 0
            for _ in range(count):
                _, is_mutable, opcode = section.body[at : at + 3]
                if opcode not in _INTEGER_CONST:
                    raise ValueError(f"a global starts with opcode {opcode:#x}, not an integer constant")
                mutable += is_mutable
                _, at = read_leb(section.body, at + 3)
                at += 1  # end of the expression
            return mutable
    return 0


def with_memory(module: bytes, memory: bytes) -> bytes:
    """The module with its memory initialised to these bytes, and custom sections left out."""
    pages, rest = divmod(len(memory), PAGE)
    assert rest == 0
    segments = list(_segments(memory))
    data = leb(len(segments)) + b"".join(
        b"\x00\x41" + signed_leb(offset) + b"\x0b" + leb(len(chunk)) + chunk for offset, chunk in segments
    )
    out = bytearray(module[:8])
    for section in sections(module):
        body = section.body
        match section.id:
            case Kind.CUSTOM:
                continue
            case Kind.MEMORY:
                body = b"\x01\x00" + leb(pages)  # one memory, no maximum of its own
            case Kind.DATA:
                body = data
            case Kind.DATA_COUNT:
                body = leb(len(segments))
            case Kind.START:
                raise ValueError("the module has a start function, which would run again")
            case _:
                pass
        out += bytes([section.id]) + leb(len(body)) + body
    return bytes(out)


def _segments(memory: bytes, page: int = 4096) -> Iterator[tuple[int, bytes]]:
    """Runs of pages that are not all zero."""
    zero = bytes(page)
    start: int | None = None
    for at in range(0, len(memory) + page, page):
        used = at < len(memory) and memory[at : at + page] != zero
        if used and start is None:
            start = at
        elif not used and start is not None:
            yield start, memory[start:at]
            start = None
