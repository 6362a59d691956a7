"""Reads `Engine(store=…)`, which says where suspended runs are kept: a path, a URL or an object. Pure.

URLs have SQLAlchemy's form: three slashes before a relative path, four before an absolute one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, cast, overload

from codemode_snapshots import RunStore
from codemode_snapshots.envelope import KEY_BYTES

from codemode.config.rules import ConfigError, shown

StoreArgument = str | os.PathLike[str] | RunStore | None

_METHODS = tuple(
    name for name, value in vars(RunStore).items() if callable(value) and not name.startswith("_")
)
_KEY_VARIABLE = "CODEMODE_STORE_KEY"
_MEMORY = (":memory:", "memory:", "memory://")
_WANTED = "the path of a file, a sqlite:/// or postgresql:// URL, a RunStore, or None to keep runs in memory"


@dataclass(frozen=True, slots=True, repr=False)
class PostgresUrl:
    """Where a PostgreSQL database is. It may hold a password, so it does not show itself."""

    text: str


@overload
def read_store(given: str) -> Path | PostgresUrl | None: ...
@overload
def read_store(given: object) -> Path | PostgresUrl | RunStore | None: ...
def read_store(given: object) -> Path | PostgresUrl | RunStore | None:
    """The path of the file, a URL, or the object itself; None for memory. Raises ConfigError.

    A URL may hold a password, so an error shows its scheme only.
    """
    if given is None or (isinstance(given, str) and given in _MEMORY):
        return None
    if isinstance(given, os.PathLike):
        return Path(cast("os.PathLike[str]", given))
    if isinstance(given, str) and given.strip():
        return _read_url(*given.split("://", 1)) if "://" in given else Path(given)
    # texts have a method `join` too
    if not isinstance(given, str | bytes) and any(callable(getattr(given, name, None)) for name in _METHODS):
        return _whole(given)
    raise ConfigError("store", f"must be {_WANTED}, not {shown(given)}.")


def is_durable(store: RunStore) -> bool:
    """Whether its snapshots outlive the process. An object that does not say so is taken for a database."""
    return bool(getattr(store, "is_durable", True))


def read_keys(store_key: object) -> tuple[bytes, ...]:
    """The keys of a store: the first seals, and each opens what it has sealed. Without any they are taken
    from the variable CODEMODE_STORE_KEY: 64 hexadecimal digits each, with commas between. Raises
    ConfigError."""
    if store_key is None:
        return _keys_of_environment()
    given = cast("Sequence[object]", store_key) if isinstance(store_key, list | tuple) else (store_key,)
    keys = tuple(key for key in given if isinstance(key, bytes) and len(key) == KEY_BYTES)
    if not keys or len(keys) != len(given):
        raise ConfigError(
            "store_key", f"must be {KEY_BYTES} bytes, a list of such keys, or None for a key file."
        )
    return keys


def _keys_of_environment() -> tuple[bytes, ...]:
    said = os.environ.get(_KEY_VARIABLE, "").strip()
    if not said:
        return ()
    try:
        return read_keys([bytes.fromhex(part) for part in said.split(",")])
    except (ValueError, ConfigError):
        problem = f"{_KEY_VARIABLE} must hold keys of 64 hexadecimal digits, with commas between."
        raise ConfigError("store_key", problem) from None


def check_store(store: object, store_key: object) -> None:
    """Raises ConfigError, also for a database or a durable store object without a key: a file has a key file
    beside it, but those have no such place, and another process may open them."""
    found = read_store(store)
    if found is None or isinstance(found, Path) or read_keys(store_key):
        return
    if isinstance(found, PostgresUrl):
        raise ConfigError(
            "store_key",
            "is needed with a PostgreSQL store: 32 bytes, the same for all its engines, or 64 hexadecimal"
            f" digits in {_KEY_VARIABLE}.",
        )
    if is_durable(found):
        raise ConfigError(
            "store_key",
            "is needed with a store object that outlives the process: 32 bytes, the same for all its"
            " engines.",
        )


def _read_url(scheme: str, rest: str) -> Path | PostgresUrl | None:
    kind = scheme.lower()
    if kind.split("+")[0] in ("postgresql", "postgres"):
        if find_spec("psycopg") is None:
            _refuse('a PostgreSQL store needs psycopg: pip install "codemode[postgres]".')
        return PostgresUrl(f"postgresql://{rest}")
    if kind != "sqlite":
        _refuse(f"must be {_WANTED}, not a URL that begins with {shown(scheme)}.")
    if rest in ("", "/", "/:memory:"):
        return None
    if not rest.startswith("/"):
        _refuse("a sqlite URL names no host: write sqlite:///runs.sqlite, or sqlite:////var/lib/runs.sqlite.")
    if "?" in rest or "#" in rest:
        _refuse("a sqlite URL takes no options after the path.")
    return Path(rest[1:])


def _whole(given: Any) -> RunStore:
    missing = [name for name in _METHODS if not callable(getattr(given, name, None))]
    if missing:
        kind = type(given).__name__
        _refuse(f"a {kind} is no RunStore of codemode_snapshots: it has no {', '.join(missing)}.")
    return given


def _refuse(problem: str) -> NoReturn:
    raise ConfigError("store", problem)
