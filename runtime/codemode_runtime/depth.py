"""Finds out how deep JSON text nests and how many parts it has, before it is decoded. Pure, and quick.

Decoders count recursion against the stack that their caller has left; this answers the same everywhere. And a
decoder that makes millions of empty lists holds up everything else in its process for seconds.
"""

from __future__ import annotations

import re
from itertools import accumulate

MAX_DEPTH = 256  # the guest stops at 200; arguments are wrapped in an array
MAX_PARTS = 250_000  # lists and objects; about a tenth of a second to decode

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))


def refusal_of(json: bytes) -> str | None:
    """Why the host must not decode it, as the end of a sentence; None if it may."""
    brackets = json.count(b"[") + json.count(b"{")
    if brackets <= MAX_DEPTH:
        return None
    if brackets > MAX_PARTS and _parts(json) > MAX_PARTS:
        return f"made of more than {MAX_PARTS:,} lists and objects"
    return f"nested more than {MAX_DEPTH} levels deep" if exceeds_depth(json) else None


def _parts(json: bytes) -> int:
    outside = _STRING.sub(b"", json)
    return outside.count(b"[") + outside.count(b"{")


def exceeds_depth(json: bytes, limit: int = MAX_DEPTH) -> bool:
    if json.count(b"[") + json.count(b"{") <= limit:
        return False
    brackets = _STRING.sub(b"", json).translate(_STEPS, _OTHERS)
    return max(accumulate(memoryview(brackets).cast("b")), default=0) > limit
