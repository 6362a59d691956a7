"""`codemode store`: tables and keys of a PostgreSQL store, seals of any store, copies of a file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.harness.cli import TOOLS, Cli
from tests.harness.postgres import run_sql

KEY, OTHER = "11" * 32, "22" * 32
WAITS = "await yield_control(); return 7"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEMODE_STORE_KEY", KEY)


def left_waiting(cli: Cli, store: str | Path) -> str:
    told = cli("run", "-e", WAITS, "--store", store, "--no-wait", "--json", "--tools", TOOLS)
    assert told.code == 3, told.err
    return told.json["runId"]


def test_a_database_is_migrated_used_and_checked(cli: Cli, database: str) -> None:
    refused = cli("run", "-e", WAITS, "--store", database, "--no-wait")
    assert refused.code == 4
    assert "run `codemode store migrate`" in refused.err
    made = cli("store", "migrate", "--store", database)
    assert (made.code, made.out[:30]) == (0, "made the tables, version 1, fo")
    assert (
        cli("store", "migrate", "--store", database).out == "the tables and the key are as they should be\n"
    )
    run_id = left_waiting(cli, database)
    assert run_id in cli("runs", "--store", database).out
    checked = cli("store", "check", "--store", database)
    assert (checked.code, checked.out) == (
        0,
        "1 runs, each of which these keys open; 0 calls wait with them\n",
    )
    done = cli("wait", run_id, "--store", database, "--json", "--tools", TOOLS)
    assert done.json["value"] == 7


def test_a_check_names_what_cannot_be_opened_and_ends_with_one(
    cli: Cli, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("store", "migrate", "--store", database)
    run_id = left_waiting(cli, database)
    monkeypatch.setenv("CODEMODE_STORE_KEY", OTHER)
    checked = cli("store", "check", "--store", database)
    assert (checked.code, checked.out.splitlines()[1]) == (
        1,
        f"1 runs cannot be opened (wrong_key): {run_id}",
    )
    monkeypatch.setenv("CODEMODE_STORE_KEY", f"{OTHER},{KEY}")
    assert cli("store", "check", "--store", database).code == 0
    run_sql(database, "UPDATE codemode.runs SET state = set_byte(state, length(state) - 1, 0)")
    run_sql(database, "UPDATE codemode.runs SET state = set_byte(state, length(state) - 2, 0)")
    assert "cannot be opened (forged)" in cli("store", "check", "--store", database).out


def test_a_database_needs_a_key(cli: Cli, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEMODE_STORE_KEY")
    for action in ("migrate", "check"):
        told = cli("store", action, "--store", database)
        assert told.code == 2
        assert "store_key: is needed with a PostgreSQL store" in told.err


def test_a_file_is_checked_and_copied_while_it_is_used(cli: Cli, tmp_path: Path) -> None:
    file, copy = tmp_path / "runs.sqlite", tmp_path / "copy.sqlite"
    run_id = left_waiting(cli, file)
    assert cli("store", "check", "--store", file).code == 0
    with sqlite3.connect(file) as open_elsewhere:
        open_elsewhere.execute("SELECT count(*) FROM runs")
        copied = cli("store", "backup", "--store", file, "--to", copy)
    open_elsewhere.close()
    assert copied.code == 0, copied.err
    assert copy.stat().st_mode & 0o777 == 0o600
    assert cli("wait", run_id, "--store", copy, "--json", "--tools", TOOLS).json["value"] == 7


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("migrate", "--store", "runs.sqlite"), "nothing to migrate"),
        (("check", "--store", ":memory:"), "ends with its engine"),
        (("check", "--store", "nowhere.sqlite"), "there is no such file"),
        (("backup", "--store", "nowhere.sqlite"), "give --to FILE"),
        (("backup", "--store", "postgresql://db/x", "--to", "x"), "pg_dump"),
        (("check", "--store", "mysql://db/x"), "not a URL that begins with"),
    ],
)
def test_what_cannot_be_done_says_what_to_do(
    cli: Cli, arguments: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = cli("store", *arguments)
    assert refused.code == 2
    assert told in refused.err
    assert list(tmp_path.iterdir()) == []
