"""The note for a program that returned nothing: which line to write. Pure, and only a hint.

A model's last word is often a bare expression, a call without `await`, or a function that is never called.
"""

from __future__ import annotations

import re

from codemode.failures.positions import locate
from codemode.failures.promises import hint_for_field_of_promise

_ONLY = "Nothing was returned: only `return` gives a value."
_MAX_LINE = 100
_DECLARED = re.compile(r"(?:const|let|var)\s+([\w$]+)\s*=")
_FUNCTION = re.compile(r"(?:async\s+)?function\b\s*\*?\s*([\w$]+)")
_STATEMENT = re.compile(
    r"(?:const|let|var|if|for|while|do|switch|try|throw|class|using|break|continue|debugger|return)\b"
    r"|await\s+using\b|\{|[\w$]+\s*:(?!:)"
)
_RETURN = re.compile(r"\breturn\b")
_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def hint_for_nothing(program: str, line: int, byte_column: int) -> str | None:
    """`line` and `byte_column` are where the last statement starts. None if it returns nothing on purpose."""
    at = locate(program, line, byte_column) if line else None
    if at is None:
        return _ONLY
    text = at.text[at.column - 1 :].strip().rstrip(";").rstrip()
    if (field := hint_for_field_of_promise(program)) is not None:
        return field
    if text.startswith("return"):
        return _undefined(text, program)
    if (function := _FUNCTION.match(text)) is not None:
        return f"{_ONLY} `{function[1]}` was declared last: end with `return await {function[1]}()`."
    if (declared := _DECLARED.match(text)) is not None:
        return f"{_ONLY} End with `return {declared[1]}`."
    if _STATEMENT.match(text) or not text:
        return f"{_ONLY} End with `return …`."
    before = "return" if text.startswith("await ") or "(" not in text else "return await"
    if len(text) > _MAX_LINE or not _is_closed(text):
        return f"{_ONLY} Put `{before}` before `{text[:40].rstrip()}…`."
    return f"{_ONLY} Write `{before} {text}`."


def _undefined(text: str, program: str) -> str | None:
    """For a `return` of something that is not there; it may be another `return` than the last."""
    if text.removeprefix("return").strip() in ("", "undefined", "void 0", "null"):
        return None
    if len(_RETURN.findall(program)) > 1 or len(text) > _MAX_LINE or not _is_closed(text):
        return "The program returned undefined, which is shown as null."
    return f"`{text}` gave undefined, which is shown as null."


def _is_closed(text: str) -> bool:
    """Whether the line holds the whole expression, as far as brackets tell."""
    return all(text.count(opening) == text.count(closing) for opening, closing in _BRACKETS.items()) and (
        text.count("`") % 2 == 0 and not text.endswith((".", ",", "=>", "+", "&&", "||", "?", ":"))
    )
