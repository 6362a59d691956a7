"""Configuration files, by their suffix: TOML, or JSON with comments. The only I/O of the package."""

from __future__ import annotations

import os
from typing import Any

from codemode.config.loading import load_config
from codemode.config.rules import ConfigError
from codemode.config.table import CodeModeConfig

_MAX_FILE = 4 << 20
_JSON_SUFFIXES = (".json", ".json5", ".jsonc")


def read_config(path: str | os.PathLike[str], *, overlay: object = None) -> CodeModeConfig:
    """Loads a file with the `codeMode` object, or a whole document with `tools` in it. Raises ConfigError."""
    return load_config(read_document(path), overlay=overlay)


def read_document(path: str | os.PathLike[str]) -> Any:
    """Reads the whole file as plain data, for hosts with other sections in it. Raises ConfigError."""
    file = os.fspath(path)
    suffix = os.path.splitext(file)[1].lower()
    if suffix != ".toml" and suffix not in _JSON_SUFFIXES:
        known = ", ".join((*_JSON_SUFFIXES, ".toml"))
        raise ConfigError(file, f"the name of a configuration file ends in one of {known}.")
    text = _read_text(file)
    if suffix == ".toml":
        return _parse_toml(file, text)
    return _parse_json(file, text)


def _read_text(file: str) -> str:
    try:
        with open(file, "rb") as opened:
            data = opened.read(_MAX_FILE + 1)
    except OSError as error:
        raise ConfigError(file, f"cannot be read: {error.strerror or error}.") from None
    except ValueError as error:  # the name cannot be that of a file
        raise ConfigError(file, f"cannot be read: {error}.") from None
    if len(data) > _MAX_FILE:
        raise ConfigError(file, f"is larger than {_MAX_FILE} bytes.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(file, f"is not UTF-8 at byte {error.start}.") from None


def _parse_json(file: str, text: str) -> Any:
    from codemode.config.relaxed_json import JsonRefused, parse_json  # only hosts with such files load it

    try:
        return parse_json(text)
    except JsonRefused as refused:
        raise ConfigError(file, str(refused)) from None


def _parse_toml(file: str, text: str) -> dict[str, Any]:
    import tomllib  # likewise

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a plain ValueError
        raise ConfigError(file, f"is not TOML: {error}") from None
