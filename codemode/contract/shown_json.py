"""Arguments of a call as lines for a person who decides about it. Pure.

A program chose the names and the values, so each gets one line that it cannot leave, and each is shortened by
itself: a long value hides none of the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar, cast

import msgspec

MAX_KEYS = 100  # lines; the others are counted
_MAX_NAME = 80
_HEAD, _TAIL = 120, 60  # characters of a long text that are shown
MAX_PARTS = 24  # of one value: members, items and what is in them
_MAX_VALUE = 600  # characters of a line
_PLAIN_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_MAX_SUMMARY_NAMES = 12
T = TypeVar("T")


def shown_arguments(arguments: Mapping[str, Any]) -> list[str]:
    """`name: value` for each of them."""
    lines = [
        f"{shown_name(name)}: {shown_value(value)}" for name, value in islice(arguments.items(), MAX_KEYS)
    ]
    more = len(arguments) - MAX_KEYS
    return [*lines, f"and {more:,} more that are not shown"] if more > 0 else lines


def shown_names(names: Iterable[str], count: int) -> str:
    """The names alone, for a sentence."""
    listed = [shown_name(name) for name in islice(names, _MAX_SUMMARY_NAMES)]
    more = count - len(listed)
    return ", ".join([*listed, f"{more:,} more"] if more else listed)


def shown_name(name: str) -> str:
    short = name if len(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…"
    return short if _PLAIN_NAME.fullmatch(short) else shown_value(short)


def shown_value(value: Any) -> str:
    shown = escaped_json(msgspec.json.encode(_Shortener().of(value)).decode())
    return shown if len(shown) <= _MAX_VALUE else f"{shown[: _MAX_VALUE // 2]} … {shown[-_MAX_VALUE // 2 :]}"


class _Shortener:
    """Shortens one value: its parts share a number of them, and each text is cut by itself."""

    def __init__(self) -> None:
        self._left = MAX_PARTS

    def of(self, value: Any) -> Any:
        if isinstance(value, str):
            return _short(value)
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            shown = {_short(name): self.of(members[name]) for name in self._some(members)}
            return shown if len(shown) == len(members) else {**shown, "…": _more(len(members) - len(shown))}
        if isinstance(value, list | tuple):
            items = cast("list[Any]", value)
            found = [self.of(item) for item in self._some(items)]
            return found if len(found) == len(items) else [*found, _more(len(items) - len(found))]
        return value

    def _some(self, parts: Iterable[T]) -> Iterator[T]:
        for part in parts:
            if self._left <= 0:
                return
            self._left -= 1
            yield part


def _short(text: str) -> str:
    left_out = len(text) - _HEAD - _TAIL
    if left_out <= 0:
        return text
    return f"{text[:_HEAD]} … {left_out:,} characters left out … {text[-_TAIL:]}"


def _more(count: int) -> str:
    return f"{count:,} more"


def escaped_json(json: str) -> str:
    """Keeps the same JSON: unsafe characters can only be in its strings, which have escapes of their own."""
    if json.isascii():
        return json  # JSON always escapes control characters
    return "".join(char if char in "\n\t" or char.isprintable() else _json_escape(char) for char in json)


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
