"""The rules for configuration fields, and ConfigError, the one way to refuse a configuration. Pure.

A rule turns what the host wrote into what the engine uses, or raises ConfigError with the key and the allowed
values. A number out of range is clamped, not refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol, cast

from msgspec import Struct

from codemode.nearest import did_you_mean


class ConfigError(ValueError):
    """The host must correct its configuration. The engine has used nothing of it.

    `key` is the path of the field, such as "tools.codeMode.timeoutMs", or the name of a file.
    """

    code = "invalid_config"

    def __init__(self, key: str, problem: str) -> None:
        self.key = key
        super().__init__(f"{key}: {problem}")


class Flag(Struct, frozen=True):
    def read(self, key: str, value: object) -> bool:
        if not isinstance(value, bool):
            raise ConfigError(key, f"must be true or false, not {shown(value)}.")
        return value


class Number(Struct, frozen=True):
    """`at_most` names another field of the section, as Python spells it, which bounds this one from above."""

    low: int
    high: int
    unit: str = ""
    at_most: str = ""

    def read(self, key: str, value: object) -> int:
        """Clamps the number, then cuts it to a whole one."""
        # a bool is an int in Python, but true does not mean 1
        if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
            raise ConfigError(key, f"must be a number from {self.low} to {self.high}, not {shown(value)}.")
        return int(min(max(value, self.low), self.high))


class NumberOr(Struct, frozen=True):
    """A number, or one of these words."""

    number: Number
    words: tuple[str, ...]

    def read(self, key: str, value: object) -> int | str:
        if isinstance(value, str):
            if value in self.words:
                return value
            numbers = f"a number from {self.number.low} to {self.number.high}"
            meant = _meant(value, self.words)
            raise ConfigError(key, f"must be {numbers} or {_choices(self.words)}, not {shown(value)}.{meant}")
        return self.number.read(key, value)


class OneOf(Struct, frozen=True):
    allowed: tuple[str, ...]

    def read(self, key: str, value: object) -> str:
        if not isinstance(value, str) or value not in self.allowed:
            raise ConfigError(
                key, f"must be {_choices(self.allowed)}, not {shown(value)}.{_meant(value, self.allowed)}"
            )
        return value


class SomeOf(Struct, frozen=True):
    allowed: tuple[str, ...]

    def read(self, key: str, value: object) -> tuple[str, ...]:
        """Returns the words in the order of `allowed`, each once."""
        wanted = _choices(self.allowed, "and")
        items = cast("list[object]", value) if isinstance(value, list | tuple) else []
        if not items:
            raise ConfigError(
                key, f"must be a list of one or more of {wanted}, not {shown(cast('object', value))}."
            )
        for item in items:
            if item not in self.allowed:
                raise ConfigError(
                    key, f"may only list {wanted}, not {shown(item)}.{_meant(item, self.allowed)}"
                )
        return tuple(name for name in self.allowed if name in items)


class Gated(Struct, frozen=True):
    """A gate; true and false stand for on and off."""

    allowed: tuple[str, ...] = ("off", "on", "auto")

    def read(self, key: str, value: object) -> str:
        if isinstance(value, bool):
            return "on" if value else "off"
        return OneOf(self.allowed).read(key, value)


class Names(Struct, frozen=True):
    """A list of texts that are not blank; `kind` names them in the docs."""

    kind: str

    def read(self, key: str, value: object) -> tuple[str, ...]:
        items = cast("list[object]", value) if isinstance(value, list | tuple) else None
        if items is None or not all(isinstance(item, str) and item.strip() for item in items):
            raise ConfigError(
                key, f"must be a list of tool names, ids or groups, not {shown(cast('object', value))}."
            )
        return tuple(cast("str", item).strip() for item in items)


class FieldRule(Protocol):
    def read(self, key: str, value: object) -> Any: ...


def is_document(value: object) -> bool:
    """Whether this is a host's document, and not one section of it."""
    return isinstance(value, Mapping) and ("tools" in value or "agents" in value)


def section_of(document: object, name: str, rules: Mapping[str, FieldRule]) -> object:
    """`tools.<name>` of a host's document; a value that is not a document is the section itself.

    Refuses a field of this section beside `tools`, where it would be lost. documents.py looks for policy.
    """
    if not is_document(document):
        return document
    whole = cast("Mapping[str, object]", document)
    tools = whole.get("tools", {})
    if not isinstance(tools, Mapping):
        raise ConfigError("tools", f"must be an object, not {shown(tools)}.")
    sections = cast("Mapping[str, object]", tools)
    for key, rule in rules.items():
        if key in whole and not _is_said(key, sections) and _takes(rule, whole[key]):
            raise ConfigError(
                key,
                f"nothing reads this beside `tools`: write it as tools.{name}.{key}. If it is a setting of "
                f"the host's own, hand over tools.{name} instead of the whole document.",
            )
    return sections.get(name)


def _is_said(key: str, sections: Mapping[str, object]) -> bool:
    """Whether a section of ours sets the key; the same name outside is then the host's own."""
    for section in (sections.get(name) for name in ("codeMode", "toolSearch")):
        if key == "enabled" if isinstance(section, bool) else isinstance(section, Mapping) and key in section:
            return True
    return False


def _takes(rule: FieldRule, value: object) -> bool:
    """Whether the rule accepts the value: a host's own `mode: "dev"` is not our `mode`."""
    try:
        rule.read("", value)
    except ConfigError:
        return False
    return True


def read_fields(section: str, value: Mapping[Any, Any], rules: Mapping[str, FieldRule]) -> dict[str, Any]:
    """The fields that the host set, checked and clamped, under their names in the file."""
    found: dict[str, Any] = {}
    for key, written in value.items():
        rule = rules.get(key) if isinstance(key, str) else None
        if rule is None:
            name = str(key)[:80]
            raise ConfigError(
                f"{section}.{name}", f"unknown key.{did_you_mean(name, rules)} Allowed: {', '.join(rules)}."
            )
        found[key] = rule.read(f"{section}.{key}", written)
    return found


def _is_finite(value: float) -> bool:
    return isinstance(value, int) or math.isfinite(value)


def _choices(allowed: tuple[str, ...], word: str = "or") -> str:
    quoted = [f'"{name}"' for name in allowed]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"


def _meant(value: object, allowed: tuple[str, ...]) -> str:
    return did_you_mean(value, allowed) if isinstance(value, str) else ""


def shown(value: object) -> str:
    """A value for an error text, short. Containers are not quoted: they may hold anything."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str() if len(value) <= 40:
            return f'"{value}"'
        case str():
            return "a long string"
        case float():
            return str(value)
        case int():
            return str(value) if abs(value) < 10**40 else "a long number"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list" if value else "an empty list"
        case _:
            return f"a {type(value).__name__}"
