"""Finds `await tools.read({}).items` in a program, which awaits a field of a promise. Pure.

Nothing is decided by it; a wrong hint costs one line.
"""

from __future__ import annotations

import re

_CALL = re.compile(r"await\s+((?:tools|MCP)(?:\??\.[\w$]+|\[[^\[\]\n]{1,120}\])+)\(")
_FIELD = re.compile(r"\s*\??\.\s*([\w$]+)|\s*(\[\d+\])")
_OF_PROMISES = ("then", "catch", "finally")
_MAX_READ = 100_000
_MAX_INPUT = 2_000  # characters between the parentheses of a call
_MAX_SHOWN = 60
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def hint_for_field_of_promise(program: str) -> str | None:
    """The line to write, for the first such place."""
    for call in _CALL.finditer(program[:_MAX_READ]):
        end = _closing(program, call.end() - 1)
        field = None if end is None else _FIELD.match(program, end)
        if end is None or field is None or field[1] in _OF_PROMISES:
            continue
        given = program[call.end() : end - 1].strip()
        shown = given if len(given) <= _MAX_SHOWN and "\n" not in given else "…"
        called, of = f"{call[1]}({shown})", f".{field[1]}" if field[1] else field[2]
        return f"`await {called}{of}` reads a field of a promise: write `(await {called}){of}`."
    return None


def _closing(program: str, start: int) -> int | None:
    """Where the bracket that opens at `start` has been closed."""
    expected: list[str] = []
    quote = ""
    for at in range(start, min(len(program), start + _MAX_INPUT)):
        char = program[at]
        if quote:
            quote = "" if char == quote and program[at - 1] != "\\" else quote
        elif char in "\"'`":
            quote = char
        elif char in _PAIRS:
            expected.append(_PAIRS[char])
        elif char in ")]}":
            if not expected or expected.pop() != char:
                return None
            if not expected:
                return at + 1
    return None
