"""Cuts texts to a number of bytes, counted as JSON writes them: a control character takes six. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

_MARK_BYTES = 48  # the longest mark that says how much was left out
_MAX_ESCAPE = 6
_ASCII = [6] * 32 + [1] * 96
for _short in '\b\t\n\f\r"\\':
    _ASCII[ord(_short)] = 2


def json_bytes(text: str) -> int:
    """The bytes of a text between its quotes."""
    return len(msgspec.json.encode(text)) - 2


def clip_end(text: str, limit: int) -> str:
    """Cuts a longer text to its beginning."""
    if len(text) * _MAX_ESCAPE <= limit or json_bytes(text) <= limit:
        return text
    return text[: _fitting(text, limit - 3)] + "…"


def clip_middle(text: str, limit: int) -> str:
    """Cuts a longer text to its beginning and its end, and says between them how much is left out."""
    if len(text) * _MAX_ESCAPE <= limit or json_bytes(text) <= limit:
        return text
    room = limit - _MARK_BYTES
    start = _fitting(text, room // 2)
    end = len(text) - _fitting(reversed(text), room // 2)
    left_out = len(text[start:end].encode())
    return f"{text[:start]} … {left_out:,} bytes left out … {text[end:]}"


def listed(lead: str, parts: Sequence[str], limit: int) -> str:
    """Writes a sentence with as many parts as fit, then the number of the others. The first part must fit."""
    sentence = lead
    for at, part in enumerate(parts):
        longer = f"{sentence}, {part}" if at else f"{sentence}{part}"
        others = len(parts) - at - 1
        if at and json_bytes(longer + _more(others)) > limit:
            return sentence + _more(others + 1)
        sentence = longer
    return f"{sentence}."


def _more(count: int) -> str:
    return f" and {count} more." if count else "."


def _fitting(signs: Iterable[str], limit: int) -> int:
    """How many of the first signs fit into the bytes."""
    count = 0
    for sign in signs:
        limit -= _cost(ord(sign))
        if limit < 0:
            break
        count += 1
    return count


def _cost(code: int) -> int:
    if code < 0x80:
        return _ASCII[code]
    return 2 if code < 0x800 else 3 if code < 0x10000 else 4
