"""Configuration: `tools.codeMode` and `tools.toolSearch` as the contract has them, and the engine's settings.

table.py has a row for each field; the checks, the help and the docs are made from the rows.
"""

from codemode_runtime.language import Language

from codemode.config.files import read_config, read_document
from codemode.config.loading import (
    Omission,
    load_config,
    load_settings,
    load_tool_search,
    resolve_config,
)
from codemode.config.rules import ConfigError
from codemode.config.table import CodeModeConfig, EngineSettings, SearchMode, ToolSearchConfig

__all__ = [
    "CodeModeConfig",
    "ConfigError",
    "EngineSettings",
    "Language",
    "Omission",
    "SearchMode",
    "ToolSearchConfig",
    "load_config",
    "load_settings",
    "load_tool_search",
    "read_config",
    "read_document",
    "resolve_config",
]
