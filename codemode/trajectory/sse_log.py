"""Watches event streams: with CODEMODE_DEBUG_SSE=events it tells when the first event came and when the
stream ended, with peek also the first five events, without what was said in them.

Streams pass through unchanged, whatever they hold; a watcher keeps at most one event of a bounded size.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable
from typing import Any, TypeVar

import msgspec

from codemode.trajectory.debug_variables import SSE
from codemode.trajectory.escape import plain
from codemode.trajectory.redacting import redacted_event

_log = logging.getLogger("codemode.sse")
_PEEKED = 5
_MAX_EVENT = 64 << 10  # bytes of one event that are kept
_MAX_SHOWN = 2_000
_MAX_TYPES = 20
_MAX_TYPE = 60
Chunk = TypeVar("Chunk", bytes, str)


class SseWatch:
    """One stream, from its first byte to its end."""

    def __init__(self, origin: str, *, peek: bool) -> None:
        self._origin = origin
        self._peek = peek
        self._began = time.perf_counter()
        self._line = bytearray()
        self._type = ""
        self._data = bytearray()
        self._types: Counter[str] = Counter()
        self._events = self._bytes = 0

    def feed(self, chunk: bytes | str) -> None:
        data = chunk.encode(errors="replace") if isinstance(chunk, str) else chunk
        self._bytes += len(data)
        *whole, rest = data.split(b"\n")
        for line in whole:
            self._take((bytes(self._line) + line).removesuffix(b"\r"))
            self._line.clear()
        self._line += rest[: max(0, _MAX_EVENT - len(self._line))]

    def end(self, problem: str = "") -> None:
        self._take(bytes(self._line))
        self._take(b"")  # the last event may have no empty line behind it
        types = ", ".join(f"{name} {count}" for name, count in self._types.most_common(_MAX_TYPES))
        how = f"broke off ({problem})" if problem else "ended"
        facts = {"events": self._events, "bytes": self._bytes, "types": dict(self._types), "problem": problem}
        self._tell(
            f"{how}: {self._events} events, {self._bytes} bytes{': ' + types if types else ''}", "end", facts
        )

    def _take(self, line: bytes) -> None:
        if not line:
            if self._type or self._data:
                self._event()
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            self._type = plain(value.decode(errors="replace"))[:_MAX_TYPE]
        elif field == b"data":
            self._data += value[: max(0, _MAX_EVENT - len(self._data))]

    def _event(self) -> None:
        self._events += 1
        decoded = _decoded(bytes(self._data))
        kind = self._type or _kind(decoded)
        if kind in self._types or len(self._types) < _MAX_TYPES:
            self._types[kind] += 1
        if self._events == 1:
            self._tell(f"first event: {kind}", "first", {"type": kind})
        if self._peek and self._events <= _PEEKED:
            shown = plain(msgspec.json.encode(redacted_event(decoded)).decode())[:_MAX_SHOWN]
            self._tell(f"event {self._events}: {kind} {shown}", "peek", {"type": kind, "data": shown})
        self._type = ""
        self._data.clear()

    def _tell(self, what: str, event: str, facts: dict[str, Any]) -> None:
        ms = round((time.perf_counter() - self._began) * 1000, 1)
        said = {"event": f"sse_{event}", "origin": self._origin, "ms": ms, **facts}
        _log.info("stream of %s after %g ms: %s", self._origin, ms, what, extra={"codemode": said})


def watch_if_asked(origin: str) -> SseWatch | None:
    """None unless the variable is set: then nobody pays for it."""
    wanted = SSE.read()
    return None if wanted is None else SseWatch(origin, peek=wanted == "peek")


async def watched(chunks: AsyncIterable[Chunk], origin: str) -> AsyncGenerator[Chunk]:
    """Passes a stream through."""
    watch = watch_if_asked(origin)
    if watch is None:
        async for chunk in chunks:
            yield chunk
        return
    problem = "its reader left"
    try:
        async for chunk in chunks:
            watch.feed(chunk)
            yield chunk
        problem = ""
    except Exception as error:
        problem = type(error).__name__
        raise
    finally:
        watch.end(problem)


def _decoded(data: bytes) -> object:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return data.decode(errors="replace")


def _kind(decoded: object) -> str:
    """OpenAI's chat names no events; others repeat the name in the data."""
    found: object = decoded.get("type") if isinstance(decoded, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - any JSON
    return plain(found)[:_MAX_TYPE] if isinstance(found, str) else "message"
