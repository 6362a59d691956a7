"""What comes in over HTTP passes here first: each body within a size and a time, all of them together within
another, and measured before anybody decodes it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec
from codemode_runtime.parts import Measure, measure

from codemode.gate.heartbeat import within
from codemode.gate.lane import is_large, lane
from codemode.serve.mcp.connections import RETRY_SECONDS
from codemode.serve.mcp.measured import MAX_PARTS, too_much
from codemode.serve.options import HttpLimits

_LINGER_SECONDS = 2.0

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


BodyOf = Callable[[int, str], bytes]


class _TurnedAway(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class _Gone(Exception):
    """The client went away in the middle of its body."""


class Door:
    """In front of the SDK's app. A body counts until its request is answered."""

    def __init__(
        self, app: App, limits: HttpLimits, max_message_bytes: int, body_of: BodyOf | None = None
    ) -> None:
        """`body_of` makes the body of a refusal; without it that is an error of JSON-RPC."""
        self._app = app
        self._body_of = body_of or _rpc_error
        self._limits = limits
        self._max_body = max_message_bytes
        self._held = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await self._app(scope, receive, _with_retry(send))
            return
        body = _Body(self)
        try:
            await body.read(scope, receive)
            await self._app(scope, body.again(receive), _with_retry(send))
        except _TurnedAway as refused:
            await _refuse(receive, send, refused.status, self._body_of(refused.status, str(refused)))
        except _Gone:
            pass
        finally:
            self._held -= body.reserved

    def reserve(self, size: int) -> None:
        """Raises _TurnedAway."""
        if self._held + size > self._limits.max_bodies_bytes:
            raise _TurnedAway(503, "the server holds as many bytes of requests as it may; try again")
        self._held += size

    @property
    def max_body(self) -> int:
        return self._max_body

    @property
    def body_seconds(self) -> float:
        return self._limits.body_seconds


class _Body:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._data = bytearray()
        self.reserved = 0

    async def read(self, scope: Message, receive: Receive) -> None:
        """Raises _TurnedAway, and _Gone."""
        self._make_room(_announced(scope))
        try:
            async with within(self._door.body_seconds):
                while await self._read_more(receive):
                    pass
        except TimeoutError:
            why = f"the body did not come within {self._door.body_seconds:g} s"
            raise _TurnedAway(408, why) from None
        if is_large(self._data):
            _check(await lane().run(lambda: measure(self._data)))

    async def _read_more(self, receive: Receive) -> bool:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        chunk: bytes = message.get("body", b"")
        self._make_room(len(self._data) + len(chunk))
        self._data += chunk
        return message.get("more_body", False)

    def _make_room(self, size: int) -> None:
        if size > self._door.max_body:
            raise _TurnedAway(413, f"a message may have {self._door.max_body} bytes")
        if size > self.reserved:
            self._door.reserve(size - self.reserved)
            self.reserved = size

    def again(self, receive: Receive) -> Receive:
        """For the app: the whole body at once, then what else the client does."""
        data: bytes | None = bytes(self._data)
        self._data.clear()

        async def replay() -> Message:
            nonlocal data
            if data is None:
                return await receive()
            whole, data = data, None
            return {"type": "http.request", "body": whole, "more_body": False}

        return replay


def _check(found: Measure) -> None:
    refusal = too_much(found)
    if refusal is not None:
        raise _TurnedAway(413 if found.parts > MAX_PARTS else 400, refusal)


def _header(scope: Message, name: bytes) -> bytes | None:
    return next((value for key, value in scope["headers"] if key == name), None)


def _has_body(scope: Message) -> bool:
    return _announced(scope) > 0 or _header(scope, b"transfer-encoding") is not None


def _announced(scope: Message) -> int:
    """h11 has already refused what is no number."""
    return int(_header(scope, b"content-length") or 0)


def _rpc_error(status: int, message: str) -> bytes:  # noqa: ARG001 - JSON-RPC has its own codes
    error = {"code": -32600, "message": message}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error})


async def _refuse(receive: Receive, send: Send, status: int, body: bytes) -> None:
    """Answers, and then lets the client send for a while what nobody keeps: many read an answer only when
    they have sent everything, and would not see it on a connection that is closed before."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    headers.append((b"connection", b"close"))
    told = _with_retry(send)
    await told({"type": "http.response.start", "status": status, "headers": headers})
    await told({"type": "http.response.body", "body": body, "more_body": True})
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_SECONDS):
            while (await receive()).get("more_body", False):
                pass
    await told({"type": "http.response.body", "body": b""})


def _with_retry(send: Send) -> Send:
    """Whoever is told that there is no room is told when to come back, also by the SDK."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 503:
            message = {**message, "headers": [*message["headers"], (b"retry-after", b"%d" % RETRY_SECONDS)]}
        await send(message)

    return sent
