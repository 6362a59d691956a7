"""Hostile programs as data: a file is a program under a header that says how it has to end (README.md).

Reads and checks files; runs nothing. Used by the tests here and by the sanitizer run of the native build.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from codemode.contract.error_codes import ERRORS

FOLDER = Path(__file__).parent
HALF_WAY = "/* half-way */"
_SUSPEND = "await yield_control();"
_KEYS = ("expect", "with", "value", "output", "calls", "error", "why")
_HEADER = re.compile(rf"// ({'|'.join(_KEYS)}): (.*)")
_ESCAPE = re.compile(r"<U\+([0-9A-F]{4,6})>")
_LIMITS = ("timeoutMs", "memoryLimitBytes", "maxOutputBytes", "maxPendingToolCalls", "maxSnapshotBytes")
_CONTAINS = "contains "
# nothing has run when these are said
_REFUSALS = {"invalid_input", "module_access_denied", "typescript_transform_failed", "unsupported_language"}


class HeaderRefused(Exception):
    """A file whose header cannot be read; the message names the file and what is wrong."""


@dataclass(frozen=True, slots=True)
class HostileProgram:
    """`verdicts`: "completed" or error codes, any of which is right. None: not said, and not compared."""

    name: str
    text: str
    language: Literal["javascript", "typescript"]
    verdicts: tuple[str, ...]
    has_value: bool = False
    value: Any = None
    value_contains: str | None = None
    output: list[Any] | None = None
    calls: list[str] | None = None
    error: str | None = None
    limits: dict[str, int] = field(default_factory=dict[str, int])
    straight_only: bool = False

    @property
    def texts(self) -> list[str]:
        """What is run: the program, and if it can start at all, the same suspended half-way."""
        refused = _REFUSALS.issuperset(self.verdicts)
        return [self.text] if self.straight_only or refused else [self.text, self.suspended_text]

    @property
    def suspended_text(self) -> str:
        """The same program, which yields at its marks or else before anything."""
        if HALF_WAY in self.text:
            return self.text.replace(HALF_WAY, _SUSPEND)
        return f"{_SUSPEND} {self.text}"


def load_all() -> list[HostileProgram]:
    """Of every folder. A program is called by its folder and file: `time/loop-while-true.js`."""
    paths = [*FOLDER.rglob("*.js"), *FOLDER.rglob("*.ts")]
    return [read(path.relative_to(FOLDER).as_posix(), path.read_bytes().decode()) for path in sorted(paths)]


def read(name: str, content: str) -> HostileProgram:
    """Raises HeaderRefused."""
    header: dict[str, str] = {}
    rest = content
    while (found := _HEADER.fullmatch(rest.partition("\n")[0])) is not None:
        if found[1] in header:
            raise HeaderRefused(f"{name}: `{found[1]}` is there twice")
        header[found[1]] = found[2].strip()
        rest = rest.partition("\n")[2]
    if next(iter(header), None) != "expect":
        raise HeaderRefused(
            f"{name}: the first line must be `// expect: completed …` or `// expect: failed …`"
        )
    flags, limits = _read_with(name, header.get("with", ""))
    wanted = _read_expect(name, header["expect"])
    contains = header.get("value")
    if contains is not None and not contains.startswith(_CONTAINS):
        raise HeaderRefused(f"{name}: `value` is `contains <text>`; an exact value stands behind `completed`")
    return HostileProgram(
        name=name,
        text=_unescape(rest) if "escaped" in flags else rest,
        language="typescript" if name.endswith(".ts") else "javascript",
        value_contains=contains and contains.removeprefix(_CONTAINS),
        output=_read_list(name, "output", header),
        calls=_read_list(name, "calls", header),
        error=header.get("error"),
        limits=limits,
        straight_only="straight" in flags,
        **wanted,
    )


def _read_expect(name: str, expect: str) -> dict[str, Any]:
    status, _, rest = expect.partition(" ")
    if status == "completed":
        found: dict[str, Any] = {"verdicts": ("completed",)}
        return found | {"has_value": True, "value": _json(name, "expect", rest)} if rest else found
    codes = tuple(rest.split(" or "))
    if status != "failed" or not all(code in ERRORS for code in codes):
        raise HeaderRefused(
            f"{name}: expect `completed <JSON>` or `failed <code> [or <code> …]`, not {expect!r}"
        )
    return {"verdicts": codes}


def _read_with(name: str, text: str) -> tuple[set[str], dict[str, int]]:
    flags: set[str] = set()
    limits: dict[str, int] = {}
    for word in text.split():
        key, is_limit, number = word.partition("=")
        if is_limit and key in _LIMITS and number.isdigit():
            limits[key] = int(number)
        elif word in ("straight", "escaped"):
            flags.add(word)
        else:
            raise HeaderRefused(
                f"{name}: `with` takes straight, escaped and {', '.join(_LIMITS)}, not {word!r}"
            )
    return flags, limits


def _read_list(name: str, key: str, header: dict[str, str]) -> list[Any] | None:
    if key not in header:
        return None
    found = _json(name, key, header[key])
    if not isinstance(found, list):
        raise HeaderRefused(f"{name}: `{key}` is a JSON array")
    return cast("list[Any]", found)


def _json(name: str, key: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise HeaderRefused(f"{name}: `{key}` is no JSON: {error}") from None


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
