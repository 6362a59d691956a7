"""Writes a JSON schema as one line of TypeScript-like text, for prompts and error messages. Pure, bounded.

It is a sketch, not a declaration: depth, members and length are cut so that no schema can flood a prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from codemode_runtime.language import PLAIN_NAME

from codemode.schemas.references import References

_MAX_DEPTH = 3
_MAX_MEMBERS = 12
_MAX_OPTIONS = 8
_MAX_WORD = 60


def sketch(schema: object, *, longest: int = 400) -> str:
    """Types have their JSON Schema names (`integer`); `any` where the schema names none."""
    text = _Sketcher(schema).of(schema, 0)
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


class _Sketcher:
    def __init__(self, root: object) -> None:
        self._references = References(root)

    def of(self, schema: object, depth: int) -> str:
        if not isinstance(schema, Mapping):
            return "never" if schema is False else "any"
        found = cast("Mapping[str, Any]", schema)
        if depth > _MAX_DEPTH:
            return "…"
        if isinstance(found.get("$ref"), str):
            place = self._references.resolve(found["$ref"])
            return "any" if place is None else self.of(place.schema, depth + 1)
        if isinstance(found.get("enum"), list):
            return _union([_literal(option) for option in found["enum"]])
        if "const" in found:
            return _literal(found["const"])
        for key, sign in (("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")):
            if isinstance(found.get(key), list):
                return _union([self.of(part, depth + 1) for part in found[key]], sign)
        kinds = found.get("type")
        if isinstance(kinds, list):
            return _union([self._typed(str(kind), found, depth) for kind in cast("list[object]", kinds)])
        if isinstance(kinds, str):
            return self._typed(kinds, found, depth)
        return self._typed("object", found, depth) if "properties" in found else "any"

    def _typed(self, kind: str, schema: Mapping[str, Any], depth: int) -> str:
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                tuple_items = schema.get("prefixItems")
                if isinstance(tuple_items, list):
                    items = cast("list[object]", tuple_items)[:_MAX_MEMBERS]
                    return f"[{', '.join(self.of(item, depth + 1) for item in items)}]"
                inner = self.of(schema.get("items"), depth + 1)
                return f"Array<{inner}>" if re.search(r"[ |&]", inner) else f"{inner}[]"
            case "string" | "number" | "integer" | "boolean" | "null":
                return kind
            case _:
                return "any"

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or not properties:
            extra: object = schema.get("additionalProperties")
            has_type = isinstance(extra, Mapping)
            return f"Record<string, {self.of(cast('object', extra), depth + 1)}>" if has_type else "object"
        members = list(cast("Mapping[str, Any]", properties).items())
        listed = schema.get("required")
        required = set(map(str, cast("list[object]", listed))) if isinstance(listed, list) else set[str]()
        members.sort(key=lambda member: member[0] not in required)  # stable: then as declared
        shown = [
            f"{_name(name)}{'' if name in required else '?'}: {self.of(own, depth + 1)}"
            for name, own in members[:_MAX_MEMBERS]
        ]
        more = [f"… {len(members) - _MAX_MEMBERS} more"] if len(members) > _MAX_MEMBERS else []
        return "{ " + ", ".join(shown + more) + " }"


def _union(parts: list[str], sign: str = " | ") -> str:
    unique = list(dict.fromkeys(parts))
    more = ["…"] if len(unique) > _MAX_OPTIONS else []
    return sign.join(unique[:_MAX_OPTIONS] + more) or "never"


def _literal(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:  # an enum may hold JSON of any depth
        return "…"
    return text if len(text) <= _MAX_WORD else text[: _MAX_WORD - 1] + "…"


def _name(name: str) -> str:
    return name if PLAIN_NAME.fullmatch(name) and len(name) <= _MAX_WORD else _literal(name)
