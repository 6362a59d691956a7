"""`Engine(store=…)`: what each spelling means, and how what cannot be used is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from codemode_snapshots import MemoryStore
from codemode_snapshots.sqlite import SqliteStore

from codemode import ConfigError, Engine
from codemode.config.store_argument import PostgresUrl, is_durable, read_store


class Half:
    def save(self) -> None: ...
    def claim(self) -> None: ...


@pytest.mark.parametrize(
    "given", [None, ":memory:", "memory:", "memory://", "sqlite://", "sqlite:///:memory:"]
)
def test_memory_has_these_spellings(given: str | None) -> None:
    assert read_store(given) is None


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("runs.sqlite", "runs.sqlite"),
        (Path("/var/runs.sqlite"), "/var/runs.sqlite"),
        ("sqlite:///runs.sqlite", "runs.sqlite"),
        ("SQLite:///kept/runs.sqlite", "kept/runs.sqlite"),
        ("sqlite:////var/lib/runs.sqlite", "/var/lib/runs.sqlite"),
    ],
)
def test_a_file_is_named_by_its_path_or_by_a_url(given: str | Path, path: str) -> None:
    assert read_store(given) == Path(path)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            "postgresql://me:secret@db/runs",
            "store_key: is needed with a PostgreSQL store: 32 bytes, the same for all its engines, or 64 "
            "hexadecimal digits in CODEMODE_STORE_KEY.",
        ),
        (
            "mysql://me:secret@db/runs",
            "store: must be the path of a file, a sqlite:/// or postgresql:// URL, a RunStore, or None to "
            'keep runs in memory, not a URL that begins with "mysql".',
        ),
        (
            "sqlite://runs.sqlite",
            "store: a sqlite URL names no host: write sqlite:///runs.sqlite, or sqlite:////var/lib/runs.sqlite.",
        ),
        ("sqlite:///runs.sqlite?mode=ro", "store: a sqlite URL takes no options after the path."),
        (
            Half(),
            "store: a Half is no RunStore of codemode_snapshots: it has no join, beat, leave, "
            "reserve, look, touch, collect, release, finish, settle, ask, decide, answers, expire, numbers, "
            "list_runs, totals, feed, close.",
        ),
    ],
)
def test_what_cannot_be_a_store_is_refused_and_no_password_is_shown(given: Any, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Engine(store=given)
    assert str(refused.value) == told


def test_an_object_says_whether_it_outlives_the_process(tmp_path: Path) -> None:
    file = SqliteStore(tmp_path / "runs.sqlite")
    try:
        assert (is_durable(MemoryStore()), is_durable(file)) == (False, True)
        assert read_store(file) is file
    finally:
        file.close()


def test_an_object_that_outlives_the_process_needs_a_key(tmp_path: Path) -> None:
    file = SqliteStore(tmp_path / "runs.sqlite")
    try:
        with pytest.raises(ConfigError) as refused:
            Engine(store=file)
        assert str(refused.value) == (
            "store_key: is needed with a store object that outlives the process: 32 bytes, the same for all "
            "its engines."
        )
        Engine(store=file, store_key=b"k" * 32)
        Engine(store=MemoryStore())
    finally:
        file.close()


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "PostgreSQL", "postgresql+psycopg"])
def test_a_database_is_named_by_its_url_which_does_not_show_itself(scheme: str) -> None:
    found = read_store(f"{scheme}://me:secret@db/runs?sslmode=require")
    assert found == PostgresUrl("postgresql://me:secret@db/runs?sslmode=require")
    assert "secret" not in repr(found)


def test_a_database_needs_its_driver_and_the_refusal_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> None:
        return None

    monkeypatch.setattr("codemode.config.store_argument.find_spec", nowhere)
    with pytest.raises(ConfigError, match=r'pip install "codemode\[postgres\]"'):
        Engine(store="postgresql://db/runs", store_key=bytes(32))
