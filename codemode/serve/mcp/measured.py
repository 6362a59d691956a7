"""How much one message of a client may be once it is decoded. Pure."""

from __future__ import annotations

from codemode_runtime.parts import MAX_DEPTH, Measure

MAX_PARTS = 20_000  # of one request: a program is one string


def too_much(found: Measure) -> str | None:
    """Why the message is not decoded, as a sentence; None if it is."""
    if found.parts > MAX_PARTS:
        return f"a message may have {MAX_PARTS} parts: lists, objects, keys, strings, numbers"
    return f"a message may be nested {MAX_DEPTH} levels deep" if found.is_deep else None
