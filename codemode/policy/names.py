"""How policy compares names: two that look the same are the same. Pure.

Case, width, invisible characters and blanks around a name do not count, for tools, entries, agents,
providers, channels and senders alike. A tool called "browser" with a zero-width space in it is denied with
"browser". Letters of another script that merely look alike stay different.
"""

from __future__ import annotations

import unicodedata

_CONTROL_OR_FORMAT = ("Cc", "Cf")
# Shown as nothing although they count as letters, marks or unassigned.
_INVISIBLE = (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFFA0)
_INVISIBLE_RANGES = (
    range(0x180B, 0x1810),
    range(0xFE00, 0xFE10),
    range(0xFFF0, 0xFFF9),
    range(0xE0000, 0xE1000),
)


def plain_name(text: str) -> str:
    """The form that is compared. Parts between colons are trimmed each: they are names of their own."""
    if not text.isascii() or not text.isprintable():
        text = _fold(text)
    found = text.casefold()
    has_blanks = " " in found or not found.isascii()  # there are blanks beyond ASCII
    return ":".join(part.strip() for part in found.split(":")) if has_blanks else found


def split_pattern(pattern: str) -> tuple[str, ...]:
    """The pieces between the wildcards; one piece if there is none."""
    return tuple(pattern.split("*"))


def fits(pieces: tuple[str, ...], text: str) -> bool:
    """The pieces in order, the first at the start and the last at the end. Linear in the text."""
    if len(pieces) == 1:
        return text == pieces[0]
    first, *middle, last = pieces
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in middle:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def _fold(text: str) -> str:
    """Invisible characters go first: between a letter and its accent they would keep the two apart."""
    seen = "".join(
        letter
        for letter in text
        if not _is_invisible(ord(letter)) and unicodedata.category(letter) not in _CONTROL_OR_FORMAT
    )
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())


def _is_invisible(code: int) -> bool:
    return code in _INVISIBLE or any(code in found for found in _INVISIBLE_RANGES)
