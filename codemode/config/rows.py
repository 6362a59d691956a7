"""The rows of the settings table, read from its structs: for the loaders, the help and the docs. Pure.

A row is one field: its key and default, the rule for its values, and the text in `Says`. The row of a number
has the rule; for flags and words the type is the rule.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Struct

from codemode.config.rules import FieldRule, Flag, Number, OneOf, SomeOf

_LARGER: dict[str, tuple[tuple[int, str], ...]] = {
    "bytes": ((1 << 50, "PiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")),
    "ms": ((60_000, "min"), (1_000, "s")),
    "s": ((3_600, "h"), (60, "min")),
}


class Says(Struct, frozen=True):
    """`meaning` is a phrase in Markdown. `reached` says what happens at the limit, if the field is a limit.

    `default` is the default in words, if it depends on the machine.
    """

    meaning: str
    reached: str = ""
    default: str = ""


class NotASetting(Struct, frozen=True):
    """Marks a field that no host can set: it travels along with the settings."""


class Row(Struct, frozen=True):
    """One setting. `key` is its name in a file, `attribute` its name in Python."""

    key: str
    attribute: str
    default: Any
    rule: FieldRule
    says: Says


@cache
def rows_of(section: type[Struct]) -> dict[str, Row]:
    """The rows of a section by key, in the order of the table."""
    fields = msgspec.structs.fields(section)
    return {field.encode_name: _row(field) for field in fields if NotASetting() not in get_args(field.type)}


@cache
def rules_of(section: type[Struct]) -> dict[str, FieldRule]:
    return {key: row.rule for key, row in rows_of(section).items()}


def in_words(number: int, unit: str) -> str:
    """Writes `64 MiB`, `10 s`, `16 calls`: takes the largest unit that gives a whole number."""
    if number == 0:
        return "0"
    for size, name in _LARGER.get(unit, ()):
        if number % size == 0:
            return f"{number // size:,} {name}"
    return f"{number:,} {unit}".rstrip()


def help_of(row: Row) -> str:
    """The help for argparse: the meaning without markup, and the default."""
    unit = row.rule.unit if isinstance(row.rule, Number) else ""
    default = row.says.default or (in_words(row.default, unit) if unit else str(row.default))
    return f"{row.says.meaning} (default {default})".replace("`", "").replace("%", "%%")


def choices_of(row: Row) -> tuple[str, ...]:
    assert isinstance(row.rule, OneOf)
    return row.rule.allowed


def _row(field: msgspec.structs.FieldInfo) -> Row:
    kind, *extras = get_args(field.type)
    (says,) = [extra for extra in extras if isinstance(extra, Says)]
    rules = [extra for extra in extras if not isinstance(extra, Says)]
    return Row(field.encode_name, field.name, field.default, rules[0] if rules else _rule_of(kind), says)


def _rule_of(kind: Any) -> FieldRule:
    if kind is bool:
        return Flag()
    if get_origin(kind) is Literal:
        return OneOf(get_args(kind))
    if get_origin(kind) is tuple:
        return SomeOf(get_args(get_args(kind)[0]))
    raise TypeError(f"a row of {kind} has to say its rule")
