"""JSON Schema as TypeScript types, for declarations that models read. Pure, and bounded for any schema.

A type leaves out what TypeScript has no word for (patterns, ranges, `not`), and is `unknown` beyond a bound:
it may say less than its schema, never something else.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, cast

from codemode.declarations.aliases import Aliases
from codemode.declarations.type_words import MAX_KEY, comment, key, literal, one_line

_MAX_NODES = 600
_MAX_DEPTH = 16
_MAX_VALUES = 100
MAX_PROPERTIES = 200
_MAX_NOTE = 300
_MAX_PATTERNS = 10
_MAX_INDEX = 60
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


class Member(NamedTuple):
    name: str
    type: str
    is_required: bool
    note: str

    def line(self, indent: str) -> str:
        return f"{self.note}{indent}{key(self.name)}{'' if self.is_required else '?'}: {self.type};"


class SchemaTypes:
    """Writes the types of one schema document. References become aliases, which it collects."""

    def __init__(
        self, root: Schema, prefix: str, taken: set[str] | None = None, *, has_top_notes: bool = True
    ) -> None:
        """An alias is `prefix` and a part of its own; `taken` are the aliases of earlier documents. Without
        `has_top_notes` the root's own properties have no comments: the caller tells them elsewhere."""
        self._has_top_notes = has_top_notes
        self._aliases = Aliases(root, prefix, set() if taken is None else taken)
        self._nodes = 0

    @property
    def aliases(self) -> dict[str, str]:
        """The type of each alias, by name."""
        return self._aliases.bodies

    def of(self, schema: object, indent: str = "", depth: int = 0) -> str:
        """Writes the type. `indent` is that of the line where the type starts."""
        self._nodes += 1
        if schema is False:
            return "never"
        if not isinstance(schema, dict) or self._nodes > _MAX_NODES or depth > _MAX_DEPTH:
            return "unknown"
        node = cast("Schema", schema)
        parts = [
            self._aliases.name(node.get("$ref"), lambda target: self.of(target, "", min(depth + 1, 4))),
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
        """Writes what the schema says itself, without the schemas it combines."""
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
        shown = {name: properties[name] for name in list(properties)[:MAX_PROPERTIES] if len(name) <= MAX_KEY}
        inner = indent + "  "
        members = [
            Member(
                name,
                self._inner(shown[name], inner, depth),
                name in required,
                self._note(shown[name], inner, depth),
            )
            for name in sorted(shown, key=lambda name: name not in required)
        ]
        # Required without a description: the server asks for it all the same.
        members += [
            Member(name, "unknown", True, "")
            for name in sorted(required - properties.keys())[:20]
            if len(name) <= MAX_KEY
        ]
        mentioned = self._aliases.mentions
        others = self._others(node, inner, depth, cut=len(shown) < len(properties))
        if members:
            return _braced(members, others, indent)
        if others == "never" or (not others and "properties" in node):
            return "{}"
        # An alias may not lead to itself through Record, which is an alias too.
        is_deferred = self._aliases.mentions > mentioned
        return f"{{ [key: string]: {others} }}" if is_deferred else f"Record<string, {others or 'unknown'}>"

    def _note(self, schema: object, indent: str, depth: int) -> str:
        return "" if depth == 0 and not self._has_top_notes else comment(told_of(schema), indent)

    def _others(self, node: Schema, indent: str, depth: int, *, cut: bool) -> str:
        """The type of unnamed members: empty if the schema says nothing about them."""
        extra = node.get("additionalProperties")
        by_pattern = list(_named(node.get("patternProperties")).values())
        is_closed = extra is False or isinstance(extra, dict)
        if cut or extra is True or (by_pattern and not is_closed) or len(by_pattern) > _MAX_PATTERNS:
            return "unknown"
        if isinstance(extra, dict):
            by_pattern.append(cast("Schema", extra))
        if by_pattern:
            return _either([self._inner(schema, indent, depth) for schema in by_pattern])
        return "never" if extra is False else ""

    def _array(self, node: Schema, indent: str, depth: int) -> str:
        items: object = node.get("items")
        given: object = node.get("prefixItems", items if isinstance(items, list) else None)
        if not isinstance(given, list):
            return _array_of(self._inner(cast("object", items), indent, depth))
        first = cast("list[Any]", given)
        rest = cast("object", node.get("additionalItems") if items is first else items)
        least = node.get("minItems")
        needed = least if isinstance(least, int) else len(first)
        members = [
            f"{_grouped(self._extra(item, indent, depth))}?"
            if at >= needed
            else self._inner(item, indent, depth)
            for at, item in enumerate(first[:_MAX_VALUES])
        ]
        if len(first) > _MAX_VALUES or rest is True:
            members.append("...unknown[]")
        elif isinstance(rest, dict):
            members.append(f"...{_grouped(self._extra(cast('Schema', rest), indent, depth))}[]")
        return f"[{', '.join(members)}]"

    def _extra(self, item: object, indent: str, depth: int) -> str:
        """The type of an item that may be missing. TypeScript looks into a list at once, and must not find
        the alias there that contains the list."""
        mentioned = self._aliases.mentions
        found = self._inner(item, indent, depth)
        is_list = "[" in found or "Array<" in found
        return "unknown" if is_list and self._aliases.mentions > mentioned else found

    def _inner(self, schema: object, indent: str, depth: int) -> str:
        """The type of a member or an item."""
        with self._aliases.in_braces():
            return self.of(schema, indent, depth + 1)

    def _union(self, given: object, indent: str, depth: int) -> str:
        members = [member for member in _listed(given) if not self._aliases.is_itself(member)]
        if not members or len(members) > _MAX_VALUES:
            return "unknown"
        return _either([self.of(member, indent, depth + 1) for member in members])


def _braced(members: list[Member], others: str, indent: str) -> str:
    inner = indent + "  "
    lines = [member.line(inner) for member in members]
    if others and others != "never":
        lines.append(f"{inner}[key: string]: {_index(members, others)};")
    if len(lines) <= 4 and not any("\n" in line for line in lines) and sum(map(len, lines)) < 90:
        return "{ " + " ".join(line.strip() for line in lines).removesuffix(";") + " }"
    return "{\n" + "\n".join(lines) + f"\n{indent}}}"


def _index(members: list[Member], others: str) -> str:
    """The type of the other members, wide enough for the named ones, which TypeScript checks against it."""
    optional = [] if all(member.is_required for member in members) else ["undefined"]
    found = _either([others, *(member.type for member in members), *optional])
    return found if len(found) <= _MAX_INDEX and "\n" not in found else "unknown"


def told_of(schema: object) -> str:
    """What a schema says of its property for a doc comment: the description and the default."""
    node = cast("Schema", schema) if isinstance(schema, dict) else {}
    told = node.get("description")
    words = [one_line(told, _MAX_NOTE)] if isinstance(told, str) else []
    if "default" in node:
        words.append(f"@default {one_line(literal(node['default']), 80)}")
    return " ".join(words)


def _enumeration(values: list[Any]) -> str:
    if len(values) <= _MAX_VALUES:
        return _either([literal(value) for value in values])
    kinds = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
    return _either([kinds.get(cast("type[Any]", type(value)), "unknown") for value in values])


def _either(types: list[str]) -> str:
    """Joins types with `|`; a union with `unknown` in it is `unknown`."""
    distinct = list(dict.fromkeys(types))
    if "unknown" in distinct:
        return "unknown"
    return " | ".join(f"({one})" if "&" in one else one for one in distinct) or "never"


def _array_of(item: str) -> str:
    return f"{item}[]" if _SIMPLE.fullmatch(item) else f"Array<{item}>"


def _grouped(item: str) -> str:
    return item if _SIMPLE.fullmatch(item) else f"({item})"


def _listed(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _named(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
