"""Writes a JSON schema as one line of TypeScript-like text, for prompts and error messages. Pure, bounded.

It tells what decides a program: `page_size?: integer 1..20 = 10`, `repo: string /* owner/name */`.

It is a sketch, not a declaration: depth, members and length are cut so that no schema can flood a prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from codemode_runtime.language import PLAIN_NAME

from codemode.schemas.references import References
from codemode.tools.constraints import clause_of, form_of, range_of

_MAX_DEPTH = 3
_MAX_MEMBERS = 12
_MAX_OPTIONS = 8
_MAX_WORD = 60


_MAX_DEFAULT = 24
_CLAUSE = 40
_BARE = ("string", "number", "integer", "any", "object", "string[]", "any[]", "string | null")


def sketch(schema: object, *, longest: int = 400, clause: int = _CLAUSE, types: bool = True) -> str:
    """Types have their JSON Schema names (`integer`); `any` where the schema names none. Where a type says
    nothing, `clause` characters of the description's first clause are told. Without `types` an object's
    members are only named. What is too long has fewer members, the required ones first."""
    sketcher = _Sketcher(schema, clause, types)
    whole = text = sketcher.of(schema, 0)
    while len(text) > longest and text.endswith("}") and sketcher.members > 1:
        sketcher.members -= 1
        text = sketcher.of(schema, 0)
    return text if len(text) <= longest else whole[: longest - 1].rstrip() + "…"


class _Sketcher:
    def __init__(self, root: object, clause: int, types: bool) -> None:
        self.members = _MAX_MEMBERS  # of the outermost object
        self._references = References(root)
        self._clause = clause
        self._types = types

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
        most = _MAX_MEMBERS if depth else self.members
        shown = [
            f"{_name(name)}{'' if name in required else '?'}{self._member(name, own, depth)}"
            for name, own in members[:most]
        ]
        more = [f"… {len(members) - most} more"] if len(members) > most else []
        return "{ " + ", ".join(shown + more) + " }"

    def _member(self, name: str, schema: object, depth: int) -> str:
        """The type, its range, the default, and in a comment the form or what the description says."""
        if not self._types:
            return ""
        kind = self.of(schema, depth + 1)
        if not isinstance(schema, Mapping):
            return f": {kind}"
        own = _with_option(cast("Mapping[str, Any]", schema))
        limits, default = range_of(own), own.get("default")
        words = form_of(own)
        if not words and not limits and kind in _BARE:
            words = clause_of(own.get("description"), name, self._clause)
        value = "" if default in (None, "", [], {}) else _literal(cast("object", default))
        return ": " + " ".join(
            part
            for part in (
                kind,
                limits,
                f"= {value}" if value and len(value) <= _MAX_DEFAULT else "",
                f"/* {words} */" if words else "",
            )
            if part
        )


def _with_option(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """With what the one option says that is not null, as optional parameters are often declared."""
    options: object = schema.get("anyOf")
    if not isinstance(options, list):
        return schema
    found = [cast("Mapping[str, Any]", one) for one in cast("list[Any]", options) if isinstance(one, Mapping)]
    real = [one for one in found if one.get("type") != "null"]
    return {**real[0], **schema} if len(real) == 1 else schema


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
