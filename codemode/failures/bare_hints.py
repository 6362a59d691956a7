"""The hint under an error of a bare program: it has the language, console and `openclaw.tools`. Pure.

As in hints.py, a wrong hint costs one line. None of them names what such a program does not have.
"""

from __future__ import annotations

import re

from codemode.failures.available import Available
from codemode.failures.expressions import declared_names, holds_promise, path_at
from codemode.failures.hints import CONSOLE
from codemode.nearest import nearest

_NOT_DEFINED = re.compile(r"([\w$]{1,120}) is not defined")


def hint_for_bare(message: str, program: str, offset: int | None, available: Available) -> str | None:
    """For a ReferenceError or a TypeError that no tool caused."""
    missing = _NOT_DEFINED.fullmatch(message)
    if missing is not None:
        return _missing(missing[1], program, available)
    path = () if offset is None else path_at(program, offset)
    root = tuple(available.root.split("."))
    if path[: len(root)] == root and len(path) > len(root):
        return _unknown_member(path[len(root)], available)
    match path:
        case ("globalThis", name, *_):
            return _missing(name, program, available)
        case ("console", name, *_):
            return f"`console.{name}` does not exist: console has {CONSOLE}."
        case (name, _, *_) if holds_promise(program, name):
            return f"`{name}` is a promise: put `await` before the call that gives it."
        case _:
            return None


def _missing(name: str, program: str, available: Available) -> str | None:
    if name in _named(available):
        return f"Tools are called by id: {_call(_named(available)[name], available)}."
    meant = nearest(name, [*available.globals, *declared_names(program)], 1)
    if meant and name != "tools":
        return f"Did you mean `{meant[0]}`?"
    root = available.root
    return (
        f"There is no `{name}` here: a program has the language, console and `{root}`; "
        f"`await {root}.search(…)` finds tools."
    )


def _unknown_member(name: str, available: Available) -> str | None:
    if name in ("search", "describe", "call"):
        return None
    told = f"`{available.root}` has search, describe and call"
    known = _named(available).get(name)
    return f"{told}." if known is None else f"{told}: {_call(known, available)}."


def _named(available: Available) -> dict[str, str]:
    return {identifier.rpartition(":")[2]: identifier for identifier in available.ids}


def _call(identifier: str, available: Available) -> str:
    return f'`await {available.root}.call("{identifier}", {{ … }})`'
