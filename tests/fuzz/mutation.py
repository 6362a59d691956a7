"""Small changes to bytes, to JSON and to text: what all fuzzers make their inputs with. Pure and seeded.

Byte changes find what a decoder does with rubbish; JSON and text changes get past the first check, to what
lies behind it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any, cast

_INTERESTING = (
    b"\0",
    b"\xff",
    b"\x7f",
    b"\x80",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\n",
    b"\r\n",
    b",",
    b":",
)
_NUMBERS = (0, 1, -1, 255, 256, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64)
EVIL_TEXTS = (
    "",
    " ",
    "\0",
    "\ud800",
    "\u2028",
    "\ufeff",
    "é😀",
    "*/",
    "//",
    "`${x}`",
    '"',
    "\\",
    "__proto__",
    "constructor",
    "toString",
    "then",
    "-",
    "../..",
    "%s{0}",
    "a" * 300,
)
_SCALARS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    0.5,
    1e308,
    -0.0,
    2**31,
    2**53,
    2**64,
    -(2**70),
    [],
    {},
)
_SCALAR = re.compile(rb'(?<=[ \[])(?:-?[\d.e+]+|"[^"\\]*"|null|true|false)')
_TOKEN = re.compile(r"\s+|[A-Za-z_$][\w$]*|\d+|.", re.DOTALL)


def rubbish(dice: Random, longest: int = 64) -> bytes:
    return dice.randbytes(dice.randrange(longest))


def change_bytes(dice: Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """A few changes: flipped bits, cut, doubled, inserted, overwritten, or spliced with one of `others`."""
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 4, 16))):
        at = dice.randrange(len(changed) + 1)
        size = dice.choice((1, 1, 2, 4, 8, 64))
        match dice.randrange(8):
            case 0 if at < len(changed):
                changed[at] ^= 1 << dice.randrange(8)
            case 1:
                del changed[at : at + size]
            case 2:
                changed[at:at] = changed[at : at + size]
            case 3:
                changed[at:at] = dice.choice(_INTERESTING) * dice.choice((1, 1, 2, 300))
            case 4:
                changed[at : at + size] = dice.randbytes(size)
            case 5:
                changed[at : at + 4] = (dice.choice(_NUMBERS) & 0xFFFFFFFF).to_bytes(4, "little")
            case 6 if others:
                other = dice.choice(others)
                changed[at:] = other[dice.randrange(len(other) + 1) :]
            case _:
                del changed[at:]
    return bytes(changed)


def change_json(dice: Random, value: Any, depth: int = 0) -> Any:
    """The same value with something in it replaced, removed, added or nested."""
    if depth < 8 and dice.random() < 0.8:
        match value:
            case dict() if value:
                return _change_object(dice, cast("dict[str, Any]", value), depth)
            case list() if value:
                items = list(cast("list[Any]", value))
                at = dice.randrange(len(items))
                match dice.randrange(4):
                    case 0:
                        del items[at]
                    case 1:
                        items.insert(at, items[at])
                    case _:
                        items[at] = change_json(dice, items[at], depth + 1)
                return items
            case _:
                pass
    return any_json(dice)


def _change_object(dice: Random, value: dict[str, Any], depth: int) -> dict[str, Any]:
    changed = dict(value)
    key = dice.choice(list(changed))
    match dice.randrange(5):
        case 0:
            del changed[key]
        case 1:
            changed[any_text(dice)] = changed[key]
        case 2:
            changed[any_text(dice)] = any_json(dice)
        case _:
            changed[key] = change_json(dice, changed[key], depth + 1)
    return changed


def any_text(dice: Random) -> str:
    if dice.random() < 0.005:
        return "a" * 70_000
    if dice.random() < 0.5:
        return dice.choice(EVIL_TEXTS)
    return "".join(
        chr(dice.choice((dice.randrange(32, 127), dice.randrange(0xD800)))) for _ in range(dice.randrange(12))
    )


def any_json(dice: Random, depth: int = 0) -> Any:
    match dice.randrange(8):
        case 0 if depth < 4:
            return [any_json(dice, depth + 1) for _ in range(dice.randrange(4))]
        case 1 if depth < 4:
            return {any_text(dice): any_json(dice, depth + 1) for _ in range(dice.randrange(4))}
        case 2 | 3:
            return any_text(dice)
        case 4:
            return dice.choice(_NUMBERS)
        case _:
            return dice.choice(_SCALARS)


def encode_json(dice: Random, value: Any) -> bytes:
    """As JSON text: mostly good, sometimes with what only some parsers take in the place of a scalar."""
    text = json.dumps(value, ensure_ascii=dice.random() < 0.5).encode(errors="surrogatepass")
    if dice.random() < 0.7:
        return text
    scalars = list(_SCALAR.finditer(text))
    if not scalars:
        return text
    depth = dice.choice((100, 199, 201, 257, 600, 5000, 200_000))
    odd = (
        *(b"1e999", b"-1e-999", b"9" * 5000, b"0." + b"1" * 5000, b"NaN", b"1E+2", b"-0", b"01"),
        *(b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth, b"[" * depth),
        *(b'"\\ud800"', b'"\xff"', b'"\\q"', b'"\0"', b'""', b'{"a":1,"a":2}', b""),
    )
    found = dice.choice(scalars)
    return text[: found.start()] + dice.choice(odd) + text[found.end() :]


def tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def change_text(dice: Random, text: str, others: Sequence[str]) -> str:
    """Token by token, so that much of it still parses; parts of `others` are mixed in."""
    changed = tokens(text)
    for _ in range(dice.choice((1, 1, 2, 3, 8))):
        at = dice.randrange(len(changed) + 1)
        size = dice.choice((1, 1, 2, 5, 20))
        mixed = tokens(dice.choice(others))
        from_at = dice.randrange(len(mixed) + 1)
        match dice.randrange(6):
            case 0:
                del changed[at : at + size]
            case 1:
                changed[at:at] = changed[at : at + size]
            case 2:
                changed[at:at] = mixed[from_at : from_at + size]
            case 3:
                changed[at:] = mixed[from_at:]
            case 4:
                changed[at : at + 1] = [str(dice.choice(_NUMBERS))]
            case _:
                changed[at:at] = [dice.choice(EVIL_TEXTS)]
    return "".join(changed)
