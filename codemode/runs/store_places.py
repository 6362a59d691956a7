"""Opens what `Engine(store=…)` names: a file, a database, or an object that the host made.

Each kind of store is loaded by the engines that use it.
"""

from __future__ import annotations

from pathlib import Path

from codemode_snapshots import RunStore, StoreLimits, load_or_create_key, new_key

from codemode import clock
from codemode.config.store_argument import PostgresUrl, is_durable
from codemode.runs.foreign_store import guarded
from codemode.runs.seals import Seals

StorePlace = Path | PostgresUrl | RunStore
_LINES = 4  # to a database: steps of different runs need not wait for each other


def open_place(place: StorePlace, limits: StoreLimits, seals: Seals) -> RunStore:
    """Blocks while it opens. Raises StoreUnavailable. A place that may make its own key provides one."""
    if isinstance(place, PostgresUrl):
        from codemode_snapshots.postgres import PostgresStore

        return PostgresStore(place.text, limits, connections=_LINES)
    if isinstance(place, Path):
        from codemode_snapshots.sqlite import SqliteStore

        seals.provide(lambda: load_or_create_key(place.with_name(place.name + ".key")))
        return SqliteStore(place, limits, clock.wall_ms)
    seals.provide(new_key)
    return guarded(place)


def kind_of(place: StorePlace | None) -> str:
    """For people."""
    match place:
        case None:
            return "memory"
        case PostgresUrl():
            return "postgresql"
        case Path():
            return "sqlite"
        case _:
            return type(place).__name__


def threads_for(place: StorePlace) -> int:
    """A file and an object of the host's own are used by one thread at a time."""
    return _LINES if isinstance(place, PostgresUrl) else 1


def is_kept_elsewhere(place: StorePlace) -> bool:
    """Whether runs there outlive this process."""
    return isinstance(place, Path | PostgresUrl) or is_durable(place)
