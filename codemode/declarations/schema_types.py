"""JSON Schema as TypeScript types, for declarations that models read. Pure, and bounded for any schema.

What TypeScript has no word for (patterns, ranges, `not`) is left out; what a bound cuts off is `unknown`: a
type may say less than its schema, never something else.
"""

from __future__ import annotations

import re
from typing import Any, cast

from codemode.declarations.identifiers import camel_case
from codemode.declarations.type_words import MAX_KEY, comment, key, literal, one_line

_MAX_NODES = 600
_DEEPEST = 16
_MAX_VALUES = 100
_MAX_PROPERTIES = 200
_MAX_NOTE = 300
_SIMPLE = re.compile(r"[A-Za-z_$][\w$]*")
_PLAIN_TYPES = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
}
_OBJECT_WORDS = ("properties", "additionalProperties", "patternProperties", "required")
_ARRAY_WORDS = ("items", "prefixItems")

Schema = dict[str, Any]


class SchemaTypes:
    """The types of one schema document. References become aliases, collected as they are met."""

    def __init__(self, root: Schema, prefix: str, taken: set[str] | None = None) -> None:
        """Aliases are called `prefix` and a part of their own; `taken` are those of earlier documents."""
        self.aliases: dict[str, str] = {}
        self._root = root
        self._prefix = prefix
        self._taken = set[str]() if taken is None else taken
        self._by_place: dict[str, str] = {}
        self._nodes = 0

    def of(self, schema: object, indent: str = "", depth: int = 0) -> str:
        """The type. `indent` is that of the line it starts on."""
        self._nodes += 1
        if schema is False:
            return "never"
        if not isinstance(schema, dict) or self._nodes > _MAX_NODES or depth > _DEEPEST:
            return "unknown"
        node = cast("Schema", schema)
        parts = [
            self._reference(node.get("$ref"), depth),
            self._own(node, indent, depth),
            *(self._union(node.get(word), indent, depth) for word in ("anyOf", "oneOf")),
            *(self.of(part, indent, depth + 1) for part in _listed(node.get("allOf"))),
        ]
        known = list(dict.fromkeys(part for part in parts if part != "unknown"))
        if len(known) > 1:
            found = " & ".join(f"({part})" if "|" in part else part for part in known)
        else:
            found = known[0] if known else "unknown"
        return _either([found, "null"]) if node.get("nullable") is True else found

    def _own(self, node: Schema, indent: str, depth: int) -> str:
        """What the schema says by itself, without the schemas it is combined from."""
        if "const" in node:
            return literal(node["const"])
        if isinstance(node.get("enum"), list):
            return _enumeration(cast("list[Any]", node["enum"]))
        given = node.get("type")
        kinds = _listed(cast("object", given)) if isinstance(given, list) else [given]
        if given is None:
            kinds = ["object"] if any(word in node for word in _OBJECT_WORDS) else []
            kinds += ["array"] if any(word in node for word in _ARRAY_WORDS) else []
        return _either([self._kind(kind, node, indent, depth) for kind in kinds]) if kinds else "unknown"

    def _kind(self, kind: object, node: Schema, indent: str, depth: int) -> str:
        match kind:
            case "object":
                return self._object(node, indent, depth)
            case "array":
                return self._array(node, indent, depth)
            case str():
                return _PLAIN_TYPES.get(kind, "unknown")
            case _:
                return "unknown"

    def _object(self, node: Schema, indent: str, depth: int) -> str:
        properties = _named(node.get("properties"))
        required = {name for name in _listed(node.get("required")) if isinstance(name, str)}
        shown = {
            name: properties[name] for name in list(properties)[:_MAX_PROPERTIES] if len(name) <= MAX_KEY
        }
        inner = indent + "  "
        lines = [
            self._member(name, shown[name], name in required, inner, depth)
            for name in sorted(shown, key=lambda name: name not in required)
        ]
        # Required and not described all the same: the server will ask for it.
        lines += [
            f"{inner}{key(name)}: unknown;"
            for name in sorted(required - properties.keys())[:20]
            if len(name) <= MAX_KEY
        ]
        others = self._others(node, inner, depth, cut=len(shown) < len(properties))
        if not lines:
            is_empty = others == "never" or (not others and "properties" in node)
            return "{}" if is_empty else f"Record<string, {others or 'unknown'}>"
        if others and others != "never":
            lines.append(f"{inner}[key: string]: {others};")
        if len(lines) <= 4 and not any("\n" in line for line in lines) and sum(map(len, lines)) < 90:
            return "{ " + " ".join(line.strip() for line in lines).removesuffix(";") + " }"
        return "{\n" + "\n".join(lines) + f"\n{indent}}}"

    def _member(self, name: str, schema: object, is_required: bool, indent: str, depth: int) -> str:
        mark = "" if is_required else "?"
        return f"{_note(schema, indent)}{indent}{key(name)}{mark}: {self.of(schema, indent, depth + 1)};"

    def _others(self, node: Schema, indent: str, depth: int, *, cut: bool) -> str:
        """The type of members that are not named: empty if the schema says nothing about them."""
        extra = node.get("additionalProperties")
        by_pattern = list(_named(node.get("patternProperties")).values())
        if cut or extra is True:
            return "unknown"
        found = [self.of(schema, indent, depth + 1) for schema in by_pattern[:10]]
        if isinstance(extra, dict):
            found.append(self.of(cast("Schema", extra), indent, depth + 1))
        if found:
            return _either(found)
        return "never" if extra is False else ""

    def _array(self, node: Schema, indent: str, depth: int) -> str:
        items: object = node.get("items")
        first: object = node.get("prefixItems", items if isinstance(items, list) else None)
        if not isinstance(first, list):
            return _array_of(self.of(cast("object", items), indent, depth + 1))
        rest = cast("object", node.get("additionalItems") if items is first else items)
        least = node.get("minItems")
        needed = least if isinstance(least, int) else len(cast("list[Any]", first))
        members = [
            _optional(self.of(item, indent, depth + 1), at >= needed)
            for at, item in enumerate(cast("list[Any]", first)[:_MAX_VALUES])
        ]
        if isinstance(rest, dict):
            members.append(f"...{_array_of(self.of(cast('Schema', rest), indent, depth + 1))}")
        return f"[{', '.join(members)}]"

    def _union(self, given: object, indent: str, depth: int) -> str:
        members = _listed(given)[:_MAX_VALUES]
        return _either([self.of(member, indent, depth + 1) for member in members]) if members else "unknown"

    def _reference(self, given: object, depth: int) -> str:
        place, target = self._follow(given)
        if place is None:
            return "unknown"
        known = self._by_place.get(place)
        if known is not None:
            return known
        name = self._by_place[place] = self._alias_name(place)
        body = self.of(target, "", min(depth + 1, 4))
        self.aliases[name] = body if body != name else "unknown"
        return name

    def _follow(self, given: object) -> tuple[str | None, object]:
        """Through references to references; a chain that leads nowhere, or into itself, has no target."""
        seen: set[str] = set()
        while isinstance(given, str) and given.startswith("#") and given not in seen:
            seen.add(given)
            target: object = self._root
            for step in given[1:].split("/")[1:]:
                place = step.replace("~1", "/").replace("~0", "~")
                target = _at(target, place)
                if target is None:
                    return None, None
            node = cast("Schema", target) if isinstance(target, dict) else {}
            if set(node) != {"$ref"}:
                return given, cast("object", target)
            given = node["$ref"]
        return None, None

    def _alias_name(self, place: str) -> str:
        last = camel_case(place.rpartition("/")[2], "self") if "/" in place else "self"
        base = name = f"{self._prefix}{last[:1].upper()}{last[1:]}"
        number = 1
        while name in self._taken:
            number += 1
            name = f"{base}{number}"
        self._taken.add(name)
        return name


def _note(schema: object, indent: str) -> str:
    """The doc comment of a property: its description and its default."""
    node = cast("Schema", schema) if isinstance(schema, dict) else {}
    told = node.get("description")
    words = [one_line(told, _MAX_NOTE)] if isinstance(told, str) else []
    if "default" in node:
        words.append(f"@default {one_line(literal(node['default']), 80)}")
    return comment(" ".join(words), indent)


def _enumeration(values: list[Any]) -> str:
    if len(values) <= _MAX_VALUES:
        return _either([literal(value) for value in values])
    kinds = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
    return _either([kinds.get(cast("type[Any]", type(value)), "unknown") for value in values])


def _either(types: list[str]) -> str:
    """`unknown` or one of these is unknown."""
    distinct = list(dict.fromkeys(types))
    if "unknown" in distinct:
        return "unknown"
    return " | ".join(f"({one})" if "&" in one else one for one in distinct) or "never"


def _array_of(item: str) -> str:
    return f"{item}[]" if _SIMPLE.fullmatch(item) else f"Array<{item}>"


def _optional(member: str, is_optional: bool) -> str:
    if not is_optional:
        return member
    return f"{member}?" if _SIMPLE.fullmatch(member) else f"({member})?"


def _listed(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _named(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _at(found: object, step: str) -> object:
    match found:
        case dict():
            return cast("Schema", found).get(step)
        case list() if step.isdecimal() and len(step) < 6:
            items = cast("list[object]", found)
            return items[int(step)] if int(step) < len(items) else None
        case _:
            return None
