"""Just enough of the WebAssembly binary format to replace a module's data section.

Used at build time to write an initialised memory back into the module (what Wizer does). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MEMORY, GLOBAL, START, DATA, DATA_COUNT, CUSTOM = 5, 6, 8, 11, 12, 0
PAGE = 65536


@dataclass(frozen=True, slots=True)
class Section:
    id: int
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
    """How many mutable globals of 32 bits the module has: memory alone does not hold their values."""
    for section in sections(module):
        if section.id == GLOBAL:
            count, at = read_leb(section.body, 0)
            mutable = 0
            for _ in range(count):
                mutable += section.body[at + 1]
                at = section.body.index(0x0B, at + 2) + 1  # an i32.const initialiser, then end
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
            case 0:
                continue
            case 5:
                body = b"\x01\x00" + leb(pages)
            case 11:
                body = data
            case 12:
                body = leb(len(segments))
            case 8:
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
