"""The tables of a PostgreSQL store: who makes them, who only looks, and which keys nodes must have."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest
from codemode_snapshots import KeyRefused, StoreUnavailable
from codemode_snapshots.postgres import PostgresStore
from codemode_snapshots.postgres_schema import SCHEMA_VERSION, migrate
from codemode_snapshots.records import NodeInfo

from tests.harness.postgres import run_sql
from tests.snapshots.samples import BUILD

OLD, NEW, OTHER = "aa" * 8, "bb" * 8, "cc" * 8
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'codemode' ORDER BY 1"


def joins(url: str, name: str, key_ids: Sequence[str]) -> None:
    store = PostgresStore(url)
    try:
        store.join(NodeInfo(name, (BUILD,), tuple(key_ids)))
    finally:
        store.close()


def test_an_engine_makes_no_tables_and_says_which_command_does(database: str) -> None:
    with pytest.raises(StoreUnavailable, match="run `codemode store migrate`"):
        PostgresStore(database)
    assert run_sql(database, TABLES) == []
    migrate(database, OLD)
    PostgresStore(database).close()


def test_a_second_migration_changes_nothing(database: str) -> None:
    assert migrate(database, OLD) == [f"made the tables, version {SCHEMA_VERSION}, for the key {OLD}"]
    assert migrate(database, OLD) == []


def test_of_several_migrations_at_once_one_makes_the_tables(database: str) -> None:
    done: list[list[str]] = []
    racers = [threading.Thread(target=lambda: done.append(migrate(database, OLD))) for _ in range(4)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert sorted(map(len, done)) == [0, 0, 0, 1]


def test_older_code_refuses_tables_that_need_newer_code_and_touches_nothing(database: str) -> None:
    migrate(database, OLD)
    run_sql(database, f"UPDATE codemode.meta SET version = {SCHEMA_VERSION + 2}")
    PostgresStore(database).close()  # newer tables that this code can still use
    run_sql(database, f"UPDATE codemode.meta SET oldest_reader = {SCHEMA_VERSION + 1}")
    with pytest.raises(StoreUnavailable, match="need a newer codemode"):
        PostgresStore(database)
    with pytest.raises(StoreUnavailable, match="migrate with the newer one"):
        migrate(database, OLD)
    assert run_sql(database, "SELECT count(*) FROM codemode.nodes") == [(0,)]


def test_newer_code_refuses_older_tables_and_names_the_command(database: str) -> None:
    migrate(database, OLD)
    run_sql(database, "UPDATE codemode.meta SET version = 0")
    with pytest.raises(StoreUnavailable, match=r"of version 0.*run `codemode store migrate`"):
        PostgresStore(database)


def test_a_schema_of_that_name_of_another_program_is_left_alone(database: str) -> None:
    run_sql(database, "CREATE SCHEMA codemode")
    run_sql(database, "CREATE TABLE codemode.meta (colour text)")
    with pytest.raises(StoreUnavailable, match="belongs to another program"):
        migrate(database, OLD)
    assert run_sql(database, TABLES) == [("meta",)]


@pytest.mark.guarantee("store-keys")
def test_a_node_with_another_key_is_refused_and_does_not_join(database: str) -> None:
    migrate(database, OLD)
    for key_ids in ((OTHER,), (OTHER, OLD)):  # the second would seal what the others cannot open
        with pytest.raises(KeyRefused, match=f"the nodes of this store use the key {OLD}"):
            joins(database, "a", key_ids)
    assert run_sql(database, "SELECT count(*) FROM codemode.nodes") == [(0,)]
    joins(database, "a", (OLD, OTHER))


def test_a_new_key_is_known_to_all_before_anybody_seals_with_it(database: str) -> None:
    migrate(database, OLD)
    with pytest.raises(KeyRefused):
        joins(database, "too-early", (NEW, OLD))
    migrate(database, NEW)
    with pytest.raises(KeyRefused, match=f"use the key {NEW}"):
        joins(database, "does-not-know-it", (OLD,))
    joins(database, "knows-both", (OLD, NEW))
    joins(database, "seals-with-it", (NEW, OLD))
    migrate(database, OLD)  # and back
    joins(database, "knows-both-again", (NEW, OLD))
