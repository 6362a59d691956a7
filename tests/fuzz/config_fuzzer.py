"""Configuration, as objects and as files: it loads within its clamps, or is refused with ConfigError."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

from codemode.config import (
    ConfigError,
    load_config,
    load_settings,
    load_tool_search,
    read_config,
)
from codemode.config.relaxed_json import JsonRefused, parse_json
from codemode.mcp.servers import read_servers
from tests.fuzz.mutation import any_json, change_bytes, change_json, encode_json, rubbish
from tests.fuzz.runner import Subject
from tests.properties.test_config import assert_within_clamps

_GOOD: tuple[Any, ...] = (
    {"tools": {"codeMode": {"enabled": True, "timeoutMs": 500, "languages": ["typescript"]}}},
    {"enabled": True, "maxSearchLimit": 3, "searchDefaultLimit": 9, "memoryLimitBytes": 1e7, "mode": "only"},
    {"tools": {"toolSearch": {"enabled": "auto", "mode": "directory", "coreTools": ["read"]}}},
    {"workerReuse": 3, "maxWorkers": 9, "confinement": "off", "maxStoreBytes": 0},
    {"mcpServers": {"a": {"command": "x", "args": ["y"], "env": {"K": "v"}}, "b": {"url": "http://h/mcp"}}},
    True,
)
_SUFFIXES = ("json", "json5", "jsonc", "toml")
_TEXTS = (
    b"{enabled: true, /* why */ timeoutMs: +0x1F4, languages: ['javascript',],} // end",
    b'[tools.codeMode]\nenabled = true\ntimeoutMs = 1_000\nlanguages = ["javascript"]\n',
    b'{"tools": {"codeMode": {"enabled": true, "snapshotTtlSeconds": 1e2}}}',
)


class Configurations:
    """An input is the suffix of a file, a line break, and what is in the file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self, dice: Random) -> bytes:
        suffix = dice.choice((*_SUFFIXES, "yaml", "\0", "a" * 300)).encode()
        match dice.randrange(5):
            case 0:
                body = change_bytes(dice, dice.choice(_TEXTS), _TEXTS)
            case 1:
                body = rubbish(dice)
            case 2:
                body = encode_json(dice, any_json(dice))
            case _:
                body = encode_json(dice, change_json(dice, dice.choice(_GOOD)))
        return suffix + b"\n" + body

    def check(self, data: bytes) -> None:
        suffix, _, body = data.partition(b"\n")
        name = suffix.decode(errors="replace")
        with suppress(ConfigError):
            read_config(self._folder / f"{name}.json")  # there is none
        path = self._folder / f"config.{name if name in _SUFFIXES else 'json'}"
        path.write_bytes(body)
        try:
            with suppress(ConfigError):
                assert_within_clamps(read_config(path))
        finally:
            path.unlink()
        try:
            value = parse_json(body.decode(errors="replace"))
        except JsonRefused:
            return
        for load in (load_config, load_settings, load_tool_search, _read_servers):
            with suppress(ConfigError):
                load(value)
        with suppress(ConfigError):
            assert_within_clamps(load_config({"enabled": True, "timeoutMs": 700}, overlay=value))


def _read_servers(value: Any) -> None:
    if not isinstance(value, str):  # a text is the path of a file
        read_servers(value)


@contextmanager
def configurations() -> Generator[Subject]:
    folder = Path(tempfile.mkdtemp(prefix="codemode-fuzz-"))
    try:
        yield Configurations(folder)
    finally:
        shutil.rmtree(folder)
