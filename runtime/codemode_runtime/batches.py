"""What a guest sends at once, on its way to the host: in the frame's head where it is small, else in chunks.

The host decodes what a worker says, and a worker may lie. So a large batch travels in the frame's tail, cut
at its messages: the host reads lengths before it decodes anything, decodes one chunk at a time, and no chunk
makes it do more than its bytes allow. A chunk is a JSON array of small messages, or one large message.
"""

from __future__ import annotations

import struct

import msgspec

from codemode_runtime.frames import Data, FrameRefused
from codemode_runtime.parts import MAX_PARTS, measure

# A worker refuses more, so that a program cannot keep the host busy; a worker that sends more is refused.
MAX_MESSAGES = 20_000
MAX_MESSAGE_BYTES = 48 << 20
INLINE_BYTES = 64 << 10  # in a head, and in a chunk of several messages

_LENGTH = struct.Struct("<I")
_VALUE = b'{"type":"json"'  # what json() sends
_raws = msgspec.json.Decoder(list[msgspec.Raw])


class TooMuch(Exception):
    """More than may cross at once."""

    code = "output_limit_exceeded"


def split(messages: bytes) -> list[bytes]:
    """The chunks of a guest's JSON array. Raises TooMuch, or FrameRefused if it is torn or made of others."""
    if len(messages) > MAX_MESSAGE_BYTES:
        raise TooMuch
    try:
        found = _raws.decode(messages)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise FrameRefused(f"not an array of messages: {error}") from None
    if len(found) > MAX_MESSAGES:
        raise TooMuch
    chunks: list[bytes] = []
    small: list[bytes] = []
    size = 0
    for message in map(bytes, found):
        if small and size + len(message) + 2 > INLINE_BYTES:
            chunks.append(b"[" + b",".join(small) + b"]")
            small, size = [], 0
        if len(message) + 2 > INLINE_BYTES:
            if not message.startswith(b"{"):  # a chunk that is a list holds several messages
                raise FrameRefused("a message is no object")
            if message.startswith(_VALUE) and measure(message).parts > MAX_PARTS:
                raise TooMuch  # the host decodes what is shown
            chunks.append(message)
        else:
            small.append(message)
            size += len(message) + 1
    return [*chunks, b"[" + b",".join(small) + b"]"] if small else chunks


def pack(chunks: list[bytes]) -> bytes:
    return b"".join(part for chunk in chunks for part in (_LENGTH.pack(len(chunk)), chunk))


def unpack(tail: Data, count: int) -> list[memoryview]:
    """Exactly so many chunks; raises FrameRefused for other bytes."""
    view, at, chunks = memoryview(tail), 0, list[memoryview]()
    if count > MAX_MESSAGES:
        raise FrameRefused(f"{count} chunks were announced")
    for _ in range(count):
        if at + _LENGTH.size > len(view):
            raise FrameRefused("a chunk is missing")
        end = at + _LENGTH.size + _LENGTH.unpack_from(view, at)[0]
        if end > len(view):
            raise FrameRefused("a chunk is cut off")
        chunks.append(view[at + _LENGTH.size : end])
        at = end
    if at != len(view):
        raise FrameRefused("more came than was announced")
    return chunks
