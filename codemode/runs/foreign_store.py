"""A store object that a host made, as the engine uses it: one call at a time, and one kind of error.

The host made it, so the host closes it. What it raises beside its protocol becomes StoreUnavailable, without
its words: they may hold an address or a password, and results are read by models.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable
from typing import Any, cast
from weakref import WeakKeyDictionary

from codemode_snapshots import RunStore, SnapshotError, StoreUnavailable

_log = logging.getLogger("codemode.engine")

# Stores are for one thread at a time, and each engine has a thread: those on one object take turns.
_turns: WeakKeyDictionary[object, threading.Lock] = WeakKeyDictionary()
_making = threading.Lock()


def guarded(store: RunStore) -> RunStore:
    return cast("RunStore", _Guarded(store))


class _Guarded:
    def __init__(self, store: object, turn: threading.Lock | None = None) -> None:
        self._store = store
        self._turn = turn or _turn_of(store)

    def close(self) -> None:
        """Not ours to close."""

    def __getattr__(self, name: str) -> Any:
        method: Callable[..., Any] = getattr(self._store, name)
        if name in ("facts", "past"):
            return None if method is None else _Guarded(method, self._turn)
        if not callable(method):
            return method  # `lease_ms`

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                with self._turn:
                    return method(*args, **kwargs)
            except SnapshotError:
                raise
            except Exception as error:
                kind = type(self._store).__name__
                _log.exception("%s.%s failed", kind, name)
                raise StoreUnavailable(f"{kind}.{name} failed with {type(error).__name__}") from error

        return call


def _turn_of(store: object) -> threading.Lock:
    with _making:
        try:
            return _turns.setdefault(store, threading.Lock())
        except TypeError:  # it cannot be held weakly, or compared: then it has to take care of itself
            return threading.Lock()
