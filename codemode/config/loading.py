"""The only way to a configuration: checks and clamps what a host wrote, by the rows of table.py. Pure."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from codemode.config.documents import written_policies
from codemode.config.rows import rows_of, rules_of
from codemode.config.rules import ConfigError, Number, is_document, read_fields, section_of, shown
from codemode.config.table import CodeModeConfig, EngineSettings, ToolSearchConfig

_log = logging.getLogger("codemode.config")
_AGENTS_POLICY = (
    "has a tool policy, which is not read from here: write it as the tools of this agent into agents.list of "
    "the document given as config, or into policy=."
)
Section = TypeVar("Section", CodeModeConfig, EngineSettings, ToolSearchConfig)


def load_config(value: object = None, *, overlay: object = None) -> CodeModeConfig:
    """Loads true, false, nothing, the `codeMode` object, or a document with `tools` in it.

    `overlay` is the agent's configuration, in the same forms, but without a tool policy. Raises ConfigError.
    """
    sections = [section_of(given, "codeMode", rules_of(CodeModeConfig)) for given in (value, overlay)]
    config = resolve_config(*sections)
    if written_policies(overlay):
        raise ConfigError("agent_config", _AGENTS_POLICY)
    found = written_policies(value)
    return msgspec.structs.replace(config, policies=found) if found else config


class Omission:
    """For a configuration that sets fields of code mode, and neither switches it on nor off: it is off."""

    def __init__(self, value: object, overlay: object = None) -> None:
        """Raises ConfigError as `load_config` does."""
        self.warning = _warn_of_omission(value, overlay)
        self._is_told = False

    def tell(self) -> str | None:
        """Logs the warning once: who forgot the switch would not see it otherwise."""
        if self.warning is not None and not self._is_told:
            self._is_told = True
            _log.warning("%s", self.warning)
        return self.warning


def resolve_config(global_value: object, agent_value: object = None) -> CodeModeConfig:
    """Puts the agent's fields over the global ones, field by field. Raises ConfigError."""
    if isinstance(agent_value, CodeModeConfig) and agent_value.policies:
        raise ConfigError("agent_config", _AGENTS_POLICY)
    said, own = (_read("tools.codeMode", CodeModeConfig, given) for given in (global_value, agent_value))
    policies = global_value.policies if isinstance(global_value, CodeModeConfig) else ()
    return msgspec.structs.replace(_resolve(CodeModeConfig, said | own), policies=policies)


def load_tool_search(value: object = None, *, overlay: object = None) -> ToolSearchConfig:
    """Loads true, false, nothing, the `toolSearch` object, or a document with `tools` in it.

    An object is on unless its `enabled` says otherwise: a host that names a mode wants it. `overlay` is the
    agent's configuration, which goes over the other field by field. Raises ConfigError.
    """
    rules = rules_of(ToolSearchConfig)
    sections = [section_of(given, "toolSearch", rules) for given in (value, overlay)]
    said, own = (_read("tools.toolSearch", ToolSearchConfig, given) for given in sections)
    fields = said | own
    return _resolve(ToolSearchConfig, {"enabled": "on"} | fields if fields else {})


def load_settings(value: EngineSettings | Mapping[str, Any] | None = None) -> EngineSettings:
    """Raises ConfigError for unknown keys and wrong types; clamps numbers."""
    return _resolve(EngineSettings, _read("settings", EngineSettings, value))


def _read(name: str, section: type[Struct], value: object) -> dict[str, Any]:
    """The fields that the host set, from any form of the section."""
    rules = rules_of(section)
    match value:
        case None:
            return {}
        case bool() if "enabled" in rules:
            return read_fields(name, {"enabled": value}, rules)
        case CodeModeConfig() | EngineSettings() | ToolSearchConfig() if isinstance(value, section):
            return read_fields(name, value.to_dict(), rules)
        case Mapping():
            return read_fields(name, cast("Mapping[Any, Any]", value), rules)
        case _:
            forms = "true, false or an object" if "enabled" in rules else "an object"
            raise ConfigError(name, f"must be {forms}, not {shown(value)}.")


def _resolve(section: type[Section], fields: dict[str, Any]) -> Section:
    """Adds the defaults, then lowers each number to the field that bounds it."""
    made = msgspec.convert(fields, section)
    bounds = {
        row.attribute: min(getattr(made, row.attribute), getattr(made, row.rule.at_most))
        for row in rows_of(section).values()
        if isinstance(row.rule, Number) and row.rule.at_most
    }
    return msgspec.structs.replace(made, **bounds)


def _warn_of_omission(value: object, overlay: object) -> str | None:
    """The warning for a host that sets fields of code mode and switches it neither on nor off: it is off.
    Raises ConfigError as `load_config` does."""
    sections = [section_of(given, "codeMode", rules_of(CodeModeConfig)) for given in (value, overlay)]
    said, own = (_read("tools.codeMode", CodeModeConfig, given) for given in sections)
    fields = said | own
    if not fields or "enabled" in fields:
        return None
    first, *more = fields
    import json  # 1 ms, for this warning alone

    line = f'"enabled": true, "{first}": {json.dumps(fields[first])}{", …" if more else ""}'
    if is_document(value):
        line = f'"codeMode": {{{line}}} into tools'
    else:
        line = f"Engine(tools, {{{line.replace('true', 'True', 1)}}})"
    return (
        f'Code mode is off, and the model is shown the tools themselves: the configuration sets "{first}", '
        f'but not "enabled". Write {line}; or say false if that is meant.'
    )
