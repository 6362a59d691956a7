"""Reads `Engine(store=…)`, which says where suspended runs are kept: a path, a URL or an object. Pure.

URLs have SQLAlchemy's form: three slashes before a relative path, four before an absolute one.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NoReturn, cast, overload

from codemode_snapshots import SnapshotStore

from codemode.config.rules import ConfigError, shown

StoreArgument = str | os.PathLike[str] | SnapshotStore | None

_METHODS = tuple(name for name in vars(SnapshotStore) if not name.startswith("_"))
_MEMORY = (":memory:", "memory:", "memory://")
_WANTED = "the path of a file, a sqlite:/// URL, a SnapshotStore, or None to keep runs in memory"


@overload
def read_store(given: str) -> Path | None: ...
@overload
def read_store(given: object) -> Path | SnapshotStore | None: ...
def read_store(given: object) -> Path | SnapshotStore | None:
    """The path of the file, or the object itself; None for memory. Raises ConfigError.

    A URL may hold a password, so an error shows its scheme only.
    """
    if given is None or (isinstance(given, str) and given in _MEMORY):
        return None
    if isinstance(given, os.PathLike):
        return Path(cast("os.PathLike[str]", given))
    if isinstance(given, str) and given.strip():
        return _read_url(*given.split("://", 1)) if "://" in given else Path(given)
    if any(callable(getattr(given, name, None)) for name in _METHODS):
        return _whole(given)
    raise ConfigError("store", f"must be {_WANTED}, not {shown(given)}.")


def is_durable(store: SnapshotStore) -> bool:
    """Whether its snapshots outlive the process. An object that does not say so is taken for a database."""
    return bool(getattr(store, "is_durable", True))


def check_store(store: object, store_key: bytes | None) -> None:
    """Raises ConfigError, also for a durable store object without a key: a file has a key file beside it, but
    an object has no such place, and another process may open it."""
    found = read_store(store)
    if found is None or isinstance(found, Path) or not is_durable(found) or store_key is not None:
        return
    raise ConfigError(
        "store_key",
        "is needed with a store object that outlives the process: 32 bytes, the same for all its engines.",
    )


def _read_url(scheme: str, rest: str) -> Path | None:
    kind = scheme.lower()
    if kind.split("+")[0] in ("postgresql", "postgres"):
        _refuse("PostgreSQL is not available yet: this version keeps runs in memory or in a SQLite file.")
    if kind != "sqlite":
        _refuse(f"must be {_WANTED}, not a URL that begins with {shown(scheme)}.")
    if rest in ("", "/", "/:memory:"):
        return None
    if not rest.startswith("/"):
        _refuse("a sqlite URL names no host: write sqlite:///runs.sqlite, or sqlite:////var/lib/runs.sqlite.")
    if "?" in rest or "#" in rest:
        _refuse("a sqlite URL takes no options after the path.")
    return Path(rest[1:])


def _whole(given: Any) -> SnapshotStore:
    missing = [name for name in _METHODS if not callable(getattr(given, name, None))]
    if missing:
        kind = type(given).__name__
        _refuse(f"a {kind} is no SnapshotStore of codemode_snapshots: it has no {', '.join(missing)}.")
    return given


def _refuse(problem: str) -> NoReturn:
    raise ConfigError("store", problem)
