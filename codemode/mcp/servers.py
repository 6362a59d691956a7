"""Reads and checks the `mcpServers` object that MCP hosts share, from Python or a file, even another host's.

Pure but for reading that file. Keys that only other hosts know are ignored with a warning; a key that looks
like a misspelling of ours is refused.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast

from codemode.config import ConfigError, read_document
from codemode.config.rules import Flag, Number, OneOf, shown
from codemode.config.variables import expand
from codemode.nearest import did_you_mean

_log = logging.getLogger("codemode.mcp")

_KEYS = (
    "type", "command", "args", "env", "cwd", "url", "headers", "allow", "exclude", "timeoutMs",
    "connectTimeoutMs", "concurrency", "connect", "disabled", "oauth",
)  # fmt: skip
_OAUTH = {
    "clientId": "client_id",
    "clientSecret": "client_secret",
    "clientMetadataUrl": "client_metadata_url",
    "scope": "scope",
    "redirectUri": "redirect_uri",
}
_FOREIGN = frozenset(("timeout", "autoApprove", "alwaysAllow", "description", "trust", "icon", "metadata"))
_HTTP_TYPES = ("http", "streamable-http", "streamableHttp", "streamable_http")
_TIMEOUT_MS = 300_000
_CONNECT_TIMEOUT_MS = 20_000
_CONCURRENCY = 16


@dataclass(frozen=True, slots=True)
class Stdio:
    """A child process. Its environment has a few harmless variables of ours and `env`, nothing else."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class OAuth:
    """How to log in. Nothing of it is needed where the server registers clients by itself."""

    OFF: ClassVar[OAuth]

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    client_metadata_url: str = ""
    scope: str = ""
    redirect_uri: str = "http://127.0.0.1:33418/callback"


OAuth.OFF = OAuth(redirect_uri="")


@dataclass(frozen=True, slots=True)
class Http:
    """Streamable HTTP."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    oauth: OAuth = field(default_factory=OAuth)


@dataclass(frozen=True, slots=True)
class Server:
    name: str
    transport: Stdio | Http
    allow: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    timeout_ms: int = _TIMEOUT_MS
    connect_timeout_ms: int = _CONNECT_TIMEOUT_MS
    concurrency: int = _CONCURRENCY
    is_eager: bool = True

    def offers(self, tool: str) -> bool:
        """Whether the user wants a tool of this name. Exclusion wins."""
        return _matches(tool, self.allow) and not self.excludes(tool)

    def excludes(self, name: str) -> bool:
        return _matches(name, self.exclude)


def read_servers(given: object) -> tuple[Server, ...]:
    """`given` is an object with `mcpServers`, or the path of a file with one. Raises ConfigError."""
    if given is None:
        return ()
    where = "mcp"
    if isinstance(given, str | Path):
        where, given = os.fspath(given), read_document(given)
    if not isinstance(given, Mapping):
        raise ConfigError(
            where, f"must be an object with mcpServers, or the path of a file, not {shown(given)}."
        )
    servers = _section(where, cast("Mapping[str, object]", given))
    found = [_read_server(str(name), entry) for name, entry in servers.items()]
    return tuple(server for server in found if server is not None)


def _section(where: str, document: Mapping[str, object]) -> Mapping[str, object]:
    """Finds `mcpServers` in the document. Other sections of a host's own file are not checked."""
    inner = document.get("mcp")
    holder = document
    if "mcpServers" not in document and isinstance(inner, Mapping):
        holder = cast("Mapping[str, object]", inner)
    if "mcpServers" not in holder:
        raise ConfigError(where, "has no mcpServers object.")
    servers = holder["mcpServers"]
    if not isinstance(servers, Mapping):
        raise ConfigError("mcpServers", f"must be an object of servers by name, not {shown(servers)}.")
    return cast("Mapping[str, object]", servers)


def _read_server(name: str, entry: object) -> Server | None:
    key = f"mcpServers.{name[:80]}"
    if not name or ":" in name or len(name) > 128:
        raise ConfigError(key, "a server's name has 1 to 128 characters and no colon.")
    if not isinstance(entry, Mapping):
        raise ConfigError(key, f"must be an object, not {shown(entry)}.")
    fields = cast("Mapping[str, object]", entry)
    _check_keys(key, fields)
    if Flag().read(f"{key}.disabled", fields.get("disabled", False)):
        return None
    return Server(
        name,
        _read_transport(key, fields),
        _texts(f"{key}.allow", fields.get("allow", ("*",))),
        _texts(f"{key}.exclude", fields.get("exclude", ())),
        Number(1, 3_600_000).read(f"{key}.timeoutMs", fields.get("timeoutMs", _TIMEOUT_MS)),
        Number(1, 600_000).read(
            f"{key}.connectTimeoutMs", fields.get("connectTimeoutMs", _CONNECT_TIMEOUT_MS)
        ),
        Number(1, 1024).read(f"{key}.concurrency", fields.get("concurrency", _CONCURRENCY)),
        OneOf(("eager", "lazy")).read(f"{key}.connect", fields.get("connect", "eager")) == "eager",
    )


def _check_keys(key: str, fields: Mapping[str, object]) -> None:
    for name in fields:
        if name in _KEYS:
            continue
        hint = "" if name in _FOREIGN else did_you_mean(name, _KEYS)
        if hint:
            raise ConfigError(f"{key}.{name[:80]}", f"unknown key.{hint} Allowed: {', '.join(_KEYS)}.")
        _log.warning("%s.%s is not a key of this engine; it is ignored", key, name[:80])


def _read_transport(key: str, fields: Mapping[str, object]) -> Stdio | Http:
    kind = OneOf(("stdio", *_HTTP_TYPES)).read(f"{key}.type", fields["type"]) if "type" in fields else None
    has_command, has_url = "command" in fields, "url" in fields
    if has_command == has_url:
        both = "both of them" if has_command else "neither"
        raise ConfigError(key, f"needs a command (stdio) or a url (streamable HTTP), and has {both}.")
    if kind is not None and has_command != (kind == "stdio"):
        raise ConfigError(
            f"{key}.type", f'is "{kind}", which does not go with {"command" if has_command else "url"}.'
        )
    if has_command:
        cwd = fields.get("cwd")
        return Stdio(
            _text(f"{key}.command", fields["command"]),
            _texts(f"{key}.args", fields.get("args", ())),
            _pairs(f"{key}.env", fields.get("env", {})),
            None if cwd is None else _text(f"{key}.cwd", cwd),
        )
    url = _text(f"{key}.url", fields["url"])
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"{key}.url", "must start with http:// or https://.")
    headers = _pairs(f"{key}.headers", fields.get("headers", {}))
    return Http(url, headers, _read_oauth(f"{key}.oauth", fields.get("oauth", {})))


def _read_oauth(key: str, value: object) -> OAuth:
    if value is False:
        return OAuth.OFF
    if not isinstance(value, Mapping):
        raise ConfigError(key, f"must be false, or an object with some of {', '.join(_OAUTH)}.")
    given = cast("Mapping[str, object]", value)
    for name in given:
        if name not in _OAUTH:
            hint = did_you_mean(name, _OAUTH)
            raise ConfigError(f"{key}.{name[:80]}", f"unknown key.{hint} Allowed: {', '.join(_OAUTH)}.")
    return OAuth(**{_OAUTH[name]: _string(f"{key}.{name}", text) for name, text in given.items()})


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ConfigError(key, f"must be a non-empty string, not {shown(value)}.")
    return expand(key, value)


def _texts(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ConfigError(key, f"must be a list of strings, not {shown(value)}.")
    items = cast("list[object]", value)
    return tuple(_string(f"{key}[{at}]", item) for at, item in enumerate(items))


def _pairs(key: str, value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ConfigError(key, f"must be an object of strings, not {shown(value)}.")
    items = cast("Mapping[str, Any]", value).items()
    return {str(name): _string(f"{key}.{name}", text) for name, text in items}


def _string(key: str, value: object) -> str:
    """May be empty. Errors do not quote the value: it may be a secret."""
    if not isinstance(value, str) or "\0" in value:
        raise ConfigError(key, "must be a string.")
    return expand(key, value)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(_pattern(pattern).fullmatch(name) for pattern in patterns)


def _pattern(pattern: str) -> re.Pattern[str]:
    """`*` stands for anything; case does not matter. `re` caches the compiled patterns."""
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.IGNORECASE | re.DOTALL)
