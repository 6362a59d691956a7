"""Which of a run's data goes into its trace: by default only its shape, and more only if the host chose so.

`redact=True` keeps types, sizes and the names of arguments; `redact=False` keeps the values; a function
decides for each value what is recorded instead. Bounded, because a trace is stored with every snapshot.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple, cast

import msgspec

from codemode.contract.telemetry import redact
from codemode.trajectory.shapes import Content, Redaction

_log = logging.getLogger("codemode.trajectory")

MAX_VALUE_BYTES = 64 << 10
_SMALL = 512
PartKind = Literal["program", "input", "result", "output", "value"]
_TYPES = {
    b"{": "object",
    b"[": "array",
    b'"': "string",
    b"t": "boolean",
    b"f": "boolean",
    b"n": "null",
    b"": "null",
}


class Part(msgspec.Struct, frozen=True):
    """One value on its way into a trace. `tool` is the catalog id, empty for the program's own values."""

    kind: PartKind
    tool: str
    value: Any


Redactor = Callable[[Part], Any]


class Recording:
    """`redact`: True, False, or a function from a Part to the value that is recorded for it."""

    def __init__(self, redact: bool | Redactor = True) -> None:
        self._redactor = None if isinstance(redact, bool) else redact
        self.redaction: Redaction = "custom" if callable(redact) else "shape" if redact else "none"
        self.keeps_values = self.redaction != "shape"

    def take(self, kind: PartKind, tool: str, data: bytes) -> bytes | None:
        """The JSON to record for a value given as JSON; None if only its shape is recorded."""
        if not self.keeps_values or len(data) > MAX_VALUE_BYTES:
            return None
        if self._redactor is None:
            return bytes(data)
        try:
            taken = msgspec.json.encode(self._redactor(Part(kind, tool, msgspec.json.decode(data))))
        except Exception as error:  # the host's function failed: nothing unredacted may be recorded
            _log.error("the redactor failed for a %s: %s", kind, type(error).__name__)
            return None
        return taken if len(taken) <= MAX_VALUE_BYTES else None


def type_of(first: bytes) -> str:
    """The type of a value given as JSON, by its first character."""
    return _TYPES.get(first, "number")


class ValueShape(NamedTuple):
    """A shape without its size, so that calls with the same arguments share one; and the same as JSON."""

    content: Content
    json: bytes


def shape_of(value: object, size: int) -> ValueShape:
    """`size` is that of the JSON in which the value came."""
    if isinstance(value, dict) and size <= _SMALL:
        return _object_shape(tuple(cast("dict[str, object]", value)))
    return _without_bytes(redact(cast("object", value)))


def shape_of_type(first: bytes) -> ValueShape:
    """For a value that is too large to look at: all that its first character says."""
    return _without_bytes({"type": type_of(first)})


@lru_cache(256)
def _object_shape(keys: tuple[str, ...]) -> ValueShape:
    """Cached: programs call the same tools with the same arguments often. Do not change the result."""
    return _without_bytes(redact(dict.fromkeys(keys)))


def _without_bytes(content: Content) -> ValueShape:
    kept = {key: value for key, value in content.items() if key != "bytes"}
    return ValueShape(kept, msgspec.json.encode(kept))
