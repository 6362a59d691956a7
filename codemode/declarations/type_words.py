"""The words of TypeScript declarations: literals, keys and comments, made of untrusted text. Pure.

Each result is one token (or one comment) of TypeScript and bounded in size, for any input.
"""

from __future__ import annotations

import json
import math
from typing import Any, cast

from codemode_runtime.language import PLAIN_NAME, RESERVED_WORDS

MAX_KEY = 200
_MAX_LITERAL = 200
_LITERAL_PARTS = 20
# The language allows them as bare keys, but parsers of declarations take some of them for modifiers.
_MODIFIERS = frozenset(
    [
        "abstract",
        "accessor",
        "as",
        "async",
        "asserts",
        "declare",
        "from",
        "get",
        "global",
        "infer",
        "is",
        "keyof",
        "module",
        "namespace",
        "new",
        "of",
        "out",
        "override",
        "readonly",
        "require",
        "satisfies",
        "set",
        "static",
        "type",
        "unique",
    ]
)


def key(name: str) -> str:
    """Writes a property's name, bare where that is safe."""
    if PLAIN_NAME.fullmatch(name) and name not in RESERVED_WORDS and name not in _MODIFIERS:
        return name
    return quoted(name)


def quoted(text: str) -> str:
    """Writes a string literal. Letters stay readable; unprintable characters are escaped."""
    return "".join(
        letter if letter.isprintable() else _escaped(letter)
        for letter in json.dumps(text, ensure_ascii=False)
    )


def literal(value: Any, depth: int = 0) -> str:
    """Writes the type of exactly this JSON value, or of its kind where that would be long."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            text = str(value)
            return text if math.isfinite(value) and len(text) <= 20 else "number"
        case str():
            return quoted(value) if len(value) <= _MAX_LITERAL else "string"
        case list() if depth < 4 and len(cast("list[Any]", value)) <= _LITERAL_PARTS:
            return f"[{', '.join(literal(item, depth + 1) for item in cast('list[Any]', value))}]"
        case dict() if depth < 4 and len(cast("dict[str, Any]", value)) <= _LITERAL_PARTS:
            items = cast("dict[str, Any]", value).items()
            kept = [
                f"{key(name)}: {literal(item, depth + 1)}" for name, item in items if len(name) <= MAX_KEY
            ]
            return f"{{ {'; '.join(kept)} }}" if kept else "{}"
        case list():
            return "unknown[]"
        case _:
            return "Record<string, unknown>"


def one_line(text: str, longest: int) -> str:
    """Makes a text printable, without line breaks, and cuts it."""
    text = " ".join(
        "".join(letter if letter.isprintable() else " " for letter in text[: 4 * longest]).split()
    )
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def comment(text: str, indent: str) -> str:
    """Writes a doc comment on a line of its own. Nothing in the text can end it; no text gives no comment."""
    return doc_comment([text], indent)


def doc_comment(lines: list[str], indent: str) -> str:
    """Writes a doc comment of these lines, without the empty ones."""
    defused = [line.replace("*/", "*\\/") for line in lines if line]
    if len(defused) < 2:
        return f"{indent}/** {defused[0]} */\n" if defused else ""
    inside = "".join(f"{indent} * {line}\n" for line in defused)
    return f"{indent}/**\n{inside}{indent} */\n"


def _escaped(letter: str) -> str:
    code = ord(letter)
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
