"""Connections to a PostgreSQL server: a few, lent for one statement each, and its errors as StoreUnavailable.

The wait for a connection is bounded, so that a slow database makes callers fail and not pile up. A connection
that the server has cut while it was idle is replaced before it is used, without an error for anybody. Error
texts name no address and no user: they reach models.
"""

from __future__ import annotations

import contextlib
import logging
import select
import threading
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from codemode_snapshots.errors import StoreUnavailable

_log = logging.getLogger("codemode.store")

Row = tuple[Any, ...]
Connection = psycopg.Connection[Row]

# For libpq, not for the server, so that poolers take them; they notice within 20 s that a machine is gone
# without a word. What a URL says goes first.
_PATIENCE: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}


class Lost(StoreUnavailable):
    """The connection broke while a statement was under way: whether it was carried out is not known."""


def connect(url: str, *, prepared: bool = True, name: str = "codemode") -> Connection:
    """One connection, on which each statement is a transaction. Raises StoreUnavailable."""
    try:
        said = conninfo_to_dict(url)
        unsaid = {key: value for key, value in _PATIENCE.items() if key not in said}
        whole = make_conninfo(url, **unsaid, application_name=name)
    except psycopg.ProgrammingError as error:
        raise StoreUnavailable("the PostgreSQL URL cannot be read; see libpq's connection URIs") from error
    try:
        return psycopg.connect(whole, autocommit=True, prepare_threshold=5 if prepared else None)
    except psycopg.Error as error:
        _log.info("PostgreSQL cannot be reached: %s", error)
        raise StoreUnavailable(_advice(error) or "PostgreSQL cannot be reached; try again") from error


class Connections:
    """At most `size` connections for any number of threads; none is opened before it is needed."""

    def __init__(self, url: str, *, size: int = 4, wait_seconds: float = 5.0, prepared: bool = True) -> None:
        self._url = url
        self._size = size
        self._wait_seconds = wait_seconds
        self._prepared = prepared
        self._places = threading.BoundedSemaphore(size)
        self._idle: list[Connection] = []  # the last one used is the first to be used again
        self._is_closed = False
        self._guard = threading.Lock()
        self.round_trips = 0  # statements sent, for those who count

    def rows(self, statement: str, values: Sequence[object] | Mapping[str, object] = ()) -> list[Row]:
        """Carries out one statement. Raises StoreUnavailable: nothing done; Lost: perhaps done."""
        with self._lent() as connection, translated(connection):
            self.round_trips += 1
            done = connection.execute(statement.encode(), values, binary=True)
            return done.fetchall() if done.description else []

    def row(self, statement: str, values: Sequence[object] | Mapping[str, object] = ()) -> Row | None:
        found = self.rows(statement, values)
        return found[0] if found else None

    def close(self) -> None:
        with self._guard:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextlib.contextmanager
    def _lent(self) -> Generator[Connection]:
        if not self._places.acquire(timeout=self._wait_seconds):
            raise StoreUnavailable(
                f"all {self._size} connections to PostgreSQL were in use for {self._wait_seconds:g} s;"
                " try again"
            )
        try:
            connection = self._usable()
            try:
                yield connection
            finally:
                self._take_back(connection)
        finally:
            self._places.release()

    def _take_back(self, connection: Connection) -> None:
        with self._guard:
            if not (connection.closed or self._is_closed):
                self._idle.append(connection)
                return
        connection.close()

    def _usable(self) -> Connection:
        while True:
            with self._guard:
                if self._is_closed:
                    raise StoreUnavailable("the store is closed")
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                break
            if not is_cut(connection):
                return connection
            connection.close()
        return connect(self._url, prepared=self._prepared)


def is_cut(connection: Connection) -> bool:
    """Whether an idle connection has something to say: nobody asked, so it can only be its end."""
    if connection.closed:
        return True
    waiting = select.poll()
    waiting.register(connection.pgconn.socket, select.POLLIN)
    return bool(waiting.poll(0))


@contextlib.contextmanager
def translated(connection: Connection) -> Generator[None]:
    """Turns psycopg's errors into StoreUnavailable with a sentence that says what to do."""
    try:
        yield
    except errors.IntegrityError:
        raise  # what a statement may run into is for its author
    except psycopg.Error as error:
        if connection.closed:
            _log.warning("the connection to PostgreSQL was lost: %s", error)
            raise Lost("the connection to PostgreSQL was lost; try again") from error
        if isinstance(error, errors.ReadOnlySqlTransaction):
            connection.close()  # it became a standby: next time the address may lead to the new primary
        advice = _advice(error)
        if advice is None:
            _log.warning("PostgreSQL refused a statement: %s", error)
            advice = f"PostgreSQL refused a statement ({error.sqlstate or type(error).__name__}); see the log"
        raise StoreUnavailable(advice) from error


def _advice(error: psycopg.Error) -> str | None:
    match error:
        case errors.UndefinedTable() | errors.InvalidSchemaName() | errors.UndefinedColumn():
            return "the database has no codemode tables of this version; run `codemode store migrate`"
        case errors.InsufficientPrivilege():
            return "PostgreSQL: the role may not use the schema codemode; grant it (docs/deployment.md)"
        case errors.ReadOnlySqlTransaction():
            return "PostgreSQL is read-only here, as a standby is; name the primary"
        case errors.DiskFull():
            return "PostgreSQL has no space left; free some, or let suspended runs end"
        case errors.TooManyConnections():
            return "PostgreSQL has no connection left; raise max_connections or use fewer nodes"
        case errors.InvalidPassword() | errors.InvalidAuthorizationSpecification():
            return "PostgreSQL refused the user or the password of the store's URL"
        case errors.InvalidCatalogName():
            return (
                "there is no such database on the PostgreSQL server; create it, then `codemode store migrate`"
            )
        case errors.DeadlockDetected() | errors.SerializationFailure() | errors.LockNotAvailable():
            return "PostgreSQL was busy with the same rows; try again"
        case errors.CannotConnectNow() | errors.AdminShutdown() | errors.CrashShutdown():
            return "PostgreSQL is starting or stopping; try again"
        case _:
            return None
