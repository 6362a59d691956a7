"""A schema without references: each is replaced by what it names, up to a size. Pure.

Checking a value against a tree costs at most the tree's size for each part of the value. With references left
in, twenty of them can mean a million checks, and an untrusted server may send such a schema.

The unfolded schema never refuses what the schema accepts. A place that refers to a part that contains it, or
to another document, becomes "anything": the server checks that itself.
"""

from __future__ import annotations

from typing import Any, cast

from codemode.schemas.references import DATA_KEYWORDS, NAMED_SCHEMAS, References

_MAX_NODES = 20_000
_MAX_DEPTH = 120
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DROPPED = frozenset((*_REFERENCES, "$defs", "definitions", "$id", "$anchor", "$dynamicAnchor", "$schema"))
_CONDITION = frozenset(("if", "then", "else"))
# Unlike `true`, this also marks every member and item as evaluated, which `unevaluatedProperties` asks for.
_ANYTHING: dict[str, Any] = {"unevaluatedProperties": True, "unevaluatedItems": True}


class Unusable(Exception):
    """The schema cannot be unfolded within bounds. Its tool can still be called, with unchecked input."""

    code = "invalid_schema"


def unfold(schema: dict[str, Any]) -> dict[str, Any]:
    unfolded = _Unfolder(schema).of(schema, (id(schema),), 0)
    return cast("dict[str, Any]", unfolded) if isinstance(unfolded, dict) else {}


class _Unfolder:
    """Unfolds one document. `through` has the identities of the places followed on the way here."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._references = References(root)
        self._nodes = 0
        self._cuts = 0

    def of(self, found: object, through: tuple[int, ...], depth: int) -> object:
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise Unusable(f"more than {_MAX_NODES} parts")
        if depth > _MAX_DEPTH:
            raise Unusable(f"nested more than {_MAX_DEPTH} levels deep")
        if isinstance(found, list):
            return [self.of(item, through, depth + 1) for item in cast("list[object]", found)]
        if not isinstance(found, dict):
            return found
        node = cast("dict[str, object]", found)
        own = self._keywords(node, through, depth + 1)
        referred = [self._follow(node[key], through, depth) for key in _REFERENCES if key in node]
        return _both(referred, own)

    def _keywords(self, node: dict[str, object], through: tuple[int, ...], depth: int) -> dict[str, Any]:
        """The schema's own keywords. A part that is now "anything" must not make its container refuse
        more."""
        own: dict[str, Any] = {}
        loose: set[str] = set()
        for key, value in node.items():
            if key in _DROPPED:
                continue
            cuts = self._cuts
            own[key] = self._keyword(key, value, through, depth)
            if self._cuts > cuts:
                loose.add(key)
        if "not" in loose:
            del own["not"]
        if "contains" in loose:
            own.pop("maxContains", None)
        if "oneOf" in loose:  # more than one branch may match now
            own = _both([{"anyOf": own.pop("oneOf")}], own)
        if "if" in loose:
            own = _both([_ANYTHING], {key: own[key] for key in own if key not in _CONDITION})
        return own

    def _keyword(self, key: str, value: object, through: tuple[int, ...], depth: int) -> object:
        if key in DATA_KEYWORDS:
            return value
        if key in NAMED_SCHEMAS and isinstance(value, dict):
            # The keys are names of the user, not keywords: a property may well be called "$ref".
            named = cast("dict[str, object]", value)
            return {name: self.of(schema, through, depth) for name, schema in named.items()}
        return self.of(value, through, depth)

    def _follow(self, reference: object, through: tuple[int, ...], depth: int) -> object:
        place = self._references.find(reference)
        if place is None and isinstance(reference, str) and reference.startswith("#"):
            raise Unusable("a reference to nowhere")
        if place is None or id(place.schema) in through:
            self._cuts += 1
            return _ANYTHING
        return self.of(place.schema, (*through, id(place.schema)), depth + 1)


def _both(others: list[Any], own: dict[str, Any]) -> Any:
    """Makes one schema of several. Own keywords stay where they are: `unevaluatedProperties` sees what is in
    the `allOf` beside it, and nothing outside of the branch that contains it."""
    if not others:
        return own
    if not own and len(others) == 1:
        return others[0]
    more = own.get("allOf", [])
    return {**own, "allOf": [*others, *cast("list[Any]", more)] if isinstance(more, list) else more}
