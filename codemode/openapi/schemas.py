"""Schemas of an OpenAPI document as JSON Schemas that stand alone: `$ref` leads into their own `$defs`. Pure.

Version 3.0 has its own dialect (`nullable`, boolean `exclusiveMinimum`), which is rewritten; what is no
schema (`example`, `xml`, `discriminator`) is left out. A schema that would drag half the document along is
cut: what is behind its last references may then be anything.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from codemode.schemas.references import DATA_KEYWORDS, NAMED_SCHEMAS

Json = dict[str, Any]

_MAX_BYTES = 96 << 10  # of the named parts of one schema
_MAX_DEPTH = 40
_NO_SCHEMA = frozenset(
    ("example", "examples", "xml", "externalDocs", "discriminator", "nullable", "$schema", "$id")
)


class Schemas:
    """The schemas of one document. A part that was read is kept: operations share most of theirs."""

    def __init__(self, document: Json) -> None:
        self._document = document
        # by reference: the schema, its bytes, and what it refers to
        self._parts: dict[str, tuple[Json, int, tuple[str, ...]]] = {}

    def whole(self, schema: object) -> Json:
        """The schema with everything it refers to."""
        used: list[str] = []
        made = self._read(schema, used, 0)
        names: dict[str, str] = {}
        parts: dict[str, Json] = {}
        size = 0
        queue = list(dict.fromkeys(used))
        for reference in queue:  # grows while it is read: nearest parts come first
            found = self._part(reference)
            if found is None or size + found[1] > _MAX_BYTES:
                continue
            size += found[1]
            names[reference] = name = _free(reference.rpartition("/")[2], parts)
            parts[name] = found[0]
            queue.extend(one for one in found[2] if one not in queue)
        made = cast("Json", _pointed(made, names))
        if parts:
            made["$defs"] = {name: _pointed(part, names) for name, part in parts.items()}
        return made

    def _part(self, reference: str) -> tuple[Json, int, tuple[str, ...]] | None:
        known = self._parts.get(reference)
        if known is None:
            found = find(self._document, reference)
            if not isinstance(found, dict):
                return None
            used: list[str] = []
            made = self._read(cast("Json", found), used, 0)
            known = self._parts[reference] = made, len(msgspec.json.encode(made)), tuple(dict.fromkeys(used))
        return known

    def _read(self, schema: object, used: list[str], depth: int) -> Json:
        if not isinstance(schema, dict) or depth > _MAX_DEPTH:
            return {}
        given = cast("Json", schema)
        reference = given.get("$ref")
        if isinstance(reference, str):
            used.append(reference)
            described = given.get("description")
            return {"$ref": reference} | ({"description": described} if isinstance(described, str) else {})
        made: Json = {}
        for key, value in given.items():
            if key in _NO_SCHEMA or key.startswith("x-"):
                continue
            made[key] = self._value(key, value, used, depth)
        _without_old_bounds(made)
        return _nullable(made) if given.get("nullable") is True else made

    def _value(self, key: str, value: Any, used: list[str], depth: int) -> Any:
        if key in DATA_KEYWORDS:
            return value
        if key in NAMED_SCHEMAS and isinstance(value, dict):
            return {name: self._read(one, used, depth + 1) for name, one in cast("Json", value).items()}
        if isinstance(value, dict):
            return self._read(cast("Json", value), used, depth + 1)
        if isinstance(value, list) and key in ("allOf", "anyOf", "oneOf", "prefixItems", "items"):
            return [self._read(one, used, depth + 1) for one in cast("list[Any]", value)]
        return cast("Any", value)


def find(document: Json, reference: str) -> Any:
    """Where a reference leads in its document, also through others; None if that is elsewhere or nowhere."""
    for _ in range(20):
        if not reference.startswith("#/"):
            return None
        found: Any = document
        for step in reference[2:].split("/"):
            step = step.replace("~1", "/").replace("~0", "~").replace("%7B", "{").replace("%7D", "}")
            found = cast("Json", found).get(step) if isinstance(found, dict) else None
        onward: Any = cast("Json", found).get("$ref") if isinstance(found, dict) else None
        if not isinstance(onward, str):
            return cast("Any", found)
        reference = onward
    return None


def _pointed(value: Any, names: dict[str, str]) -> Any:
    """References as they are within the made schema; one that was cut says anything."""
    if isinstance(value, list):
        return [_pointed(one, names) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    given = cast("Json", value)
    reference = given.get("$ref")
    if isinstance(reference, str):
        kept = {key: one for key, one in given.items() if key != "$ref"}
        return kept | ({"$ref": f"#/$defs/{names[reference]}"} if reference in names else {})
    return {key: _member(key, one, names) for key, one in given.items()}


def _member(key: str, value: Any, names: dict[str, str]) -> Any:
    """Names of properties are no keywords: one may be called `default`."""
    if key in NAMED_SCHEMAS and isinstance(value, dict):
        return {name: _pointed(one, names) for name, one in cast("Json", value).items()}
    return value if key in DATA_KEYWORDS else _pointed(value, names)


def _nullable(made: Json) -> Json:
    kind = made.get("type")
    if isinstance(kind, str):
        made["type"] = [kind, "null"]
        if isinstance(made.get("enum"), list) and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
        return made
    return {"anyOf": [made, {"type": "null"}]} if made else made


def _without_old_bounds(made: Json) -> None:
    """Version 3.0 says `exclusiveMinimum: true` beside `minimum`."""
    for exclusive, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(made.get(exclusive), bool) and made.pop(exclusive) and plain in made:
            made[exclusive] = made.pop(plain)
    if made.get("type") == "file":
        made["type"] = "string"


def _free(name: str, taken: dict[str, Json]) -> str:
    """A name for `$defs` that needs no escapes."""
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name) or "part"
    while plain in taken:
        plain += "_"
    return plain
