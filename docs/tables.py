"""The settings table in Markdown: for docs/reference.md, and between markers in pages that show a part of it.

A page has a line `<!-- table: NAME -->`, the table, and a line `<!-- end of table -->`; NAME is in `TABLES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from codemode.config import CodeModeConfig, EngineSettings, ToolSearchConfig
from codemode.config.rows import Row, in_words, rows_of
from codemode.config.rules import FieldRule, Flag, Gated, Names, Number, NumberOr, OneOf, SomeOf

_TABLE = re.compile(r"(?<=<!-- table: )(.+?) -->\n.*?(?=<!-- end of table -->)", re.DOTALL)


def fill_tables(text: str) -> str:
    """The text of a page with each of its tables made anew. KeyError for a table that there is not."""
    return _TABLE.sub(lambda found: f"{found[1]} -->\n\n{TABLES[found[1]]()}\n\n", text)


def settings_table(section: type[msgspec.Struct]) -> str:
    rows = ["| field | default | allowed | meaning |", "|---|---|---|---|"]
    rows += [
        f"| `{row.key}` | {_default(row)} | {_allowed(row.rule, section)} | {row.says.meaning} |"
        for row in rows_of(section).values()
    ]
    return "\n".join(rows)


def limits_table() -> str:
    """The settings that are limits, and what happens at them."""
    rows = ["| limit | default | counted | what happens |", "|---|---|---|---|"]
    for row in (*rows_of(CodeModeConfig).values(), *rows_of(EngineSettings).values()):
        if row.says.reached:
            default = row.says.default or in_words(row.default, _number(row).unit)
            rows.append(f"| `{row.key}` | {default} | {row.says.meaning} | {row.says.reached} |")
    return "\n".join(rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "tools.codeMode": lambda: settings_table(CodeModeConfig),
    "settings": lambda: settings_table(EngineSettings),
    "tools.toolSearch": lambda: settings_table(ToolSearchConfig),
    "limits": limits_table,
}


def _default(row: Row) -> str:
    """As it is written in a file."""
    return row.says.default or f"`{msgspec.json.encode(row.default).decode()}`"


def _number(row: Row) -> Number:
    assert isinstance(row.rule, Number), f"{row.key} says what happens at the limit, and has no number"
    return row.rule


def _allowed(rule: FieldRule, section: type[msgspec.Struct]) -> str:
    match rule:
        case Flag():
            return "true, false"
        case Number(at_most=bound) if bound:
            return f"{rule.low} … `{_key_of(bound, section)}`"
        case Number():
            low, high = in_words(rule.low, rule.unit), in_words(rule.high, rule.unit)
            return f"{low.removesuffix(f' {rule.unit}') if high.endswith(rule.unit) else low} … {high}"
        case NumberOr(number, words):
            return f"{_allowed(number, section)}, {_words(words)}"
        case OneOf() | SomeOf():
            return _words(rule.allowed)
        case Gated():
            return f"{_words(rule.allowed)}, true, false"
        case Names():
            return rule.kind
        case _:
            raise TypeError(rule)


def _words(allowed: Iterable[str]) -> str:
    return ", ".join(f'`"{name}"`' for name in allowed)


def _key_of(attribute: str, section: type[msgspec.Struct]) -> str:
    (key,) = [row.key for row in rows_of(section).values() if row.attribute == attribute]
    return key
