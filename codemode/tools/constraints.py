"""What a JSON schema says of a value beside its type, in a few words: ranges, formats, patterns. Pure,
bounded.

For lines that a model reads: `1..20`, `YYYY-MM-DD`, `3 capital letters`. What has no short form is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_MAX_PATTERN = 40
_SEPARATOR = re.compile(r"[.;:!?](?:\s|$)|\s[(–—-]|\n|, (?:e\.g|for example|such as|default)", re.IGNORECASE)
_FORMATS = {
    "date": "YYYY-MM-DD",
    "date-time": "ISO date-time",
    "time": "HH:MM:SS",
    "uri": "URL",
    "uri-reference": "URL",
    "ipv4": "IPv4 address",
    "ipv6": "IPv6 address",
}
_CLASSES = {
    "[A-Z]": ("capital letter", "capital letters"),
    "[a-z]": ("small letter", "small letters"),
    "[a-zA-Z]": ("letter", "letters"),
    "[A-Za-z]": ("letter", "letters"),
    "[0-9]": ("digit", "digits"),
    r"\d": ("digit", "digits"),
    "[0-9a-f]": ("hex digit", "hex digits"),
    "[a-f0-9]": ("hex digit", "hex digits"),
    r"\w": ("word character", "word characters"),
}
_PIECE = re.compile(
    r"(?P<kind>\[[^\]\\]{1,12}\]|\\d|\\w)(?:\{(?P<least>\d{1,3})(?P<to>,(?P<most>\d{0,3}))?\}|(?P<some>[+]))?"
    r"|\\?(?P<text>[-_/:.@#])|(?P<word>[A-Za-z0-9]+)"
)


def range_of(schema: Mapping[str, Any]) -> str:
    """`1..20`, `>= 1`, `1..80 characters`, `at most 5 items`; empty if there is no range."""
    least, above = _number(schema, "minimum"), _number(schema, "exclusiveMinimum")
    most, below = _number(schema, "maximum"), _number(schema, "exclusiveMaximum")
    if least is not None and most is not None:
        return f"{least}..{most}"
    parts = [
        f"{sign} {bound}"
        for sign, bound in ((">=", least), (">", above), ("<=", most), ("<", below))
        if bound is not None
    ]
    if parts:
        return " and ".join(parts)
    lengths = ("minLength", "maxLength", "characters"), ("minItems", "maxItems", "items")
    for low, high, what in lengths:
        few, many = _number(schema, low), _number(schema, high)
        if many is not None:
            return f"{few}..{many} {what}" if few not in (None, "0") else f"at most {many} {what}"
        if few not in (None, "0", "1"):
            return f"at least {few} {what}"
    return ""


def form_of(schema: Mapping[str, Any]) -> str:
    """The format or the pattern of a text, in words."""
    form, pattern = schema.get("format"), schema.get("pattern")
    if isinstance(form, str) and re.fullmatch(r"[\w-]{1,30}", form):
        return _FORMATS.get(form, form)
    if isinstance(pattern, str) and 0 < len(pattern) <= _MAX_PATTERN:
        return pattern_in_words(pattern)
    return ""


def pattern_in_words(pattern: str) -> str:
    """`^[A-Z]{3}-\\d+$` is "3 capital letters, -, digits"; of a pattern that is not as simple, itself."""
    whole = re.fullmatch(r"\^(.*)\$", pattern)
    said: list[str] = []
    at = 0
    text = whole[1] if whole else ""
    while whole and at < len(text):
        piece = _PIECE.match(text, at)
        told = None if piece is None else _piece(piece)
        if piece is None or told is None:
            break
        said.append(told)
        at = piece.end()
    if whole and said and at == len(text):
        return ", ".join(said)
    return f"matches {_one_line(pattern)}" if "*/" not in pattern else ""


def clause_of(description: object, name: str, longest: int) -> str:
    """The first clause of a description, unless it only says the name again."""
    if not isinstance(description, str) or longest < 4:
        return ""
    text = _one_line(description[: 4 * longest + 200].replace("*/", "* /").replace("/*", "/ *"))
    clause = _SEPARATOR.split(text, maxsplit=1)[0].strip(" .,;:")
    words = set(re.findall(r"\w+", clause.lower())) - {"the", "a", "an", "of", "to", "for", "this"}
    if not words or words <= set(re.findall(r"[a-z0-9]+", re.sub(r"([A-Z])", r" \1", name).lower())):
        return ""
    return clause if len(clause) <= longest else clause[: longest - 1].rstrip() + "…"


def _number(schema: Mapping[str, Any], key: str) -> str | None:
    found = schema.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    text = f"{found:g}" if isinstance(found, float) else str(found)
    return text if len(text) <= 20 else None


def _piece(piece: re.Match[str]) -> str | None:
    if piece["text"] or piece["word"]:
        return piece["text"] or piece["word"]
    names = _CLASSES.get(piece["kind"])
    if names is None:
        return None
    one, several = names
    least, most = piece["least"], piece["most"]
    if least is None:
        return several if piece["some"] else f"1 {one}"
    if piece["to"] is None:
        return f"{least} {one if least == '1' else several}"
    return f"{least}..{most} {several}" if most else f"at least {least} {several}"


def _one_line(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
