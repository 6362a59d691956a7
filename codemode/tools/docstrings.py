"""Reads what a docstring says about a function and its parameters: Google, NumPy and Sphinx styles. Pure.

Text in no such style is all description.
"""

from __future__ import annotations

import inspect
import re

from msgspec import Struct

_GOOGLE_SECTION = re.compile(
    r"^(args|arguments|parameters|params|returns?|yields?|raises|examples?|notes?):\s*$", re.IGNORECASE
)
_GOOGLE_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?::.*)?$")
_SPHINX_FIELD = re.compile(r"^:(\w+)(?:\s+[^:]*?)??(?:\s+(\w+))?\s*:\s*(.*)$")
_ABOUT_PARAMETERS = ("args", "arguments", "parameters", "params")


class Documented(Struct, frozen=True):
    description: str
    parameters: dict[str, str]


def parse_docstring(docstring: str | None) -> Documented:
    lines = inspect.cleandoc(docstring or "").splitlines()
    description: list[str] = []
    parameters: dict[str, list[str]] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        underlined = at + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[at + 1].strip())
        if underlined:
            at = _read_section(lines, at + 2, line.strip().lower(), _NUMPY_PARAMETER, 0, parameters)
        elif section := _GOOGLE_SECTION.match(line):
            at = _read_section(lines, at + 1, section[1].lower(), _GOOGLE_PARAMETER, 1, parameters)
        elif field := _SPHINX_FIELD.match(line):
            at = _read_field(lines, at, field, parameters)
        else:
            description.append(line)
            at += 1
    told = {name: " ".join(" ".join(words).split()) for name, words in parameters.items()}
    return Documented("\n".join(description).strip(), {name: text for name, text in told.items() if text})


def _read_section(
    lines: list[str], at: int, title: str, head: re.Pattern[str], indented: int, into: dict[str, list[str]]
) -> int:
    """Reads up to the next section and returns where that is. Skips sections on other things."""
    own_indent: int | None = None
    current: list[str] | None = None
    while at < len(lines):
        line = lines[at]
        indent = len(line) - len(line.lstrip())
        next_underlined = at + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[at + 1].strip())
        if line.strip() and (next_underlined or (indented and indent == 0)):
            break
        if title in _ABOUT_PARAMETERS and line.strip():
            own_indent = indent if own_indent is None else own_indent
            found = head.match(line.strip()) if indent == own_indent else None
            if found:
                current = into.setdefault(found[1], [])
                current.extend(found.groups()[1:])
            elif current is not None:
                current.append(line.strip())
        at += 1
    return at


def _read_field(lines: list[str], at: int, field: re.Match[str], into: dict[str, list[str]]) -> int:
    words = [field[3]]
    at += 1
    while at < len(lines) and lines[at].startswith((" ", "\t")):
        words.append(lines[at].strip())
        at += 1
    if field[1] in ("param", "parameter", "arg", "argument") and field[2]:
        into.setdefault(field[2], []).extend(words)
    return at
