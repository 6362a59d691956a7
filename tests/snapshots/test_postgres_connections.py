"""Connections to PostgreSQL: how many, for how long they are waited for, and what is said when they fail."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from codemode_snapshots import StoreUnavailable
from codemode_snapshots.postgres_connections import Connections, Lost

from tests.harness.postgres import PostgresServer, postgres_server, run_sql


@pytest.fixture
def connections(database: str) -> Iterator[Connections]:
    few = Connections(database)
    yield few
    few.close()


def test_a_statement_has_its_rows_and_bytes_come_as_bytes(connections: Connections) -> None:
    given = bytes(range(256))
    assert connections.rows("SELECT %s::bytea, 7, 'text'", [given]) == [(given, 7, "text")]
    assert connections.row("SELECT 1 WHERE false") is None


def test_a_thread_that_waits_too_long_for_a_connection_is_told_so(database: str) -> None:
    connections = Connections(database, size=1, wait_seconds=0.05)
    run_sql(
        database, "SELECT pg_advisory_lock(1)"
    )  # ends with its connection; it shows the function is there
    holder = Connections(database)
    holder.rows("SELECT pg_advisory_lock(1)")
    blocked = threading.Thread(target=connections.rows, args=("SELECT pg_advisory_lock(1)",))
    blocked.start()
    waits = (
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database()"
    )
    while holder.row(waits) != (1,):
        pass
    with pytest.raises(StoreUnavailable, match=r"^all 1 connections to PostgreSQL were in use for 0\.05 s"):
        connections.rows("SELECT 1")
    holder.rows("SELECT pg_advisory_unlock(1)")
    blocked.join()
    assert connections.rows("SELECT 1") == [(1,)]
    for one in (connections, holder):
        one.close()


def test_an_idle_connection_that_was_cut_is_replaced_without_an_error(
    connections: Connections, database: str
) -> None:
    before = connections.row("SELECT pg_backend_pid()")
    assert before is not None
    run_sql(database, f"SELECT pg_terminate_backend({before[0]}, 5000)")
    after = connections.row("SELECT pg_backend_pid()")
    assert after is not None
    assert after != before


def test_a_connection_cut_in_a_statement_leaves_it_open_whether_it_was_carried_out(
    connections: Connections,
) -> None:
    with pytest.raises(Lost, match=r"^the connection to PostgreSQL was lost; try again$"):
        connections.rows("SELECT pg_terminate_backend(pg_backend_pid())")
    assert connections.rows("SELECT 1") == [(1,)]


def test_a_server_that_is_away_is_used_again_when_it_is_back() -> None:
    with postgres_server() as server:
        connections = Connections(server.url())
        assert connections.rows("SELECT 1") == [(1,)]
        server.stop()
        with pytest.raises(StoreUnavailable) as away:
            connections.rows("SELECT 1")
        assert str(away.value) == "PostgreSQL cannot be reached; try again"  # and no address
        server.start()
        assert connections.rows("SELECT 1") == [(1,)]
        connections.close()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SELECT * FROM codemode.meta", "run `codemode store migrate`"),
        ("SELECT 1 / 0", r"refused a statement \(22012\)"),
    ],
)
def test_a_statement_that_cannot_be_carried_out_says_what_to_do(
    connections: Connections, statement: str, told: str
) -> None:
    with pytest.raises(StoreUnavailable, match=told):
        connections.rows(statement)
    assert connections.rows("SELECT 1") == [(1,)]


def test_a_standby_is_told_from_a_primary(database: str) -> None:
    connections = Connections(database + "&options=-cdefault_transaction_read_only%3Don")
    with pytest.raises(StoreUnavailable, match="name the primary"):
        connections.rows("CREATE TABLE t (n int)")
    connections.close()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://user:secret@/nowhere?host={folder}", "does not|cannot be reached|no such database"),
        ("postgresql://user:secret@/x?colour=red", "URL cannot be read"),
        ("postgresql://user:secret@127.0.0.1:1/x", "cannot be reached"),
    ],
)
def test_an_address_that_leads_nowhere_is_not_repeated(postgres: PostgresServer, url: str, told: str) -> None:
    connections = Connections(url.format(folder=postgres.folder))
    with pytest.raises(StoreUnavailable, match=told) as refused:
        connections.rows("SELECT 1")
    assert "secret" not in str(refused.value)
    assert "user" not in str(refused.value)
    assert "127.0.0.1" not in str(refused.value)


def test_a_closed_pool_has_no_connection_left_and_says_so(database: str) -> None:
    connections = Connections(database)
    connections.rows("SELECT 1")
    connections.close()
    with pytest.raises(StoreUnavailable, match=r"^the store is closed$"):
        connections.rows("SELECT 1")
    ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'codemode'"
    while run_sql(database, f"{ours} AND datname = current_database()") != [(0,)]:
        pass
