"""Configuration: `tools.codeMode` as the contract has it, and the engine's own settings.

The two are apart because every key of `tools.codeMode` is promised to hosts and an unknown one is refused:
how many workers there are is no part of that promise, and comes through `Engine(settings=…)`.
"""

from codemode.config.files import read_config, read_document
from codemode.config.rules import ConfigError
from codemode.config.settings import (
    CodeModeConfig,
    EngineSettings,
    Language,
    load_config,
    load_settings,
    resolve_config,
)
from codemode.config.tool_search import ToolSearchConfig, load_tool_search

__all__ = [
    "CodeModeConfig",
    "ConfigError",
    "EngineSettings",
    "Language",
    "ToolSearchConfig",
    "load_config",
    "load_settings",
    "load_tool_search",
    "read_config",
    "read_document",
    "resolve_config",
]
