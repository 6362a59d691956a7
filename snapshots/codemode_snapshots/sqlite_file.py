"""Opens, checks and locks a store's one SQLite file, and turns every sqlite3 error into StoreUnavailable.

WAL with synchronous=NORMAL: what a method returned survives the death of the process at any instant, but a
power loss may take the last commits. `transaction(durable=True)` waits for the disk; sqlite.py says which
steps need that.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

from codemode_snapshots.errors import StoreUnavailable

APPLICATION_ID = 0x434D534E  # "CMSN"
BUSY_TIMEOUT_S = 5.0


class Schema(NamedTuple):
    version: int
    statements: tuple[str, ...]
    older: str = ""  # what to do with a file of an older schema
    added: tuple[str, ...] = ()  # carried out at every opening: they change nothing where they have been


def open_database(path: Path, schema: Schema) -> sqlite3.Connection:
    """A connection to the file; creates it (mode 0600) if there is none. Processes may race."""
    with translated(path):
        _create_private(path)
        connection = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.execute("PRAGMA cell_size_check=ON")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA journal_size_limit=4194304")
            _prepare_when_free(connection, path, schema)
        except BaseException:
            connection.close()
            raise
        return connection


def identity_of(path: Path) -> tuple[int, int] | None:
    """Which file the name leads to now; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, *, durable: bool = False) -> Generator[None]:
    """All or nothing, one writer at a time in all processes; `durable` makes it survive a power loss too."""
    if durable:
        connection.execute("PRAGMA synchronous=FULL")
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            # A full disk makes SQLite roll back by itself; then there is nothing left to roll back.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    finally:
        if durable:
            connection.execute("PRAGMA synchronous=NORMAL")


@contextlib.contextmanager
def translated(path: Path) -> Generator[None]:
    """Turn sqlite3's errors into StoreUnavailable with a sentence saying what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreUnavailable(_advice(path, error)) from error
    except UnicodeDecodeError as error:  # sqlite3 quoting the text of a damaged schema
        raise StoreUnavailable(_damaged(path)) from error


def _advice(path: Path, error: sqlite3.Error) -> str:
    match _primary_code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"{path} was locked by another process for {BUSY_TIMEOUT_S:.0f} s; end it or try again"
        case sqlite3.SQLITE_FULL:
            return f"no space left for {path}; free some, or let suspended runs end"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return f"{path} cannot be written; check the permissions of the file and its directory"
        case sqlite3.SQLITE_CANTOPEN:
            return f"{path} cannot be opened; name a file in an existing, writable directory"
        case sqlite3.SQLITE_NOTADB:
            return f"{path} is not an SQLite database; name another file"
        case sqlite3.SQLITE_CORRUPT:
            return _damaged(path)
        case _:
            return f"{path} cannot be used: {error}"


def _damaged(path: Path) -> str:
    return f"{path} is damaged; move it away together with its -wal and -shm files, its runs are lost"


def _primary_code(error: sqlite3.Error) -> int | None:
    """Without the extended bits; None for errors of the sqlite3 module, as for a closed connection."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _create_private(path: Path) -> None:
    # Opens only a new file: closing a second descriptor of an open database would drop this process's locks.
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be created: {error.strerror}; name a file in an existing, writable directory"
        ) from None


def _prepare_when_free(connection: sqlite3.Connection, path: Path, schema: Schema) -> None:
    """Switching to WAL does not wait for locks, so processes that create the file together retry here."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            return _prepare(connection, path, schema)
        except sqlite3.OperationalError as error:
            if _primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _prepare(connection: sqlite3.Connection, path: Path, schema: Schema) -> None:
    if _version(connection, path, schema) == 0:
        connection.execute("PRAGMA page_size=4096")
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    if connection.execute("PRAGMA journal_mode=WAL").fetchone() != ("wal",):
        raise StoreUnavailable(
            f"{path} lies on a file system without shared memory; name a file on a local disk"
        )
    with transaction(connection):
        if _version(connection, path, schema) == 0:
            for statement in schema.statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={schema.version}")
        for statement in schema.added:
            connection.execute(statement)


def _version(connection: sqlite3.Connection, path: Path, schema: Schema) -> int:
    """0 for an empty database, else its schema; another program's file is refused before it is touched."""
    # Tables first: they are committed together with the two marks, so a reader that sees them sees those too.
    tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if tables and application != APPLICATION_ID:
        raise StoreUnavailable(f"{path} is a database of another program; name another file")
    if version > schema.version:
        raise StoreUnavailable(
            f"{path} has schema {version}, this codemode knows {schema.version}; upgrade or name another file"
        )
    if tables and version < schema.version:
        raise StoreUnavailable(f"{path} has schema {version} of an older codemode; {schema.older}")
    return version if tables else 0
