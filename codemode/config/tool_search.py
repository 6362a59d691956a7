"""`tools.toolSearch`: its fields, defaults and clamps. Pure; read like `tools.codeMode`.

true, false or an object. An object is on unless its `enabled` says otherwise: whoever names a mode wants it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from codemode.config.rules import ConfigError, FieldRule, Number, OneOf, read_fields, section_of, shown

SearchMode = Literal["code", "tools", "directory"]
Gate = Literal["off", "on", "auto"]

_SECTION = "tools.toolSearch"
_GATES: tuple[Gate, ...] = ("off", "on", "auto")


class ToolSearchConfig(Struct, frozen=True, kw_only=True, rename="camel"):
    """Resolved: every number is within its clamp."""

    enabled: Gate = "off"
    mode: SearchMode = "code"
    fallback: Literal["tools", "refuse"] = "tools"  # of mode "code" where no isolated worker can be made
    core_tools: tuple[str, ...] = ()  # names, ids, wildcards or groups, as in a policy; never deferred
    context_window_tokens: int = 128_000  # of the model, unless the host says it for a run
    context_share_percent: int = 10  # in "auto", deferred above this share of the window
    directory_max_chars: int = 18_000
    code_timeout_ms: int = 10_000  # of one tool_search_code, tools and continuations included
    search_default_limit: int = 8
    max_search_limit: int = 50

    def to_dict(self) -> dict[str, Any]:
        """As a configuration file has it; `load_tool_search` of it is this again."""
        return msgspec.json.decode(msgspec.json.encode(self))


class _Gated(Struct, frozen=True):
    def read(self, key: str, value: object) -> Gate:
        """true and false are what people write for on and off."""
        if isinstance(value, bool):
            return "on" if value else "off"
        OneOf(_GATES).read(key, value)
        return cast("Gate", value)


class _Names(Struct, frozen=True):
    def read(self, key: str, value: object) -> tuple[str, ...]:
        items = cast("list[object]", value) if isinstance(value, list | tuple) else None
        if items is None or not all(isinstance(item, str) and item.strip() for item in items):
            raise ConfigError(
                key, f"must be a list of tool names, ids or groups, not {shown(cast('object', value))}."
            )
        return tuple(cast("str", item).strip() for item in items)


_RULES: dict[str, FieldRule] = {
    "enabled": _Gated(),
    "mode": OneOf(("code", "tools", "directory")),
    "fallback": OneOf(("tools", "refuse")),
    "coreTools": _Names(),
    "contextWindowTokens": Number(1_000, 10_000_000),
    "contextSharePercent": Number(1, 100),
    "directoryMaxChars": Number(500, 200_000),
    "codeTimeoutMs": Number(100, 60_000),
    "searchDefaultLimit": Number(1, 50),  # and not above maxSearchLimit, once that is known
    "maxSearchLimit": Number(1, 50),
}


def load_tool_search(value: object = None, *, overlay: object = None) -> ToolSearchConfig:
    """From true, false, nothing, the `toolSearch` object, or a document with `tools` in it.

    `overlay` is the agent's own, field by field over the other. Raises ConfigError.
    """
    said, own = (_read(section_of(given, "toolSearch", _RULES)) for given in (value, overlay))
    fields = said | own
    config = msgspec.convert({"enabled": "on"} | fields if fields else {}, ToolSearchConfig)
    limit = min(config.search_default_limit, config.max_search_limit)
    return msgspec.structs.replace(config, search_default_limit=limit)


def _read(value: object) -> dict[str, Any]:
    match value:
        case None:
            return {}
        case bool():
            return {"enabled": "on" if value else "off"}
        case ToolSearchConfig():
            return read_fields(_SECTION, value.to_dict(), _RULES)
        case Mapping():
            return read_fields(_SECTION, cast("Mapping[Any, Any]", value), _RULES)
        case _:
            raise ConfigError(_SECTION, f"must be true, false or an object, not {shown(value)}.")
