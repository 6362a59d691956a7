"""JSON as people write it in configuration files: comments, trailing commas, single quotes, bare keys.

The grammar is JSON5's, read strictly: one value, no duplicate keys, no guesses. Any text gives plain data, or
JsonRefused with the line and column. Depth and the digits of a number are capped.
"""

from __future__ import annotations

import re
from typing import Any

from codemode_runtime.language import well_formed

MAX_DEPTH = 64
_MAX_DIGITS = 400  # more than any float has; beyond 4,300 int() itself refuses

# Possessive repeats keep every alternative linear in the length of the text.
_SPACE = re.compile(r"(?:[\s\uFEFF]|//[^\n\r\u2028\u2029]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_STRING = re.compile(r"""(?s:"((?:[^"\\\n\r]|\\(?:\r\n|.))*+)"|'((?:[^'\\\n\r]|\\(?:\r\n|.))*+)')""")
_ESCAPE = re.compile(r"(?s)\\(u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|\r\n|.)")
_NUMBER = re.compile(
    r"([+-]?)(?:(0[xX][0-9a-fA-F]++)|(Infinity|NaN)"
    r"|((?=\.?[0-9])(?:0|[1-9][0-9]*+)?(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]++)?))(?![\w$.])"
)
_WORD = re.compile(r"[^\W\d][\w$]*+|\$[\w$]*+")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_LINE_ENDS = frozenset(("\n", "\r", "\r\n", "\u2028", "\u2029"))
_ABSENT = object()


class JsonRefused(ValueError):
    """The text is not JSON, not even the relaxed kind. The message says where and why."""

    code = "invalid_json"

    def __init__(self, text: str, at: int, problem: str) -> None:
        before = text[:at]
        line = before.count("\n") + 1
        column = at - (before.rfind("\n") + 1) + 1
        self.line, self.column = line, column
        super().__init__(f"{problem} at {line}:{column}.")


def parse_json(text: str) -> Any:
    """Parses any text. Raises JsonRefused and nothing else."""
    reader = _Reader(text)
    value = reader.value(0)
    reader.expect_end()
    return value


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def value(self, depth: int) -> Any:
        self._skip_space()
        match self._text[self._at : self._at + 1]:
            case "":
                raise self._refuse("a value is missing")
            case "{" | "[" if depth >= MAX_DEPTH:
                raise self._refuse(f"nested more than {MAX_DEPTH} levels deep")
            case "{":
                return self._object(depth)
            case "[":
                return self._array(depth)
            case '"' | "'":
                return self._string()
            case _:
                return self._word_or_number()

    def expect_end(self) -> None:
        self._skip_space()
        if self._at < len(self._text):
            raise self._refuse("unexpected text after the value")

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._at += 1
        while not self._ends("}"):
            start = self._at
            key = self._key()
            if key in found:
                raise JsonRefused(self._text, start, f"the key {key[:40]!r} is there twice")
            if not self._take(":"):
                raise self._refuse("expected a colon after the key")
            found[key] = self.value(depth + 1)
            if not self._take(",") and not self._ends("}", consume=False):
                raise self._refuse("expected a comma or }")
        return found

    def _array(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self._at += 1
        while not self._ends("]"):
            found.append(self.value(depth + 1))
            if not self._take(",") and not self._ends("]", consume=False):
                raise self._refuse("expected a comma or ]")
        return found

    def _key(self) -> str:
        if self._text[self._at : self._at + 1] in ('"', "'"):
            return self._string()
        word = _WORD.match(self._text, self._at)
        if word is None:
            raise self._refuse("expected a key")
        self._at = word.end()
        return word[0]

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        if found is None:
            raise self._refuse("this string does not end on its line")
        start, self._at = self._at, found.end()
        body = found[1] if found[1] is not None else found[2]
        if "\\" in body:
            body = _ESCAPE.sub(lambda escape: self._unescape(escape[1], start), body)
            body = well_formed(body)  # two escapes may have the halves of one character
        return body

    def _unescape(self, escape: str, start: int) -> str:
        if len(escape) > 2:
            return chr(int(escape[1:], 16))
        if escape in _LINE_ENDS:
            return ""
        if escape in "ux123456789":
            raise JsonRefused(self._text, start, f"a string with the unknown escape \\{escape}")
        return _ESCAPES.get(escape, escape)

    def _word_or_number(self) -> Any:
        word = _WORD.match(self._text, self._at)
        value = _WORDS.get(word[0], _ABSENT) if word else _ABSENT
        if word is not None and value is not _ABSENT:
            self._at = word.end()
            return value
        number = _NUMBER.match(self._text, self._at)
        if number is None:
            raise self._refuse("expected a value")
        if len(number[0]) > _MAX_DIGITS:
            raise self._refuse("a number with too many digits")
        self._at = number.end()
        return _number(number)

    def _skip_space(self) -> None:
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _take(self, sign: str) -> bool:
        self._skip_space()
        taken = self._text.startswith(sign, self._at)
        self._at += taken
        return taken

    def _ends(self, bracket: str, *, consume: bool = True) -> bool:
        self._skip_space()
        ends = self._text.startswith(bracket, self._at)
        if self._at >= len(self._text):
            raise self._refuse(f"the closing {bracket} is missing")
        self._at += ends and consume
        return ends

    def _refuse(self, problem: str) -> JsonRefused:
        return JsonRefused(self._text, self._at, problem)


def _number(found: re.Match[str]) -> int | float:
    sign = -1 if found[1] == "-" else 1
    if found[2]:
        return sign * int(found[2], 16)
    if found[3]:
        return sign * float(found[3])
    return sign * (int(found[4]) if found[4].isdigit() else float(found[4]))
