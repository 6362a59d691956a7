"""Tells what a JSON-RPC message is without decoding all of it: its id, its method, its result. Pure."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

_PEEK_BYTES = 1 << 10
_NOTHING = Raw(b"")


class Envelope(NamedTuple):
    """`result` is empty if the message has none, or if it was only peeked at."""

    id: int | str | None
    method: str | None
    has_error: bool
    result: Raw

    @property
    def is_answer(self) -> bool:
        return self.method is None and self.id is not None


class _Members(Struct):
    id: int | str | None = None
    method: str | None = None
    result: Raw = _NOTHING
    error: Raw = _NOTHING


def read_envelope(message: bytes) -> Envelope | None:
    """None for what is no message, or is nested deeper than the decoder can go."""
    try:
        found = msgspec.json.decode(message, type=_Members)
    except (ValueError, RecursionError):
        return None
    if found.id is None and found.method is None:
        return None
    return Envelope(found.id, found.method, bool(memoryview(found.error)), found.result)


def peek(message: bytes) -> Envelope | None:
    """The same from its first and last bytes: of the members before the first list or object, and after the
    last one. For messages that are too large or too deep to be looked through."""
    found = {**_members(_beginning(message)), **_members(_end(message))}
    name, method = found.get("id"), found.get("method")
    is_id = isinstance(name, str) or (isinstance(name, int) and not isinstance(name, bool))
    if not is_id and not isinstance(method, str):
        return None
    return Envelope(
        name if is_id else None,  # type: ignore[arg-type] - just seen
        method if isinstance(method, str) else None,
        False,
        _NOTHING,
    )


def _beginning(message: bytes) -> bytes:
    head = message[:_PEEK_BYTES]
    inside = head.find(b"{") + 1
    nested = [at for at in (head.find(b"{", inside), head.find(b"[", inside)) if at > 0]
    return head[: head.rfind(b",", 0, min(nested, default=len(head)))] + b"}"


def _end(message: bytes) -> bytes:
    tail = message[-_PEEK_BYTES:].rstrip()
    nested = max(tail.rfind(b"}", 0, len(tail) - 1), tail.rfind(b"]", 0, len(tail) - 1))
    return b"{" + tail[nested + 1 :].lstrip(b", \t")


def _members(text: bytes) -> dict[str, object]:
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except (ValueError, RecursionError):
        return {}
