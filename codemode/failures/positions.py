"""Finds the place in the model's own text, from QuickJS's stack text and UTF-8 columns. Pure.

A program can shape the stack text (it holds function names), so a position counts only if the program has
such a place. Columns count characters here; the guest counts bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|[\n\r\u2028\u2029]")
_OTHER_ENDS = (("\r\n", " \n"), ("\r", "\n"), ("\u2028", "\n"), ("\u2029", "\n"))
_MAX_FRAMES = 64
_WIDEST = 120  # characters of a source line that are quoted


@dataclass(frozen=True, slots=True)
class Position:
    """`offset` is into the whole text, `text` the line without its end. Line and column start at 1."""

    line: int
    column: int
    text: str
    offset: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


def locate(program: str, line: int, byte_column: int) -> Position | None:
    """None if the text has no such place."""
    start = _start_of(program, line)
    if start is None:
        return None
    end = _LINE_END.search(program, start)
    text = program[start : end.start() if end else len(program)]
    encoded = text.encode("utf-8", "surrogatepass")
    if line < 1 or not 1 <= byte_column <= len(encoded) + 1:
        return None
    before = len(encoded[: byte_column - 1].decode("utf-8", "ignore"))
    blank = len(text) - before - len(text[before:].lstrip())
    before += 0 if before + blank == len(text) else blank  # the guest may point at the space before a word
    return Position(line, before + 1, text, start + before)


def _start_of(program: str, line: int) -> int | None:
    """Where the line begins. Makes all line ends alike first, each as long as it was: looking for a million
    of them one by one takes a fifth of a second."""
    for other, alike in _OTHER_ENDS:
        program = program.replace(other, alike)
    pieces = program.split("\n", max(line - 1, 0))
    return len(program) - len(pieces[-1]) if len(pieces) >= line else None


def find_position(stack: str, program: str, error_name: str) -> Position | None:
    """The first frame of the program, past the constructors of its own error classes."""
    frames = [frame for line in stack.split("\n", _MAX_FRAMES)[:_MAX_FRAMES] if (frame := _read_frame(line))]
    while len(frames) > 1 and _is_constructor(frames[0][0], error_name, program):
        del frames[0]
    return locate(program, frames[0][1], frames[0][2]) if frames else None


def excerpt(position: Position) -> str:
    """The source line, cut to a readable width, and a caret below."""
    at = position.column - 1
    start = max(0, min(at - _WIDEST // 2, len(position.text) - _WIDEST))
    end = start + _WIDEST
    shown = re.sub(r"\s", " ", position.text[start:end])
    before, after = "…" if start else "", "…" if end < len(position.text) else ""
    return f"    {before}{shown}{after}\n    {' ' * (at - start + len(before))}^"


def _read_frame(line: str) -> tuple[str, int, int] | None:
    """Reads `    at name (program:1:2)` or `    at program:1:2` from the right: a name may hold anything."""
    place, _, column = line.removesuffix(")").rpartition(":")
    place, _, row = place.rpartition(":")
    function, is_program, _ = place.rpartition("program")
    if not is_program or not place.endswith("program") or not function.endswith(("(", "at ")):
        return None
    if not _is_small_number(row) or not _is_small_number(column):
        return None
    return function.strip().removeprefix("at ").removesuffix("(").strip(), int(row), int(column)


def _is_small_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _is_constructor(function: str, error_name: str, program: str) -> bool:
    return bool(function) and (function == error_name or f"class {function} extends " in program)
