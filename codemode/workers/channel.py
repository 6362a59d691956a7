"""One socket on the event loop: it reads and writes whole frames and never blocks.

Plain non-blocking sockets rather than asyncio streams: a leg is a handful of small frames, and transports and
tasks would take most of its time. It reads once per wake-up, so that a huge frame cannot hold the loop.
"""

from __future__ import annotations

import asyncio
import select
import socket
from collections import deque
from collections.abc import Callable

from codemode_runtime.frames import Data, Frame, FrameReader, FrameRefused

_CHUNK = 64 << 10
MAX_HEAD = 1 << 20  # what is large is in tails: batches.py
_LARGE_CHUNK = 1 << 20  # only inside a large frame; for a small one, allocating it costs more than reading


class Channel:
    """Calls `on_end` once: with None if the peer closed the socket, else with the refusal of its bytes."""

    def __init__(
        self,
        connection: socket.socket,
        on_frame: Callable[[Frame], None],
        on_end: Callable[[FrameRefused | None], None],
    ) -> None:
        connection.setblocking(False)
        self.reader = FrameReader(MAX_HEAD, 0)
        self._has_more = False
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._descriptor = connection.fileno()
        self._on_frame = on_frame
        self._on_end = on_end
        self._unsent: deque[tuple[memoryview, socket.socket | None]] = deque()
        self._news = select.poll()
        self._news.register(self._descriptor, select.POLLIN)
        self._loop.add_reader(self._descriptor, self._read)

    @property
    def is_open(self) -> bool:
        return self._descriptor >= 0

    @property
    def is_behind(self) -> bool:
        """Whether the peer has sent more than one frame at once, or has not taken all that was sent to it."""
        return self._has_more or bool(self._unsent)

    def is_deserted(self) -> bool:
        """Whether the peer is gone and left nothing to read. Asks the socket: the loop may not know yet."""
        if not self.is_open:
            return True
        if not self._news.poll(0):  # nearly always
            return False
        try:
            return not self._connection.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True

    def send(self, frame: list[Data], hand_over: socket.socket | None = None) -> None:
        """Sends now what the socket takes, the rest when it can. Closes the socket it hands over."""
        if self._descriptor < 0:
            if hand_over is not None:
                hand_over.close()
            return
        was_idle = not self._unsent
        for part in frame:
            self._unsent.append((memoryview(part), hand_over))
            hand_over = None
        if was_idle:
            self._write()
            if self._unsent and self.is_open:
                self._loop.add_writer(self._descriptor, self._write_later)

    def close(self) -> None:
        if self.is_open:
            self._loop.remove_reader(self._descriptor)
            self._loop.remove_writer(self._descriptor)
            self._descriptor = -1
            self._drop_unsent()
            self._connection.close()

    def look(self) -> None:
        """Reads what has arrived now, before the loop gets to it."""
        if self._descriptor >= 0 and self._news.poll(0):
            self._read()

    def drain(self) -> None:
        """Reads what a peer that is gone left in the socket; does not call `on_end` for its end."""
        while self.is_open and self._take():
            pass

    def _read(self) -> None:
        if self._take() is False:
            self._end(None)

    def _take(self) -> bool | None:
        """Receives once and hands on complete frames; False at the end, None if nothing has arrived."""
        try:
            frames = self._receive()
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            return False
        except FrameRefused as refused:
            self._end(refused)
            return True
        for at, frame in enumerate(frames or (), 1):
            if self._descriptor >= 0:
                self._has_more = frames is not None and at < len(frames)
                self._on_frame(frame)
        return frames is not None

    def _receive(self) -> list[Frame] | None:
        reader = self.reader
        if not reader.is_mid_frame:
            data = self._connection.recv(_CHUNK)
        elif (space := reader.space) is None:
            data = self._connection.recv(_LARGE_CHUNK)
        else:
            count = self._connection.recv_into(space[:_LARGE_CHUNK])
            return reader.filled(count) if count else None
        return reader.feed(data) if data else None

    def _write(self) -> None:
        while self._unsent:
            data, hand_over = self._unsent[0]
            try:
                if hand_over is None:
                    sent = self._connection.send(data)
                else:
                    sent = socket.send_fds(self._connection, [data], [hand_over.fileno()])
                    hand_over.close()
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                # the peer is gone; the next read reports it
                self._drop_unsent()
                return
            if sent == len(data):
                self._unsent.popleft()
            else:
                self._unsent[0] = (data[sent:], None)

    def _write_later(self) -> None:
        self._write()
        if not self._unsent and self.is_open:
            self._loop.remove_writer(self._descriptor)

    def _drop_unsent(self) -> None:
        for _, hand_over in self._unsent:
            if hand_over is not None:
                hand_over.close()
        self._unsent.clear()

    def _end(self, refused: FrameRefused | None) -> None:
        self.close()
        self._on_end(refused)
