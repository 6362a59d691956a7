"""How deep JSON text nests, found out before anything recurses into it. Pure, at the speed of C.

Decoders count recursion against whatever stack their caller has left; this answers the same everywhere.
"""

from __future__ import annotations

import re
from itertools import accumulate

MAX_DEPTH = 256  # the guest stops at 200; arguments are wrapped in an array

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))


def exceeds_depth(json: bytes, limit: int = MAX_DEPTH) -> bool:
    if json.count(b"[") + json.count(b"{") <= limit:
        return False
    brackets = _STRING.sub(b"", json).translate(_STEPS, _OTHERS)
    return max(accumulate(memoryview(brackets).cast("b")), default=0) > limit
