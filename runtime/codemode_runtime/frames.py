"""Frames: how bytes on a socket between host, zygote and worker are cut into messages. Pure.

A frame is two 32-bit lengths, a JSON head and a binary tail (deltas and long lookups travel as they are).
Lengths are checked against the receiver's caps before anything is kept, so that a peer cannot make the other
side allocate by announcing. What the head says is wire.py's concern.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_LENGTHS = struct.Struct("<II")
HEADER_BYTES = _LENGTHS.size
MAX_HEAD = 64 << 20
MAX_TAIL = 320 << 20  # the largest snapshot that can be configured, and some


class FrameRefused(Exception):
    """The peer broke the protocol: nothing it says from here on is believed."""

    code = "internal_error"


class FrameTooLarge(Exception):
    """What was to be sent exceeds what a receiver takes; nothing was sent."""

    code = "internal_error"


class Frame(NamedTuple):
    head: bytes
    tail: bytes


def encode_frame(head: bytes, tail: bytes = b"") -> bytes:
    if len(head) > MAX_HEAD or len(tail) > MAX_TAIL:
        raise FrameTooLarge(f"a frame of {len(head)} + {len(tail)} bytes")
    return b"".join((_LENGTHS.pack(len(head), len(tail)), head, tail))


class FrameReader:
    """Collects received bytes and gives back whole frames. Its caps may be changed between frames."""

    __slots__ = ("_buffer", "max_head", "max_tail")

    def __init__(self, max_head: int = MAX_HEAD, max_tail: int = MAX_TAIL) -> None:
        self.max_head = max_head
        self.max_tail = max_tail
        self._buffer = bytearray()

    @property
    def is_mid_frame(self) -> bool:
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[Frame]:
        """Every frame that `data` completes. Raises FrameRefused for lengths over the caps."""
        buffer = self._buffer
        buffer += data
        frames: list[Frame] = []
        while len(buffer) >= HEADER_BYTES:
            head_len, tail_len = _LENGTHS.unpack_from(buffer)
            if head_len > self.max_head or tail_len > self.max_tail:
                raise FrameRefused(f"a frame of {head_len} + {tail_len} bytes was announced")
            middle = HEADER_BYTES + head_len
            end = middle + tail_len
            if len(buffer) < end:
                break
            with memoryview(buffer) as view:
                frames.append(Frame(bytes(view[HEADER_BYTES:middle]), bytes(view[middle:end])))
            del buffer[:end]
        return frames
