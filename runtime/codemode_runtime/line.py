"""A worker's end of its socket: sends and receives whole frames, blocking.

Waking costs both sides tens of microseconds, more than answering a quick tool call. So a worker that expects
an answer looks for it for a moment before it sleeps, as long as that pays: after one look in vain it sleeps
at once, until an answer has been quick again. The host does the same (codemode/workers/busy_wait.py).
"""

from __future__ import annotations

import socket
import time

from codemode_runtime.frames import Data, Frame, FrameReader, frame_parts

_CHUNK = 64 << 10
LOOK_SECONDS = 500e-6


class Line:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._look_until = 0.0
        self._is_quick = True
        self._reader = FrameReader()
        self._frames: list[Frame] = []

    def send(self, head: bytes, tail: Data = b"") -> None:
        """Raises FrameTooLarge before anything is sent, OSError if the host is gone."""
        for part in frame_parts(head, tail):
            self._connection.sendall(part)
        self._look_until = time.perf_counter() + LOOK_SECONDS

    def attend(self) -> None:
        """The host has said that a request follows at once."""
        self._is_quick = True
        self._look_until = time.perf_counter() + LOOK_SECONDS

    def receive(self, *, soon: bool = False) -> Frame | None:
        """The next frame; None when the host has closed its end. `soon`: the frame may come at once."""
        while not self._frames:
            space = self._reader.space
            if space is not None:
                count = self._connection.recv_into(space)
                if not count:
                    return None
                self._frames = self._reader.filled(count)
                continue
            data = self._look() if soon and self._is_quick else None
            if data is None:
                data = self._connection.recv(_CHUNK)
            if not data:
                return None
            self._is_quick = time.perf_counter() < self._look_until
            self._frames = self._reader.feed(data)
        return self._frames.pop(0)

    def _look(self) -> bytes | None:
        while time.perf_counter() < self._look_until:
            try:
                return self._connection.recv(_CHUNK, socket.MSG_DONTWAIT)
            except BlockingIOError:
                pass
        return None
