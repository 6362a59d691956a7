"""Guesses without a parser whether a text is complete, and whether it is an expression. Pure.

The engine decides what the language allows; a wrong guess costs a second try and nothing else.
"""

from __future__ import annotations

import re

_STATEMENT = re.compile(
    r"(?:const|let|var|if|for|while|do|switch|try|throw|return|function|class|import|export|interface|enum"
    r"|break|continue|debugger|async\s+function)\b"
)
_OPENERS = {"(": ")", "[": "]", "{": "}"}
# One lexical element; anything else is skipped one character at a time.
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?P<comment>/\*)|'(?:\\.|[^'\\\n])*'?|"(?:\\.|[^"\\\n])*"?|(?P<word>[\w$]+)""",
    re.DOTALL,
)
_REGEX = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/")
_TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*", re.DOTALL)
_BEFORE_A_VALUE = frozenset("(,=:[!&|?{};+-*%<>~^")
_WORDS_BEFORE_A_VALUE = frozenset(
    ("return", "typeof", "case", "in", "of", "delete", "void", "throw", "await")
)


def is_incomplete(text: str) -> bool:
    """Whether a bracket, a template or a comment is open at the end."""
    open_: list[str] = []  # closers that are due; "`" while inside a template
    at, last = 0, ""
    while at < len(text):
        if open_ and open_[-1] == "`":
            at = _TEMPLATE.match(text, at).end()  # pyright: ignore[reportOptionalMemberAccess] - it may be empty
            if text.startswith("${", at):
                open_.append("}")
                at, last = at + 2, "{"
            elif at < len(text):
                open_.pop()
                at, last = at + 1, "`"
            continue
        found = _regex_at(text, at, last) or _TOKEN.match(text, at)
        if found is not None:
            if found.groupdict().get("comment"):
                return True
            is_comment = found[0].startswith(("//", "/*"))
            at, last = found.end(), last if is_comment else found[0]
            continue
        char = text[at]
        at += 1
        last = last if char.isspace() else char
        if char == "`":
            open_.append("`")
        elif char in _OPENERS:
            open_.append(_OPENERS[char])
        elif open_ and char == open_[-1]:
            open_.pop()
    return bool(open_)


def as_expression(text: str) -> str | None:
    """The program that returns the expression, or None for what is plainly a statement.

    It adds parentheses, so that two statements in a row are a syntax error and not half a program. The
    closing one has its own line, because the last line may end in a comment.
    """
    body = text.strip().rstrip(";").rstrip()
    return None if not body or _STATEMENT.match(body) else f"return ({body}\n)"


def _regex_at(text: str, at: int, last: str) -> re.Match[str] | None:
    """A slash begins a regular expression where a value may begin; elsewhere it divides."""
    is_value = not last or last[-1] in _BEFORE_A_VALUE or last in _WORDS_BEFORE_A_VALUE
    if text[at] != "/" or not is_value or text.startswith(("//", "/*"), at):
        return None
    return _REGEX.match(text, at)
