"""Connections to the HTTP server: how many there may be, and how long a client may take to say what it wants.

uvicorn waits for ever for the head of a request, and counts connections only once one has come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from codemode.gate.heartbeat import Alarm
from codemode.serve.options import HttpLimits

if TYPE_CHECKING:  # loaded when it is served
    from uvicorn.protocols.http.h11_impl import H11Protocol

RETRY_SECONDS = 1


def bounded_protocol(
    limits: HttpLimits, body_of: Callable[[int, str], bytes] | None = None
) -> type[H11Protocol]:
    """uvicorn's protocol within limits. `body_of` makes the JSON of a refusal; without it that is plain
    text."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Bounded(H11Protocol):
        _timer: Alarm | None = None
        _reader: Alarm | None = None
        _unread = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > limits.max_connections:
                self._refuse(503, b"Service Unavailable", "too many connections")
            else:
                self._watch()

        def data_received(self, data: bytes) -> None:
            if not self.transport.is_closing():
                super().data_received(data)
                self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_watch()
            self._forget_reader()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """The clock runs from the connection, or the first byte of a head, to the end of the head."""
            if self._is_served():
                self._stop_watch()
            elif self._timer is None:
                self._timer = Alarm(limits.head_seconds, self._give_up)

        def _is_served(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete  # type: ignore[redundant-expr] - None at first

        def _give_up(self) -> None:
            if not self._is_served() and not self.transport.is_closing():
                self._refuse(408, b"Request Timeout", f"no request within {limits.head_seconds:g} s")

        def send_400_response(self, msg: str) -> None:
            if body_of is None:
                super().send_400_response(msg)
            else:
                self._refuse(400, b"Bad Request", "this is not a request of HTTP/1.1")

        def pause_writing(self) -> None:
            """The client does not read. It has some time; what is left unread is not kept for ever."""
            super().pause_writing()
            self._unread = self.transport.get_write_buffer_size()
            self._reader = self._reader or Alarm(limits.body_seconds, self._look_at_reader)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._forget_reader()

        def _look_at_reader(self) -> None:
            self._reader = None
            left = self.transport.get_write_buffer_size()
            if left >= self._unread:
                self.transport.abort()
            else:
                self._unread, self._reader = left, Alarm(limits.body_seconds, self._look_at_reader)

        def _forget_reader(self) -> None:
            if self._reader is not None:
                self._reader.cancel()
                self._reader = None

        def _stop_watch(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _refuse(self, status: int, words: bytes, why: str) -> None:
            kind = b"text/plain" if body_of is None else b"application/json"
            body = why.encode() + b"\n" if body_of is None else body_of(status, why)
            head = b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\n" % (status, words, kind)
            head += b"Content-Length: %d\r\n" % len(body)
            retry = b"Retry-After: %d\r\n" % RETRY_SECONDS if status == 503 else b""
            self.transport.write(head + retry + b"Connection: close\r\n\r\n" + body)
            self.transport.close()

    return Bounded
