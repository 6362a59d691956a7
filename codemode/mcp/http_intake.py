"""Passes what an MCP server sends over HTTP through the gate, on the way from the socket to the SDK.

A plain answer is one message. In a stream of events each event is one, as the server-sent events of HTML are
framed: lines with a name, ended by an empty one.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import TYPE_CHECKING

from codemode.gate.pace import Pace
from codemode.mcp.envelope import read_envelope
from codemode.mcp.intake import Intake, MessageId

if TYPE_CHECKING:  # the first connection loads it
    import httpx2

MAX_MESSAGE_BYTES = 16 << 20
_MAX_DOCUMENT_BYTES = 1 << 20  # of a server that logs people in
_EVENT_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_MAX_FIELD = 1 << 10  # of an event's id
_MAX_LINES = 10_000  # of an event
_MIN_RETRY_MS = 1_000
_SDK_SECONDS = 0.0002  # what the SDK spends on one message, about

Through = Callable[[AsyncIterable[bytes]], AsyncIterator[bytes]]


def asked_by(request: httpx2.Request) -> MessageId | None:
    """The id of the request that this one carries, if it is one."""
    envelope = read_envelope(request.content) if request.method == "POST" else None
    return None if envelope is None or envelope.method is None else envelope.id


def passing(stream: httpx2.AsyncByteStream, through: Through) -> httpx2.AsyncByteStream:
    """The stream as it is read through a function of its chunks."""
    import httpx2

    class Passing(httpx2.AsyncByteStream):
        def __aiter__(self) -> AsyncIterator[bytes]:
            return through(stream)

        async def aclose(self) -> None:
            await stream.aclose()

    return Passing()


async def bounded(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """A document of a login server. Raises httpx2.StreamError for more than a megabyte."""
    import httpx2

    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > _MAX_DOCUMENT_BYTES:
            raise httpx2.StreamError("a document of the login server is too large")
        yield chunk


async def admitted_answer(
    chunks: AsyncIterable[bytes], intake: Intake, asked: MessageId | None
) -> AsyncIterator[bytes]:
    """A plain answer. Raises httpx2.StreamError and Overspent."""
    import httpx2

    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > MAX_MESSAGE_BYTES:
            raise httpx2.StreamError(f"the answer has more than {MAX_MESSAGE_BYTES} bytes")
    told = intake.admit(bytes(body), asked) if body and asked is not None else None
    if told is not None:
        yield told


async def admitted_events(
    chunks: AsyncIterable[bytes], intake: Intake, asked: MessageId | None
) -> AsyncIterator[bytes]:
    """A stream of events. Raises httpx2.StreamError and Overspent."""
    import httpx2

    pace = Pace()
    buffer = bytearray()
    async for chunk in chunks:
        looked = max(0, len(buffer) - 3)
        buffer += chunk
        while (found := _EVENT_END.search(buffer, looked)) is not None:
            event = bytes(memoryview(buffer)[: found.start()])
            del buffer[: found.end()]
            looked = 0
            began = time.perf_counter()
            told = _admit(event, intake, asked)
            await pace.after(time.perf_counter() - began + (_SDK_SECONDS if told else 0))
            if told:
                yield told
        if len(buffer) > MAX_MESSAGE_BYTES:
            raise httpx2.StreamError(f"an event has more than {MAX_MESSAGE_BYTES} bytes")


async def refused_packed(
    chunks: AsyncIterable[bytes],  # noqa: ARG001 - a small compressed answer may be a large one: it is not read
    intake: Intake,
    asked: MessageId | None,
) -> AsyncIterator[bytes]:
    """In place of a plain answer that is compressed. A compressed stream of events just ends."""
    if asked is not None:
        yield intake.refuse(asked, "the server's answer is compressed, which nobody asked for")


def _admit(event: bytes, intake: Intake, asked: MessageId | None) -> bytes:
    """Raises httpx2.StreamError and Overspent."""
    if event.count(b"\n") + event.count(b"\r") > _MAX_LINES:
        import httpx2

        raise httpx2.StreamError(f"an event has more than {_MAX_LINES} lines")
    data: list[bytes] = []
    kept: list[bytes] = []
    for line in event.splitlines():
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                data.append(value)
            case b"event" if value != b"message":
                return b""
            case b"id" if len(value) <= _MAX_FIELD:
                kept.append(b"id: " + value)
            case b"retry" if value.isdigit() and len(value) < 10:
                kept.append(b"retry: %d" % max(_MIN_RETRY_MS, int(value)))
            case _:
                pass
    said = b" ".join(data)  # a line end, but between the tokens of JSON that is the same
    told = intake.admit_event(said, asked) or b""
    if not told and not kept:
        return b""
    return b"\n".join([*kept, b"data: " + told]) + b"\n\n"
