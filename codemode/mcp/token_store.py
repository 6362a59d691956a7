"""Where logins to MCP servers are kept: a private file, or what the host has for it.

One text for each server, by its URL. The file is for this user alone, is replaced as a whole, and may be used
by several processes.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, cast

import msgspec

from codemode.config import ConfigError

TOKENS_VARIABLE = "CODEMODE_MCP_TOKENS"


class TokenStore(Protocol):
    """A host's own place for logins. The texts are secrets."""

    async def load(self, url: str) -> str | None: ...

    async def save(self, url: str, text: str | None) -> None:
        """None forgets it."""
        ...


class TokenFile:
    """JSON by URL, mode 0600 in a folder of mode 0700."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path) if path is not None else default_path()

    async def load(self, url: str) -> str | None:
        return self.read().get(url)

    async def save(self, url: str, text: str | None) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked():
            kept = self.read()
            kept.pop(url, None)
            if text is not None:
                kept[url] = text
            self._write(kept)

    def read(self) -> dict[str, str]:
        """All of it. Raises ConfigError for a file that is not ours, or that others may read."""
        try:
            if self.path.stat().st_mode & 0o077:
                raise ConfigError(str(self.path), f"others may read it: chmod 600 {self.path}")
            data = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise ConfigError(str(self.path), f"cannot be read: {problem.strerror}.") from None
        try:
            return msgspec.json.decode(data, type=dict[str, str]) if data else {}
        except msgspec.MsgspecError:
            raise ConfigError(str(self.path), "is no file of logins; remove it, and log in again.") from None

    def _write(self, kept: dict[str, str]) -> None:
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".logins-")  # 0600 from the start
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.encode(kept))
            os.replace(name, self.path)
        except BaseException:
            os.unlink(name)
            raise

    @contextmanager
    def _locked(self) -> Generator[None]:
        with open(self.path.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def default_path() -> Path:
    given = os.environ.get(TOKENS_VARIABLE)
    if given:
        return Path(given)
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "codemode" / "mcp-logins.json"


def read_token_store(given: object) -> TokenStore:
    """The argument of Engine: a path, an object with `load` and `save`, or None for the usual file."""
    if given is None or isinstance(given, str | os.PathLike):
        return TokenFile(cast("str | None", given))
    if callable(getattr(given, "load", None)) and callable(getattr(given, "save", None)):
        return cast("TokenStore", given)
    raise ConfigError("mcp_tokens", "must be a path, or an object with async load(url) and save(url, text).")
