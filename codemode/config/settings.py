"""The two groups of settings, each with its fields, defaults and clamps in one table. Pure.

`load_config` and `load_settings` are the only way in: they check and clamp, the structs themselves do not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from codemode.config.rules import (
    ConfigError,
    FieldRule,
    Flag,
    Number,
    OneOf,
    SomeOf,
    read_fields,
    section_of,
    shown,
)

Language = Literal["javascript", "typescript"]
_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_CORES = os.cpu_count() or 1


class CodeModeConfig(Struct, frozen=True, kw_only=True, rename="camel"):
    """`tools.codeMode`, resolved: every number is within its clamp."""

    enabled: bool = False
    runtime: Literal["quickjs-wasi"] = "quickjs-wasi"
    mode: Literal["only"] = "only"
    languages: tuple[Language, ...] = ("javascript", "typescript")
    timeout_ms: int = 10_000
    memory_limit_bytes: int = 64 * _MIB
    max_output_bytes: int = 64 * _KIB
    max_snapshot_bytes: int = 10 * _MIB
    max_pending_tool_calls: int = 16
    snapshot_ttl_seconds: int = 900
    search_default_limit: int = 8
    max_search_limit: int = 50

    def to_dict(self) -> dict[str, Any]:
        """As a configuration file has it; `load_config` of it is this again."""
        return msgspec.json.decode(msgspec.json.encode(self))


_CONFIG_RULES: dict[str, FieldRule] = {
    "enabled": Flag(),
    "runtime": OneOf(("quickjs-wasi",)),
    "mode": OneOf(("only",)),
    "languages": SomeOf(("javascript", "typescript")),
    "timeoutMs": Number(100, 60_000),
    "memoryLimitBytes": Number(_MIB, _GIB),
    "maxOutputBytes": Number(_KIB, 10 * _MIB),
    "maxSnapshotBytes": Number(_KIB, 256 * _MIB),
    "maxPendingToolCalls": Number(1, 128),
    "snapshotTtlSeconds": Number(1, 86_400),
    "searchDefaultLimit": Number(1, 50),  # and not above maxSearchLimit, once that is known
    "maxSearchLimit": Number(1, 50),
}


class EngineSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    """How the engine works, which no model and no program can see. Resolved like the configuration."""

    worker_reuse: int = 1  # legs per worker process; 1 gives each leg a process of its own
    max_workers: int = max(8, 4 * _CORES)  # legs that run at once
    warm_workers: int = max(2, _CORES)  # workers ready before they are asked for
    queue_limit: int = 1000  # legs that may wait for a worker
    confinement: Literal["auto", "require", "off"] = "auto"
    max_suspended_runs: int = 10_000
    max_store_bytes: int = _GIB

    def to_dict(self) -> dict[str, Any]:
        return msgspec.json.decode(msgspec.json.encode(self))


_SETTINGS_RULES: dict[str, FieldRule] = {
    "workerReuse": Number(1, 1_000_000),
    "maxWorkers": Number(1, 1024),
    "warmWorkers": Number(0, 1024),
    "queueLimit": Number(0, 1_000_000),
    "confinement": OneOf(("auto", "require", "off")),
    "maxSuspendedRuns": Number(0, 10_000_000),
    "maxStoreBytes": Number(0, 1 << 50),
}


def load_config(value: object = None, *, overlay: object = None) -> CodeModeConfig:
    """From what a host has: true, false, nothing, the `codeMode` object, or a document with `tools` in it.

    `overlay` is the agent's own, in the same forms. Raises ConfigError.
    """
    sections = [section_of(given, "codeMode", _CONFIG_RULES) for given in (value, overlay)]
    return resolve_config(*sections)


def resolve_config(global_value: object, agent_value: object = None) -> CodeModeConfig:
    """The agent's fields over the global ones, field by field. Raises ConfigError."""
    fields = _read_config(global_value) | _read_config(agent_value)
    config = msgspec.convert(fields, CodeModeConfig)
    limit = min(config.search_default_limit, config.max_search_limit)
    return msgspec.structs.replace(config, search_default_limit=limit)


def load_settings(value: EngineSettings | Mapping[str, Any] | None = None) -> EngineSettings:
    """Raises ConfigError for unknown keys and wrong types; clamps numbers."""
    match value:
        case None:
            return EngineSettings()
        case EngineSettings():
            fields = value.to_dict()
        case Mapping():
            fields = value
        case _:
            raise ConfigError("settings", f"must be an object, not {shown(value)}.")
    return msgspec.convert(read_fields("settings", fields, _SETTINGS_RULES), EngineSettings)


def _read_config(value: object) -> dict[str, Any]:
    match value:
        case None:
            return {}
        case bool():
            return {"enabled": value}
        case CodeModeConfig():
            return read_fields("tools.codeMode", value.to_dict(), _CONFIG_RULES)
        case Mapping():
            return read_fields("tools.codeMode", cast("Mapping[Any, Any]", value), _CONFIG_RULES)
        case _:
            raise ConfigError("tools.codeMode", f"must be true, false or an object, not {shown(value)}.")
