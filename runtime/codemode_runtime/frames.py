"""Frames cut the bytes on a socket between host, zygote and worker into messages. Pure.

A frame is two 32-bit lengths, a JSON head and a binary tail (deltas and long lookups travel as they are).
Lengths are checked against the receiver's caps before anything is kept, so that a peer cannot make the other
side allocate memory by announcing a length. A large tail is not copied on its way: new memory costs more than
reading or writing it. wire.py reads the head.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_LENGTHS = struct.Struct("<II")
HEADER_BYTES = _LENGTHS.size
MAX_HEAD = 64 << 20
MAX_TAIL = 320 << 20  # a little above the largest snapshot that can be configured


LARGE_TAIL = 128 << 10

Data = bytes | bytearray | memoryview


class FrameRefused(Exception):
    """The peer broke the protocol: nothing that it says afterwards is trusted."""

    code = "internal_error"


class FrameTooLarge(Exception):
    """The frame exceeds what a receiver accepts; nothing was sent."""

    code = "internal_error"


class Frame(NamedTuple):
    head: bytes
    tail: Data


def encode_frame(head: bytes, tail: Data = b"") -> bytes:
    return b"".join(frame_parts(head, tail))


def frame_parts(head: bytes, tail: Data = b"", prefix: bytes = b"") -> list[Data]:
    """The same in pieces to send one after the other; does not copy a large tail. Raises FrameTooLarge.

    `prefix` is what the tail begins with.
    """
    tail_len = len(prefix) + len(tail)
    if len(head) > MAX_HEAD or tail_len > MAX_TAIL:
        raise FrameTooLarge(f"a frame of {len(head)} + {tail_len} bytes")
    lengths = _LENGTHS.pack(len(head), tail_len)
    if tail_len >= LARGE_TAIL:
        return [b"".join((lengths, head, prefix)), tail]
    return [b"".join((lengths, head, prefix, tail))]


class FrameReader:
    """Collects received bytes and returns whole frames. Its caps may be changed between frames.

    Either `feed` it; or, if `space` is not None, receive into it and report how much with `filled`.
    """

    __slots__ = ("_buffer", "_filled", "_head", "_tail", "max_head", "max_tail")

    def __init__(self, max_head: int = MAX_HEAD, max_tail: int = MAX_TAIL) -> None:
        self.max_head = max_head
        self.max_tail = max_tail
        self._buffer = bytearray()
        self._head = b""
        self._tail: bytearray | None = None  # a large tail, as far as it has arrived
        self._filled = 0

    @property
    def is_mid_frame(self) -> bool:
        return bool(self._buffer) or self._tail is not None

    @property
    def space(self) -> memoryview | None:
        """The memory for the rest of a large tail; None if no such tail is on its way."""
        return None if self._tail is None else memoryview(self._tail)[self._filled :]

    def filled(self, count: int) -> list[Frame]:
        """`count` bytes were received into `space`."""
        assert self._tail is not None
        self._filled += count
        if self._filled < len(self._tail):
            return []
        frame, self._tail = Frame(self._head, self._tail), None
        return [frame]

    def feed(self, data: bytes) -> list[Frame]:
        """Every frame that `data` completes. Raises FrameRefused for lengths over the caps."""
        if not self._buffer and self._tail is None and (frame := self._whole(data)) is not None:
            return [frame]  # nearly always
        frames: list[Frame] = []
        if self._tail is not None:
            own = data[: len(self._tail) - self._filled]
            self._tail[self._filled : self._filled + len(own)] = own
            frames += self.filled(len(own))
            data = data[len(own) :]
        self._buffer += data
        while (frame := self._next()) is not None:
            frames.append(frame)
        return frames

    def _whole(self, data: bytes) -> Frame | None:
        """The frame, if `data` is exactly one."""
        if len(data) < HEADER_BYTES:
            return None
        head_len, tail_len = _LENGTHS.unpack_from(data)
        middle = HEADER_BYTES + head_len
        if len(data) != middle + tail_len or head_len > self.max_head or tail_len > self.max_tail:
            return None
        return Frame(data[HEADER_BYTES:middle], data[middle:])

    def _next(self) -> Frame | None:
        buffer = self._buffer
        if len(buffer) < HEADER_BYTES:
            return None
        head_len, tail_len = _LENGTHS.unpack_from(buffer)
        if head_len > self.max_head or tail_len > self.max_tail:
            raise FrameRefused(f"a frame of {head_len} + {tail_len} bytes was announced")
        middle = HEADER_BYTES + head_len
        end = middle + tail_len
        if len(buffer) >= end:
            with memoryview(buffer) as view:
                frame = Frame(bytes(view[HEADER_BYTES:middle]), bytes(view[middle:end]))
            del buffer[:end]
            return frame
        if tail_len >= LARGE_TAIL and len(buffer) >= middle:
            self._head = bytes(buffer[HEADER_BYTES:middle])
            self._tail, self._filled = bytearray(tail_len), len(buffer) - middle
            self._tail[: self._filled] = buffer[middle:]
            buffer.clear()
        return None
