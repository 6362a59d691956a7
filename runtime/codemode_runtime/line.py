"""A worker's end of its socket: blocking, whole frames, nothing else."""

from __future__ import annotations

import socket

from codemode_runtime.frames import Frame, FrameReader, encode_frame

_CHUNK = 64 << 10


class Line:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._reader = FrameReader()
        self._frames: list[Frame] = []

    def send(self, head: bytes, tail: bytes = b"") -> None:
        """Raises FrameTooLarge before anything is sent, OSError if the host is gone."""
        self._connection.sendall(encode_frame(head, tail))

    def receive(self) -> Frame | None:
        """The next frame; None when the host has closed its end."""
        while not self._frames:
            data = self._connection.recv(_CHUNK)
            if not data:
                return None
            self._frames = self._reader.feed(data)
        return self._frames.pop(0)


class Nowhere:
    """A line without another end, for rehearsals: what is sent is encoded and dropped."""

    def send(self, head: bytes, tail: bytes = b"") -> None:
        encode_frame(head, tail)

    def receive(self) -> Frame | None:
        return None
