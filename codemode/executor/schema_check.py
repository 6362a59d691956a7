"""Checks JSON values against a JSON Schema, within bounds. Arguments and declared results are checked here.

Saying whether a value fits is cheap; saying why it does not copies the part that is wrong, and that may be
all of it. So of a large value an outline is explained. A schema of a server or client is made a tree of
bounded size first (unfolding.py), and before a check it is asked how many checks one part may take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import msgspec
from codemode_runtime.parts import most_parts

from codemode.executor.unfolding import Unusable, unfold
from codemode.schemas.references import NAMED_SCHEMAS

if TYPE_CHECKING:  # 30 ms of import, for hosts that may never call a tool
    from jsonschema_rs import ValidationError, Validator

MAX_CHECKS = 8_000_000  # parts of the value times checks of one part: some hundredths of a second at worst
EXPLAINED_BYTES = 256 << 10  # of larger values an outline is explained

_BACKTRACKING = 20_000
_PATTERN_CHECKS = 5_000

# What is in an outline: so many others than the names that the schema knows, items, characters, parts.
_OTHER_NAMES, _ITEMS, _CHARACTERS, _PARTS = 20, 200, 1_000, 5_000
# What is wrong with an outline in one of these ways is wrong with the whole.
_SAFE = frozenset(("type", "additionalProperties", "unevaluatedProperties", "required", "enum"))
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
_MEMBERS = ("properties", "prefixItems")  # of which one applies to a member or item
_EVERY = (
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "additionalItems",
    "contains",
    "unevaluatedItems",
)


class SchemaCheck:
    """A schema that was compiled. `weight` is how many checks one part of a value may take, at most."""

    __slots__ = ("_names", "_schema", "_validator", "weight")

    def __init__(self, schema: Mapping[str, Any], *, trusted: bool) -> None:
        """A trusted schema is used as it is, with its references. Raises ValueError or Unusable for a schema
        that cannot be used; the first line of the text says why."""
        from jsonschema_rs import FancyRegexOptions, validator_for

        plain = dict(schema)
        tree = _try_to_unfold(plain) if trusted else unfold(plain)
        self._schema = plain if trusted or tree is None else tree
        self._validator: Validator = validator_for(
            self._schema,
            offline=True,
            pattern_options=FancyRegexOptions(backtrack_limit=_BACKTRACKING),
        )
        self.weight = 0 if tree is None else _weight(tree)
        self._names: frozenset[str] | None = None

    def is_affordable(self, value: object, size: int) -> bool:
        """Whether a value of so many bytes of JSON can be checked without holding up the loop."""
        if self.weight * size <= MAX_CHECKS:  # every part takes a byte at least
            return True
        return self.weight * most_parts(msgspec.json.encode(value)) <= MAX_CHECKS

    def fits(self, value: object) -> bool:
        return self._validator.is_valid(value)

    def errors(self, value: Any, size: int, most: int) -> tuple[list[ValidationError], Any]:
        """The first errors of a value that does not fit, and what they are about: the value, or an outline of
        a large one. Of a large one there may be no error that can be told."""
        if size > EXPLAINED_BYTES:
            outline = _outline(value, self._known_names(), _Room())
            found = islice(self._validator.iter_errors(outline), most)
            return [error for error in found if error.kind.name in _SAFE], outline
        if most > 1:
            return list(islice(self._validator.iter_errors(value), most)), value
        return self._first_error(value), value

    def _first_error(self, value: Any) -> list[ValidationError]:
        """Two errors cost as much as all of them: there may be very many."""
        from jsonschema_rs import ValidationError

        try:
            self._validator.validate(value)
        except ValidationError as error:
            return [error]
        return []

    def _known_names(self) -> frozenset[str]:
        if self._names is None:
            self._names = frozenset(_names(self._schema))
        return self._names


def _try_to_unfold(schema: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return unfold(schema)
    except Unusable:
        return None


def _weight(schema: object) -> int:
    """Checks that one part of a value may take: those of its own schema, or of one schema below for a part
    below, and all that are asked beside them. The schema is a tree without references."""
    if not isinstance(schema, dict):
        return 1
    node = cast("dict[str, Any]", schema)
    own = len(node) + _options(node)
    own += _PATTERN_CHECKS * (("pattern" in node) + len(node.get("patternProperties") or ()))
    below = sum(max(map(_weight, _schemas(node, key)), default=0) for key in _MEMBERS)
    below += sum(_weight(found) for key in _EVERY for found in _schemas(node, key))
    return max(own, below) + sum(_weight(found) for key in _IN_PLACE for found in _schemas(node, key))


def _options(node: Mapping[str, Any]) -> int:
    """What `enum` and `const` cost: options that are words are looked up, others are compared."""
    options = [*_listed(node.get("enum")), node.get("const")]
    compared: list[object] = [option for option in options if isinstance(option, dict | list)]
    return 2 * most_parts(msgspec.json.encode(compared)) if compared else 0


def _schemas(node: Mapping[str, Any], key: str) -> Iterable[object]:
    found = node.get(key)
    if key in NAMED_SCHEMAS and isinstance(found, dict):
        return cast("dict[str, object]", found).values()
    if isinstance(found, list):
        return cast("list[object]", found)
    return () if found is None else (found,)


def _listed(found: object) -> list[Any]:
    return cast("list[Any]", found) if isinstance(found, list) else []


def _names(schema: object) -> Iterable[str]:
    """The names of members that it speaks of, wherever that is."""
    if isinstance(schema, list):
        for item in cast("list[object]", schema):
            yield from _names(item)
    elif isinstance(schema, dict):
        for key, found in cast("dict[str, Any]", schema).items():
            if key == "required":
                yield from (name for name in _listed(found) if isinstance(name, str))
            elif key == "properties" and isinstance(found, dict):
                yield from cast("dict[str, Any]", found)
            yield from _names(cast("object", found))


class _Room:
    """How many parts an outline may still have; known members have one however little is left."""

    def __init__(self) -> None:
        self.left = _PARTS


def _outline(value: object, names: frozenset[str], room: _Room) -> Any:
    """A value like it with the first items of each list, and of each object the members that the schema
    knows and the first others."""
    room.left -= 1
    if isinstance(value, str):
        return value[:_CHARACTERS]
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [_outline(item, names, room) for item in items[: max(0, min(_ITEMS, room.left))]]
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, object]", value)
    others = islice((name for name in given if name not in names), max(0, min(_OTHER_NAMES, room.left)))
    kept = [*(name for name in names if name in given), *others] if len(given) > _OTHER_NAMES else list(given)
    return {name: _outline(given[name], names, room) for name in kept}
