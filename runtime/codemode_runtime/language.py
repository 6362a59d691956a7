"""Facts about the languages of programs, for host and worker alike. Loads nothing of WebAssembly."""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["javascript", "typescript"]

_RESERVED = """
arguments await break case catch class const continue debugger default delete do else enum eval export extends
false finally for function if implements import in instanceof interface let new null package private protected
public return static super switch this throw true try typeof var void while with yield
"""
# No name of a variable in strict code.
RESERVED_WORDS = frozenset(_RESERVED.split())
# Every reader takes such a key without quotes.
PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def well_formed(text: str) -> str:
    """As JavaScript's toWellFormed: halves of a surrogate pair that meet are joined, others are U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
