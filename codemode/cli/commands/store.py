"""`codemode store`: makes and renews the tables of a PostgreSQL store, checks a store, backs up a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from codemode.cli.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from codemode_snapshots import RunStore

    from codemode.config.store_argument import PostgresUrl

DESCRIPTION = """\
Looks after a store of suspended runs. `migrate` makes or renews the tables of a PostgreSQL
database, and makes the first key of CODEMODE_STORE_KEY the one that engines must have: they
never change tables themselves. `check` opens the seal of each run with the keys it has, and
changes nothing. `backup` copies an SQLite file while engines use it."""
EXAMPLES = """\
  codemode store migrate --store postgresql://codemode@db/agents
  codemode store check --store postgresql://codemode@db/agents
  codemode store check --store runs.sqlite
  codemode store backup --store runs.sqlite --to runs-backup.sqlite
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("migrate", "check", "backup"))
    parser.add_argument("--store", metavar="STORE", required=True, help="a file, or a postgresql:// URL")
    parser.add_argument("--to", metavar="FILE", help="for backup: the copy, which must not exist")


def run(options: argparse.Namespace) -> int:
    from codemode_snapshots import SnapshotError

    from codemode.config import ConfigError

    try:
        match options.action:
            case "migrate":
                return _migrate(options.store)
            case "check":
                return _check(options.store)
            case _:
                return _backup(options.store, options.to)
    except ConfigError as error:
        raise CommandError(str(error)) from None
    except SnapshotError as error:
        raise CommandError(f"--store: {error}", ExitCode.UNAVAILABLE) from None


def _migrate(given: str) -> int:
    from codemode_snapshots import key_id
    from codemode_snapshots.postgres_schema import migrate

    from codemode.config.store_argument import check_store, read_keys

    place = _place(given)
    if isinstance(place, Path):
        raise CommandError("an SQLite file is made by the first engine that opens it: nothing to migrate")
    check_store(given, None)
    done = migrate(place.text, key_id(read_keys(None)[0]).hex())
    print("\n".join(done) or "the tables and the key are as they should be")
    return ExitCode.DONE


def _check(given: str) -> int:
    from codemode.cli.checks.store_seals import count_seals
    from codemode.config.store_argument import check_store, read_keys

    place = _place(given)
    check_store(given, None)
    store, keys = _open_file(place) if isinstance(place, Path) else (_open_database(place), read_keys(None))
    try:
        found = count_seals(store, keys)
    finally:
        store.close()
    print(f"{found.whole} runs, each of which these keys open; {found.calls} calls wait with them")
    for reason, run_ids in found.refused.items():
        shown = ", ".join(run_ids[:5]) + (", …" if len(run_ids) > 5 else "")
        print(f"{len(run_ids)} runs cannot be opened ({reason}): {shown}")
    return ExitCode.FAILED if found.refused else ExitCode.DONE


def _backup(given: str, to: str | None) -> int:
    place = _place(given)
    if not isinstance(place, Path):
        raise CommandError("PostgreSQL has tools of its own: pg_dump --schema codemode, or pg_basebackup")
    if to is None or Path(to).exists():
        raise CommandError("give --to FILE: a file that does not exist yet")
    from codemode_snapshots.sqlite_backup import back_up

    _require_file(place)
    back_up(place, Path(to))
    print(f"{to} has the runs; keep {place}.key with it, without which nobody can open them")
    return ExitCode.DONE


def _place(given: str) -> Path | PostgresUrl:
    from codemode.config.store_argument import read_store

    place = read_store(given)
    if place is None:
        raise CommandError("--store: a store in memory ends with its engine; name a file or a database")
    return place


def _open_file(path: Path) -> tuple[RunStore, tuple[bytes, ...]]:
    from codemode_snapshots import load_or_create_key
    from codemode_snapshots.sqlite import SqliteStore

    from codemode.config.store_argument import read_keys

    _require_file(path)
    key_file = path.with_name(path.name + ".key")
    keys = read_keys(None) or ((load_or_create_key(key_file),) if key_file.exists() else ())
    if not keys:
        raise CommandError(f"there is no {key_file}: restore it, or set CODEMODE_STORE_KEY")
    return SqliteStore(path), keys


def _open_database(url: PostgresUrl) -> RunStore:
    from codemode_snapshots.postgres import PostgresStore

    return PostgresStore(url.text)


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise CommandError(f"--store {path}: there is no such file")
