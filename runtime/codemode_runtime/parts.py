"""Says how much JSON text would be once it is decoded: its parts, its depth, its weight in memory. Pure.

A decoder makes an object of every list, object, key, string and number, and holds up everything else in its
process meanwhile: a million empty lists are 3 MB of text, 80 MB of memory and a tenth of a second. So the
text is measured before anybody decodes it. A first look takes a third of a millisecond for each MB and never
counts too little; text inside strings can only make it more. Only if that would be too much are the strings
taken out and the rest counted exactly, which takes some 2 ms for each MB.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

MAX_DEPTH = 256  # the guest stops at 200; arguments are wrapped in an array
MAX_PARTS = 250_000  # of one value that the host decodes: some hundredths of a second
MAX_CONTAINERS = 250_000  # lists and objects of a value that the host only passes on
PART_BYTES = 100  # what a part takes in memory, at most: an empty list, or its share of a small object

_ROUGH = 20_000  # parts that need no closer look
_GLANCE, _FEW = 256 << 10, 2_000  # bytes and parts of what is decoded at once (codemode/gate/lane.py)
_MAX_ESCAPES = 1_000_000  # in text with more, what is inside of strings is counted too

Text = bytes | bytearray | memoryview


def _others(kept: bytes) -> bytes:
    return bytes(set(range(256)) - set(kept))


_NOT_SIGNS, _NOT_BRACKETS = _others(b"[{,:"), _others(b"[{")
_NOT_LEVELS, _NOT_LEVELS_OR_QUOTES = _others(b"[]{}"), _others(b'[]{}"')
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


class Measure(NamedTuple):
    """`parts` are lists, objects, keys, strings, numbers and so on. `weight` is bytes of memory, at most."""

    parts: int
    weight: int
    is_deep: bool

    @property
    def refusal(self) -> str | None:
        """Why the host must not decode it, as the end of a sentence; None if it may."""
        if self.parts > MAX_PARTS:
            return f"made of more than {MAX_PARTS:,} parts: lists, objects, keys, strings and numbers"
        return _DEEP if self.is_deep else None


_DEEP = f"nested more than {MAX_DEPTH} levels deep"


def most_parts(json: Text) -> int:
    """An upper bound of its parts, for any bytes: every value but the first follows a bracket, a comma or a
    colon, and every key has a colon."""
    return 1 + len(_bytes(json).translate(None, _NOT_SIGNS))


def rough_weight(json: Text) -> int:
    """Bytes of memory for the text and for its value, at a glance. Large text counts as text only: it is
    measured before it is decoded."""
    parts = most_parts(json) if len(json) <= _GLANCE else 0
    return len(json) + (len(json) + parts * PART_BYTES if parts <= _FEW else 0)


def measure(json: Text) -> Measure:
    """Its parts exactly, unless they are few anyway."""
    data = _bytes(json)
    parts, is_deep = _parts_and_depth(data)
    # one wide character makes all of its text wide; who is refused need not be weighed
    wide = 1 if parts > MAX_PARTS or (data.isascii() and b"\\u" not in data) else 4
    return Measure(parts, len(data) * wide + parts * PART_BYTES, is_deep)


def refusal_of(json: Text, *, any_depth: bool = False) -> str | None:
    """Why the host must not decode it, as the end of a sentence; None if it may."""
    if len(json) <= MAX_DEPTH:
        return None
    parts, is_deep = _parts_and_depth(_bytes(json))
    return Measure(parts, 0, is_deep and not any_depth).refusal


def _parts_and_depth(data: bytes | bytearray) -> tuple[int, bool]:
    parts = 1 + len(data.translate(None, _NOT_SIGNS))
    if parts <= _ROUGH and (parts <= MAX_DEPTH or _containers(data) <= MAX_DEPTH):
        return parts, False
    outside = _outside(data)
    if outside is None:  # how deep it is cannot be said either
        return (parts if _containers(data) <= MAX_DEPTH else max(parts, MAX_PARTS + 1)), False
    parts = _quick_count(outside)
    # who is refused for its parts need not be asked how deep it is: that takes 40 ms for each MB of brackets
    return parts, parts <= MAX_PARTS and _is_deeper(outside.translate(None, _NOT_LEVELS), MAX_DEPTH)


def refusal_of_passing(json: Text) -> str | None:
    """The same for what the host does not decode but passes on to a program."""
    if len(json) <= MAX_DEPTH or _containers(_bytes(json)) <= MAX_DEPTH:
        return None
    levels = _levels(_bytes(json))
    if levels is None or _containers(levels) > MAX_CONTAINERS:
        return f"made of more than {MAX_CONTAINERS:,} lists and objects"
    return _DEEP if _is_deeper(levels, MAX_DEPTH) else None


def exceeds_depth(json: Text, limit: int = MAX_DEPTH) -> bool:
    """Whether it nests deeper. Decoders count recursion against the stack that their caller has left; this
    answers the same everywhere."""
    if len(json) <= limit or _containers(_bytes(json)) <= limit:
        return False
    levels = _levels(_bytes(json))
    return levels is None or _is_deeper(levels, limit)


def _containers(data: bytes | bytearray) -> int:
    return len(data.translate(None, _NOT_BRACKETS))


def _quick_count(outside: bytes) -> int:
    """Without a look for empty containers, which takes longest, where few of them could be empty or it is too
    much in any case."""
    containers = _containers(outside)
    most = 1 + len(outside.translate(None, _NOT_SIGNS))
    if most - containers > MAX_PARTS:
        return most - containers
    return most if containers <= _FEW and most <= MAX_PARTS else _count(outside)


def _count(outside: bytes) -> int:
    """Every key has a colon; every container has one value more than commas, unless it is empty. Of more than
    are allowed it says only that."""
    containers = _containers(outside)
    if containers > MAX_PARTS:
        return containers
    empty = outside.count(b"[]") + outside.count(b"{}")
    return 1 + len(outside.translate(None, _NOT_SIGNS)) - empty


def _is_deeper(levels: bytes, limit: int) -> bool:
    if len(levels) <= limit:
        return False
    return max(accumulate(memoryview(levels.translate(_STEPS)).cast("b")), default=0) > limit


def _outside(data: bytes | bytearray) -> bytes | None:
    """Its text with a 0 for each string; None if there are too many to take out."""
    plain = _without_escapes(data)
    if plain is None or plain.count(b'"') > 2 * MAX_PARTS:
        return None
    return b"0".join(plain.split(b'"')[::2])


def _levels(data: bytes | bytearray) -> bytes | None:
    """Its brackets outside of strings; None if too many strings have brackets in them."""
    plain = _without_escapes(data)
    if plain is None:
        return None
    # two strings are never side by side, so two quotes are a string without brackets
    brackets = plain.translate(None, _NOT_LEVELS_OR_QUOTES).replace(b'""', b"")
    if brackets.count(b'"') > 2 * MAX_PARTS:
        return None
    return b"".join(brackets.split(b'"')[::2])


def _without_escapes(data: bytes | bytearray) -> bytes | bytearray | None:
    """Without pairs of backslashes and then escaped quotes: every quote that is left begins or ends a string.
    None if there are too many."""
    if b"\\" not in data:
        return data
    if data.count(b"\\") > _MAX_ESCAPES:
        return None
    return data.replace(b"\\\\", b"").replace(b'\\"', b"")


def _bytes(json: Text) -> bytes | bytearray:
    return bytes(json) if isinstance(json, memoryview) else json
