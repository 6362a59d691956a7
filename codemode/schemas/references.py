"""Where a `$ref` leads within its JSON Schema document. Pure, bounded by the document's size.

Known are `#` (the whole), `#/$defs/x` (a JSON pointer with its escapes) and `#name` (an `$anchor`). Unknown
are other documents and places that are not there. A part with an `$id` of its own is a document in the
document, whose references mean other places; where there is such a part, no reference is followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

# Keywords whose values are data, in which nothing is a schema, and those whose values are schemas by name.
DATA_KEYWORDS = frozenset(("enum", "const", "default", "examples", "required", "dependentRequired"))
NAMED_SCHEMAS = frozenset(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"))
_ANCHORS = ("$anchor", "$dynamicAnchor")


class SchemaPart(NamedTuple):
    """A part of a document. `name` is the last word of the reference; empty for the whole document.

    Two places are the same if their schemas are the same object.
    """

    name: str
    schema: Mapping[str, Any] | bool


class References:
    """The references of one document, whose parts must not be replaced meanwhile."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._anchors: dict[str, SchemaPart] | None = None
        self._has_parts_with_id = False

    def find(self, reference: object) -> SchemaPart | None:
        """Where it leads; None if that is unknown."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        anchors = self._scan()
        if self._has_parts_with_id:
            return None
        fragment = unquote(reference[1:])
        if not fragment.startswith("/"):
            return anchors.get(fragment) if fragment else _place("", self._root)
        steps = [step.replace("~1", "/").replace("~0", "~") for step in fragment[1:].split("/")]
        found = self._root
        for step in steps:
            found = _member(found, step)
        return _place(steps[-1], found)

    def resolve(self, reference: object) -> SchemaPart | None:
        """Through places that only refer on; None also for a chain of those that never ends."""
        seen: set[int] = set()
        place = self.find(reference)
        while place is not None and isinstance(place.schema, Mapping) and set(place.schema) == {"$ref"}:
            if id(place.schema) in seen:
                return None
            seen.add(id(place.schema))
            place = self.find(place.schema["$ref"])
        return place

    def _scan(self) -> dict[str, SchemaPart]:
        """All anchors, found once for each document that has a reference."""
        if self._anchors is not None:
            return self._anchors
        self._anchors = {}
        todo: list[object] = [self._root]
        while todo:
            part = todo.pop()
            if isinstance(part, list):
                todo += cast("list[object]", part)
            elif isinstance(part, Mapping):
                schema = cast("Mapping[str, Any]", part)
                self._note(schema, self._anchors)
                todo += _inner(schema)
        return self._anchors

    def _note(self, schema: Mapping[str, Any], anchors: dict[str, SchemaPart]) -> None:
        names = [schema.get(keyword) for keyword in _ANCHORS]
        own = schema.get("$id")
        if isinstance(own, str) and own.startswith("#"):  # how anchors were written before draft 2019-09
            names.append(own[1:])
        elif isinstance(own, str) and schema is not self._root:
            self._has_parts_with_id = True
        for name in names:
            if isinstance(name, str):
                anchors.setdefault(name, SchemaPart(name, schema))


def _inner(schema: Mapping[str, Any]) -> Iterator[object]:
    for keyword, value in schema.items():
        if keyword in NAMED_SCHEMAS and isinstance(value, Mapping):
            yield from cast("Mapping[str, object]", value).values()
        elif keyword not in DATA_KEYWORDS:
            yield value


def _member(found: object, step: str) -> object:
    if isinstance(found, Mapping):
        return cast("Mapping[str, object]", found).get(step)
    if isinstance(found, list) and step.isdecimal() and step.isascii() and len(step) < 6:
        items = cast("list[object]", found)
        return items[int(step)] if int(step) < len(items) else None
    return None


def _place(name: str, found: object) -> SchemaPart | None:
    if isinstance(found, Mapping):
        return SchemaPart(name, cast("Mapping[str, Any]", found))
    return SchemaPart(name, found) if isinstance(found, bool) else None
