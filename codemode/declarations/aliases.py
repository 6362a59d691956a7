"""The aliases that stand for the references of one schema document, and which of them may name which. Pure.

An alias may name itself in braces or brackets, `type A = { next?: A }`. Outside of them TypeScript refuses an
alias that leads to itself, also through others: `type A = string | A`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

from codemode.declarations.identifiers import camel_case
from codemode.schemas.references import References

_REFERS_ONLY = frozenset(("$ref", "title", "description"))


class Aliases:
    """`bodies` by name, in the order in which they were finished. `mentions` counts how often any is used."""

    def __init__(self, root: object, prefix: str, taken: set[str]) -> None:
        self.bodies: dict[str, str] = {}
        self.mentions = 0
        self._references = References(root)
        self._prefix = prefix
        self._taken = taken
        self._names: dict[int, str] = {}  # by the identity of what they stand for
        self._making: int | None = None  # what the alias stands for that is being written, outside of braces
        self._leads_to: dict[int, set[int]] = {}  # which names which, outside of braces

    def name(self, reference: object, write: Callable[[object], str]) -> str:
        """The alias for where it leads, whose body is written at its first use; `unknown` if none may be."""
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
        """Whether it only names the alias that is being written: "these, or all of it again" are these."""
        node = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
        if self._making is None or not node.keys() <= _REFERS_ONLY:
            return False
        place = self._references.resolve(node.get("$ref"))
        return place is not None and id(place.schema) == self._making

    @contextmanager
    def in_braces(self) -> Generator[None]:
        """While a member or an item is written."""
        making, self._making = self._making, None
        yield
        self._making = making

    def _may_name(self, target: int) -> bool:
        """Whether the alias that is being written can name that one without leading to itself."""
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
