"""The aliases for the references of one schema document, and which alias may name which. Pure.

An alias may name itself in braces or brackets, `type A = { next?: A }`. Outside of them TypeScript refuses an
alias that leads to itself, also by way of others: `type A = string | A`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

from codemode.declarations.identifiers import camel_case
from codemode.schemas.references import References

_REFERS_ONLY = frozenset(("$ref", "title", "description"))


class Aliases:
    """Keeps `bodies` by name, in the order of completion. `mentions` counts every use of an alias."""

    def __init__(self, root: object, prefix: str, taken: set[str]) -> None:
        self.bodies: dict[str, str] = {}
        self.mentions = 0
        self._references = References(root)
        self._prefix = prefix
        self._taken = taken
        self._names: dict[int, str] = {}  # by the identity of the schema
        self._making: int | None = None  # the schema whose alias is being written, outside of braces
        self._leads_to: dict[int, set[int]] = {}  # which schema's alias names which, outside of braces

    def name(self, reference: object, write: Callable[[object], str]) -> str:
        """The alias for the reference's target, or `unknown`. The first use of an alias writes its body."""
        place = None if reference is None else self._references.resolve(reference)
        if place is None or not self._may_name(id(place.schema)):
            return "unknown"
        self.mentions += 1
        target = id(place.schema)
        if target not in self._names:
            name = self._names[target] = self._new_name(place.name)
            making, self._making = self._making, target
            self.bodies[name] = write(place.schema)
            self._making = making
        return self._names[target]

    def is_itself(self, schema: object) -> bool:
        """Whether the schema only names the alias being written: "these, or all of it again" are these."""
        node = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
        if self._making is None or not node.keys() <= _REFERS_ONLY:
            return False
        place = self._references.resolve(node.get("$ref"))
        return place is not None and id(place.schema) == self._making

    @contextmanager
    def in_braces(self) -> Generator[None]:
        """Marks that a member or an item is being written."""
        making, self._making = self._making, None
        yield
        self._making = making

    def _may_name(self, target: int) -> bool:
        """Whether the alias being written can name the target's without leading to itself."""
        if self._making is None:
            return True
        reached, todo = {target}, [target]
        while todo:
            found = self._leads_to.get(todo.pop(), set()) - reached
            reached |= found
            todo += found
        if self._making in reached:
            return False
        self._leads_to.setdefault(self._making, set()).add(target)
        return True

    def _new_name(self, word: str) -> str:
        last = camel_case(word, "self")
        base = name = f"{self._prefix}{last[:1].upper()}{last[1:]}"
        number = 1
        while name in self._taken:
            number += 1
            name = f"{base}{number}"
        self._taken.add(name)
        return name
