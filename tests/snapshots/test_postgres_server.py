"""The tests' own PostgreSQL server: real, empty at first, and gone with whoever asked for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.harness.leftovers import ends
from tests.harness.postgres import PostgresServer, postgres_server, run_sql
from tests.harness.processes import PROJECT, environment

PROGRAM = """
import os, signal
from tests.harness.postgres import postgres_server
with postgres_server() as server:
    pid = (server.folder / "data" / "postmaster.pid").read_text().split()[0]
    print(server.folder, pid, server.keeper_pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_server_ends_with_a_test_process_that_was_killed() -> None:
    killed = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=PROJECT, env=environment(), stdout=subprocess.PIPE, text=True
    )
    folder, pid, keeper_pid = killed.stdout.split()
    assert ends(int(pid))
    assert ends(int(keeper_pid))
    assert not Path(folder).exists()


def test_each_database_is_empty_and_gone_afterwards(postgres: PostgresServer) -> None:
    with postgres.new_database() as url:
        run_sql(url, "CREATE TABLE seen (n int)")
    with postgres.new_database() as other:
        run_sql(other, "CREATE TABLE seen (n int)")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        run_sql(url, "SELECT 1")


def test_a_server_that_crashed_has_what_was_committed() -> None:
    with postgres_server() as server:
        server.run("CREATE TABLE kept AS SELECT 7 AS n")
        server.crash()
        with pytest.raises(psycopg.OperationalError):
            server.run("SELECT 1")
        server.start()
        assert server.run("SELECT n FROM kept") == [(7,)]
