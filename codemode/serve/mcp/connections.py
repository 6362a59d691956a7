"""Connections to the HTTP server: how many there may be, and how long a client may take to say what it wants.

uvicorn waits for ever for the head of a request, and counts connections only once one has come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codemode.gate.heartbeat import Alarm
from codemode.serve.options import HttpLimits

if TYPE_CHECKING:  # loaded when it is served
    from uvicorn.protocols.http.h11_impl import H11Protocol

RETRY_SECONDS = 1


def bounded_protocol(limits: HttpLimits) -> type[H11Protocol]:
    """uvicorn's protocol within limits."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Bounded(H11Protocol):
        _timer: Alarm | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > limits.max_connections:
                self._refuse(b"503 Service Unavailable", "too many connections")
            else:
                self._watch()

        def data_received(self, data: bytes) -> None:
            if not self.transport.is_closing():
                super().data_received(data)
                self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_watch()
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
                self._refuse(b"408 Request Timeout", f"no request within {limits.head_seconds:g} s")

        def _stop_watch(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _refuse(self, status: bytes, why: str) -> None:
            body = why.encode() + b"\n"
            head = b"HTTP/1.1 %b\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n" % (status, len(body))
            retry = b"Retry-After: %d\r\n" % RETRY_SECONDS if status.startswith(b"503") else b""
            self.transport.write(head + retry + b"Connection: close\r\n\r\n" + body)
            self.transport.close()

    return Bounded
