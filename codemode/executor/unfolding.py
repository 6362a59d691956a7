"""A schema without references: each replaced by what it names, up to a size. Pure.

Checking a value against a tree costs at most the tree's size for each part of the value. With references left
in, twenty of them can mean a million checks, and a server that nobody vouches for may send such a schema.
"""

from __future__ import annotations

from typing import Any, cast

_MAX_NODES = 20_000
_MAX_DEPTH = 120
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DROPPED = frozenset((*_REFERENCES, "$defs", "definitions", "$id", "$anchor", "$dynamicAnchor", "$schema"))
_BY_NAME = frozenset(("properties", "patternProperties", "dependentSchemas"))
_DATA = frozenset(("enum", "const", "default", "examples", "required", "dependentRequired"))


class Unusable(Exception):
    """The schema cannot be unfolded within bounds. Its tool can still be called, unchecked by us."""

    code = "invalid_schema"


def unfold(schema: dict[str, Any]) -> dict[str, Any]:
    """A place that refers back to what contains it becomes "anything": the server checks that itself."""
    unfolded = _Unfolder(schema).of(schema, (), 0)
    return cast("dict[str, Any]", unfolded) if isinstance(unfolded, dict) else {}


class _Unfolder:
    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def of(self, found: object, through: tuple[str, ...], depth: int) -> object:
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
        own = {
            key: self._keyword(key, value, through, depth + 1)
            for key, value in node.items()
            if key not in _DROPPED
        }
        referred = [self._follow(node[key], through, depth) for key in _REFERENCES if key in node]
        if not referred:
            return own
        return {"allOf": [*referred, own]} if own else referred[0]

    def _keyword(self, key: str, value: object, through: tuple[str, ...], depth: int) -> object:
        if key in _DATA:
            return value
        if key in _BY_NAME and isinstance(value, dict):
            # Names of the user's, not keywords: a property may well be called "$ref".
            named = cast("dict[str, object]", value)
            return {name: self.of(schema, through, depth) for name, schema in named.items()}
        return self.of(value, through, depth)

    def _follow(self, reference: object, through: tuple[str, ...], depth: int) -> object:
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return True  # the whole schema again, or another document
        if reference in through:
            return True
        target: object = self._root
        for step in reference[2:].split("/"):
            if not isinstance(target, dict):
                raise Unusable("a reference to nowhere")
            node = cast("dict[str, object]", target)
            key = step.replace("~1", "/").replace("~0", "~")
            if key not in node:
                raise Unusable("a reference to nowhere")
            target = node[key]
        return self.of(target, (*through, reference), depth + 1)
