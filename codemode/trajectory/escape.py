"""Makes hostile text harmless to a terminal and a log: one line, no control characters, a known width."""

from __future__ import annotations

import unicodedata


def plain(text: str) -> str:
    """Escapes control, format and bidirectional characters, line ends and lone surrogates."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def fit(text: str, columns: int) -> str:
    """Cuts with an ellipsis or pads, to exactly this many columns. A wide character counts as two."""
    shown = plain(text[: columns + 1])  # enough, as each character takes at least one column
    width = sum(map(_width, shown))
    if width <= columns:
        return shown + " " * (columns - width)
    kept = ""
    left = columns - 1
    for char in shown:
        left -= _width(char)
        if left < 0:
            left += _width(char)
            break
        kept += char
    return kept + "…" + " " * left


def _width(char: str) -> int:
    """Counts combining characters too: text that piles them up is cut early rather than late."""
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _escaped(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
