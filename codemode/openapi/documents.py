"""Reads `openapi={name: {...}}` and the documents it names. Pure but for reading files.

Version 2 documents (Swagger) are rewritten into the shape of version 3 first, so that nothing behind this
module knows of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from codemode.config import ConfigError
from codemode.config.rules import Number, shown
from codemode.config.variables import expand
from codemode.nearest import did_you_mean
from codemode.openapi.swagger import from_swagger

_KEYS = ("document", "server", "auth", "allow", "exclude", "timeoutMs")
_AUTH_KEYS = ("bearer", "basic", "headers", "query")
_MAX_FILE = 64 << 20
_TIMEOUT_MS = 60_000

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Auth:
    """What every request carries. Never shown: it is the host's."""

    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    query: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class Api:
    """One entry of the configuration, with its document as data."""

    name: str
    document: Json = field(repr=False)
    server: str
    auth: Auth
    allow: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    timeout_ms: int = _TIMEOUT_MS


def read_apis(given: object) -> tuple[Api, ...]:
    """`given` is the argument of Engine. Raises ConfigError, which repeats no secret."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise ConfigError("openapi", f"must be an object of APIs by name, not {shown(given)}.")
    entries = cast("Mapping[object, object]", given)
    return tuple(_read(str(name), entry) for name, entry in entries.items())


def _read(name: str, entry: object) -> Api:
    key = f"openapi.{name[:80]}"
    if not name or ":" in name or len(name) > 128:
        raise ConfigError(key, "a name has 1 to 128 characters and no colon.")
    if not isinstance(entry, Mapping):
        raise ConfigError(key, f"must be an object with a document, not {shown(entry)}.")
    fields = cast("Mapping[str, object]", entry)
    _known(key, fields, _KEYS)
    if "document" not in fields:
        raise ConfigError(key, "needs a document: a path, or the document itself.")
    document = _document(f"{key}.document", fields["document"])
    return Api(
        name,
        document,
        _server(f"{key}.server", fields.get("server"), document),
        _auth(f"{key}.auth", fields.get("auth", {})),
        _texts(f"{key}.allow", fields.get("allow", ("*",))),
        _texts(f"{key}.exclude", fields.get("exclude", ())),
        Number(1, 3_600_000).read(f"{key}.timeoutMs", fields.get("timeoutMs", _TIMEOUT_MS)),
    )


def _document(key: str, given: object) -> Json:
    found = _load(key, given) if isinstance(given, str | Path) else given
    if not isinstance(found, Mapping):
        raise ConfigError(key, f"must be an OpenAPI document or the path of one, not {shown(found)}.")
    document = dict(cast("Mapping[str, Any]", found))
    if str(document.get("swagger", "")).startswith("2."):
        document = from_swagger(document)
    if not str(document.get("openapi", "")).startswith("3."):
        raise ConfigError(key, "is no OpenAPI document: it says neither openapi: 3 nor swagger: 2.")
    if not isinstance(document.get("paths", {}), Mapping):
        raise ConfigError(key, "has paths that are no object.")
    return document


def _load(key: str, path: str | Path) -> object:
    file = os.fspath(path)
    if file.startswith(("http://", "https://")):
        raise ConfigError(key, "is a URL: download it and give the file, so that it cannot change by itself.")
    try:
        with open(file, "rb") as opened:
            data = opened.read(_MAX_FILE + 1)
    except (OSError, ValueError) as problem:
        raise ConfigError(key, f"{file} cannot be read: {getattr(problem, 'strerror', problem)}.") from None
    if len(data) > _MAX_FILE:
        raise ConfigError(key, f"{file} is larger than {_MAX_FILE} bytes.")
    if file.endswith((".yaml", ".yml")):
        return _yaml(key, file, data)
    import msgspec

    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as problem:
        raise ConfigError(key, f"{file} is not JSON: {problem}.") from None


def _yaml(key: str, file: str, data: bytes) -> object:
    try:
        import yaml
    except ImportError:
        raise ConfigError(key, 'a YAML document needs PyYAML: pip install "codemode[openapi]".') from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        found: object = yaml.load(data, Loader=loader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as problem:
        raise ConfigError(key, f"{file} is not YAML: {str(problem).splitlines()[0]}.") from None
    return found


def _server(key: str, given: object, document: Json) -> str:
    """The host's word wins: a document may name any server, or none."""
    url = given if given is not None else _own_server(document)
    if not isinstance(url, str) or not url:
        raise ConfigError(key, "must be the URL of the API: the document names no server.")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(key, f"must be a whole URL such as https://api.example.com/v1, not {url[:100]!r}.")
    if parts.query or parts.fragment or parts.username:
        raise ConfigError(key, "is a URL without query, fragment and user; secrets belong into auth.")
    return url.rstrip("/")


def _own_server(document: Json) -> str | None:
    servers: Any = document.get("servers")
    listed = cast("list[Any]", servers) if isinstance(servers, list) else []
    first = listed[0] if listed else None
    if not isinstance(first, dict):
        return None
    server = cast("Json", first)
    url = str(server.get("url") or "")
    variables: Any = server.get("variables")
    if isinstance(variables, dict):
        for name, variable in cast("Json", variables).items():
            url = url.replace(f"{{{name}}}", str(variable.get("default", "")))
    return url


def _auth(key: str, given: object) -> Auth:
    if not isinstance(given, Mapping):
        raise ConfigError(key, f"must be an object with some of {', '.join(_AUTH_KEYS)}.")
    fields = cast("Mapping[str, object]", given)
    _known(key, fields, _AUTH_KEYS)
    headers = _pairs(f"{key}.headers", fields.get("headers", {}))
    if "bearer" in fields:
        headers["Authorization"] = f"Bearer {_text(f'{key}.bearer', fields['bearer'])}"
    if "basic" in fields:
        import base64

        pair = _texts(f"{key}.basic", fields["basic"])
        if len(pair) != 2:
            raise ConfigError(f"{key}.basic", "must be a list of two: the user and the password.")
        headers["Authorization"] = f"Basic {base64.b64encode(':'.join(pair).encode()).decode()}"
    return Auth(headers, _pairs(f"{key}.query", fields.get("query", {})))


def _known(key: str, fields: Mapping[str, object], known: tuple[str, ...]) -> None:
    for name in fields:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ConfigError(f"{key}.{name[:80]}", f"unknown key.{hint} Allowed: {', '.join(known)}.")


def _pairs(key: str, value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ConfigError(key, "must be an object of strings.")
    pairs = cast("Mapping[object, object]", value).items()
    return {str(name): _text(f"{key}.{name}", text) for name, text in pairs}


def _texts(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ConfigError(key, "must be a list of strings.")
    return tuple(_text(f"{key}[{at}]", item) for at, item in enumerate(cast("list[object]", value)))


def _text(key: str, value: object) -> str:
    """With `${NAME}` from the environment, as in `mcpServers`. Errors do not repeat the value."""
    if not isinstance(value, str) or "\0" in value:
        raise ConfigError(key, "must be a string.")
    return expand(key, value)
