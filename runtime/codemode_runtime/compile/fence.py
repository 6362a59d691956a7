"""Markdown around a program: one code fence is blanked out, so that positions stay those of the text as sent.

The closing fence may be missing (a cut answer). Prose around the block is forgiven. A fence that could also
be the inside of a template literal or a comment is not `certain`: it counts only if the text is no program.
"""

import re
from dataclasses import dataclass
from typing import Literal

FenceLanguage = Literal["javascript", "typescript", "python", "shell"]

_LANGUAGES: dict[str, FenceLanguage] = {
    **dict.fromkeys(("js", "javascript", "mjs", "cjs", "jsx", "node", "es6"), "javascript"),
    **dict.fromkeys(("ts", "typescript", "mts", "cts", "tsx"), "typescript"),
    **dict.fromkeys(("py", "python", "python3", "ipython"), "python"),
    **dict.fromkeys(("sh", "bash", "zsh", "shell", "console", "terminal", "powershell", "cmd"), "shell"),
}

# Possessive, so that a long line of fence characters is read once and not once per way to divide it.
_OPENING = re.compile(r"^\ufeff?[ \t]{0,3}(`{3,}+|~{3,}+)([^`\n]*+)$", re.MULTILINE)
# All of it on one line. As JavaScript it would be a call of an empty string, which no program means.
_ONE_LINE = re.compile(r"^\s*(`{3,12}+)(?:(\w+)[ \t]+)?([^\n]*[^`\n])\1\s*$")
# Prose has none of these outside of inline code; a program with Markdown in a literal has some before it.
_CODE_BEFORE = re.compile(r"[`;{}=]")
_INLINE_CODE = re.compile(r"`[^`\n]*+`")


@dataclass(frozen=True, slots=True)
class Fenced:
    """A program inside a fence: `code` is the whole text with everything but the program blanked.

    `stray` is what comes before a fence that opens nothing: the program, if only the end of one was left on.
    """

    code: str
    language: FenceLanguage | None
    certain: bool
    blocks: int
    stray: str | None = None


def find_fence(text: str) -> Fenced | None:
    """The first fenced block of a text that is Markdown, or None if the text is no Markdown."""
    if (single := _ONE_LINE.match(text)) is not None:
        return _on_one_line(text, single)
    opening = _OPENING.search(text)
    if opening is None:
        return None
    before = text[: opening.start()]
    if before.strip() and not opening[2].strip() and not text[opening.end() :].strip():
        blanked = before + _blank(text[opening.start() :])
        return Fenced(_blank(text), None, certain=False, blocks=1, stray=blanked)
    if has_code(before):
        return None
    body_start = opening.end()
    closing = _closing(opening[1], text, body_start)
    body_end, rest_start = closing.span() if closing else (len(text), len(text))
    after = text[rest_start:]
    more = _OPENING.search(after) is not None
    return Fenced(
        code=_blank(before + opening[0]) + text[body_start:body_end] + _blank(text[body_end:]),
        language=_LANGUAGES.get(_first_word(opening[2])),
        certain=not before.strip() or (opening[1][0] == "`" and "`" not in before and "/*" not in before),
        blocks=2 if more else 1,
    )


def _on_one_line(text: str, found: re.Match[str]) -> Fenced:
    language = _LANGUAGES.get((found[2] or "").lower())
    start = found.start(3) if language or not found[2] else found.start(2)
    code = _blank(text[:start]) + text[start : found.end(3)] + _blank(text[found.end(3) :])
    return Fenced(code, language, certain=True, blocks=1)


def fence_language(text: str) -> FenceLanguage | None:
    """What the fence around a program says it holds, or None without a fence or a known word on it."""
    fenced = find_fence(text)
    return fenced.language if fenced else None


def has_code(text: str) -> bool:
    """Whether a text has signs that no prose has."""
    return _CODE_BEFORE.search(_INLINE_CODE.sub("", text)) is not None


def _first_word(info: str) -> str:
    words = info[:80].split()
    return words[0].lower().removeprefix("{.").rstrip("}") if words else ""


def _closing(mark: str, text: str, start: int) -> re.Match[str] | None:
    character = re.escape(mark[0])
    pattern = re.compile(rf"^[ \t]{{0,3}}{character}{{{len(mark)},}}+[ \t\r]*+$", re.MULTILINE)
    return pattern.search(text, start)


def _blank(text: str) -> str:
    """Spaces for everything but line breaks, one per UTF-8 byte: columns are counted in bytes."""
    return re.sub(r"[^\r\n\u2028\u2029]", lambda found: " " * len(found[0].encode("utf-8", "replace")), text)
