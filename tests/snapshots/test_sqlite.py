"""What only the file can show: permissions, reopening, bad files, a full disk, space used and returned."""

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import codemode_snapshots.sqlite
import pytest
from codemode_snapshots import (
    Claimed,
    EnvelopeRefused,
    Recorded,
    Snapshot,
    StoreUnavailable,
    Totals,
    unseal,
)
from codemode_snapshots.journal import SettlementKind
from codemode_snapshots.sqlite import SqliteStore
from codemode_snapshots.sqlite_file import open_database

from tests.snapshots.samples import BUILD, KEY, NOW, OURS, SCOPE, TTL, label, sealed, snapshot


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def limited_by(monkeypatch: pytest.MonkeyPatch, pragma: str) -> None:
    """Stores opened from here on run on a real connection with this pragma set."""

    def opened(path: Path) -> sqlite3.Connection:
        connection = open_database(path)
        connection.execute(pragma)
        return connection

    monkeypatch.setattr(codemode_snapshots.sqlite, "open_database", opened)


def test_what_was_saved_is_there_after_reopening(file: Path) -> None:
    first = SqliteStore(file)
    first.save(sealed(), OURS)
    first.record_settlement("run-1", Recorded(1, "call", "c-1", b"{}"))
    first.close()
    second = SqliteStore(file)
    outcome = second.claim("run-1", OURS, now_ms=NOW)
    assert isinstance(outcome, Claimed)
    assert outcome.snapshot == sealed()
    assert outcome.settlements == (Recorded(1, "call", "c-1", b"{}"),)
    second.close()


def test_a_decision_is_on_the_disk_before_anybody_acts_on_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []

    def opened(path: Path) -> sqlite3.Connection:
        connection = open_database(path)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(codemode_snapshots.sqlite, "open_database", opened)
    store = SqliteStore(file)
    store.save(snapshot(), OURS)

    def commits_with(kind: SettlementKind) -> list[str]:
        statements.clear()
        store.record_settlement("run-1", Recorded(1, kind, "c-1", b"{}"))
        return [line for line in statements if line.startswith(("PRAGMA sync", "COMMIT"))]

    assert commits_with("call") == ["COMMIT"]
    assert commits_with("decision") == ["PRAGMA synchronous=FULL", "COMMIT", "PRAGMA synchronous=NORMAL"]
    store.close()


def test_the_file_and_its_companions_are_private(file: Path) -> None:
    store = SqliteStore(file)
    store.save(sealed(), OURS)
    modes = {entry.name: entry.stat().st_mode & 0o777 for entry in file.parent.iterdir()}
    assert modes == {"runs.sqlite": 0o600, "runs.sqlite-wal": 0o600, "runs.sqlite-shm": 0o600}
    store.close()


def test_an_empty_file_becomes_a_store(file: Path) -> None:
    file.touch()
    store = SqliteStore(file)
    assert store.totals() == Totals(0, 0)
    store.close()


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(file: Path) -> None:
    file.write_bytes(b"not a database at all, but long enough to look at" * 40)
    before = file.read_bytes()
    with pytest.raises(StoreUnavailable, match="not an SQLite database"):
        SqliteStore(file)
    assert file.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_as_it_is(file: Path) -> None:
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = file.read_bytes()
    with pytest.raises(StoreUnavailable, match="another program"):
        SqliteStore(file)
    assert file.read_bytes() == before


def test_a_newer_schema_is_refused(file: Path) -> None:
    SqliteStore(file).close()
    newer = sqlite3.connect(file)
    newer.execute("PRAGMA user_version=2")
    newer.close()
    with pytest.raises(StoreUnavailable, match="has schema 2, this codemode knows 1"):
        SqliteStore(file)


def test_a_directory_or_a_missing_one_is_refused_with_advice(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none" / "runs.sqlite"):
        with pytest.raises(StoreUnavailable, match="existing, writable directory"):
            SqliteStore(place)


def test_a_closed_store_is_unavailable(file: Path) -> None:
    store = SqliteStore(file)
    store.close()
    with pytest.raises(StoreUnavailable):
        store.totals()
    with pytest.raises(StoreUnavailable):
        store.save(sealed(), OURS)


def test_a_store_that_cannot_be_written_still_reads(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = SqliteStore(file)
    writer.save(sealed(), OURS)
    writer.close()
    limited_by(monkeypatch, "PRAGMA query_only=ON")
    store = SqliteStore(file)
    changes: list[Callable[[], object]] = [
        lambda: store.save(sealed("run-2"), OURS),
        lambda: store.claim("run-1", OURS, now_ms=NOW),
        lambda: store.delete("run-1", now_ms=NOW),
    ]
    for change in changes:
        with pytest.raises(StoreUnavailable, match="cannot be written"):
            change()
    assert [meta.label for meta in store.list_runs()] == [label()]
    store.close()


def test_a_full_disk_refuses_the_save_and_keeps_every_run(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited_by(monkeypatch, "PRAGMA max_page_count=60")
    store = SqliteStore(file)

    def save(number: int) -> None:
        store.save(snapshot(f"run-{number}", bytes([number]) * 5000), OURS)

    def save_until_full() -> None:
        for number in range(100):
            save(number)

    with pytest.raises(StoreUnavailable, match="no space left"):
        save_until_full()
    saved = store.totals().snapshots
    assert 10 < saved < 60
    assert store.totals() == Totals(saved, saved * 5000)
    for number in range(saved):
        outcome = store.claim(f"run-{number}", OURS, now_ms=NOW)
        assert isinstance(outcome, Claimed)
        assert outcome.snapshot.envelope == bytes([number]) * 5000
    assert store.delete("run-0", now_ms=NOW) is True
    save(saved)
    store.close()


def test_a_store_held_by_a_writer_elsewhere_is_unavailable_and_recovers(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited_by(monkeypatch, "PRAGMA busy_timeout=1")
    store = SqliteStore(file)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked by another process"):
        store.save(sealed(), OURS)
    other.execute("ROLLBACK")
    other.close()
    store.save(sealed(), OURS)
    store.close()


def test_ten_thousand_tiny_runs_fit_and_their_space_is_given_back(file: Path) -> None:
    envelope = random.Random(1).randbytes(4200)
    store = SqliteStore(file)
    for number in range(10_000):
        store.save(Snapshot(label(f"run-{number:026}"), envelope), OURS)
    used = sum(entry.stat().st_size for entry in file.parent.iterdir())
    assert used <= 60_000_000
    assert len(store.expire(NOW + TTL)) == 10_000
    for _ in range(4):
        store.expire(NOW + TTL)
    store.close()
    assert file.stat().st_size <= 8_000_000


def test_a_damaged_file_never_hands_out_wrong_bytes(file: Path, tmp_path: Path) -> None:
    store = SqliteStore(file)
    for number in range(6):
        store.save(sealed(f"run-{number}", delta=bytes([number]) * 3000), OURS)
        store.record_settlement(f"run-{number}", Recorded(1, "call", "c-1", b"{}"))
    store.close()
    whole = file.read_bytes()
    rng = random.Random(2)
    outcomes: set[str] = set()
    for attempt in range(150):
        damaged = bytearray(whole)
        for _ in range(rng.choice([1, 1, 8, 200])):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        copy = tmp_path / f"damaged-{attempt}.sqlite"
        copy.write_bytes(damaged)
        outcomes |= {_outcome(copy, number) for number in range(6)}
    assert outcomes <= {"same", "absent", "unavailable", "refused"}
    assert {"same", "unavailable", "refused"} <= outcomes


def _outcome(copy: Path, number: int) -> str:
    try:
        store = SqliteStore(copy)
    except StoreUnavailable:
        return "unavailable"
    try:
        outcome = store.claim(f"run-{number}", OURS, now_ms=NOW)
        if not isinstance(outcome, Claimed):
            return "absent"
        opened = unseal(
            KEY,
            outcome.snapshot.envelope,
            build_id=BUILD,
            run_id=f"run-{number}",
            scope=SCOPE,
            now_ms=NOW,
            max_bytes=100_000,
        )
    except StoreUnavailable:
        return "unavailable"
    except EnvelopeRefused:
        return "refused"
    else:
        return "same" if opened.delta == bytes([number]) * 3000 else "wrong"
    finally:
        store.close()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_deleted_or_replaced_while_open_is_noticed(file: Path, replaced: bool) -> None:
    store = SqliteStore(file)
    store.save(sealed(), OURS)
    file.rename(file.with_name("away"))
    if replaced:
        SqliteStore(file).close()
    steps: list[Callable[[], object]] = [
        lambda: store.save(snapshot("run-2"), OURS),
        lambda: store.lookup("run-1"),
        lambda: store.claim("run-1", OURS, now_ms=NOW),
        lambda: store.record_settlement("run-1", Recorded(1, "call", "c-1", b"{}")),
        store.list_runs,
        store.totals,
    ]
    for step in steps:
        with pytest.raises(StoreUnavailable, match="was deleted or replaced while it was open"):
            step()
    if not replaced:
        file.with_name("away").rename(file)  # put back, it is as it was
        assert store.totals().snapshots == 1
    store.close()


def test_a_process_may_go_to_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("runs.sqlite")
    monkeypatch.chdir("/")
    store.save(sealed(), OURS)
    assert store.totals().snapshots == 1
    store.close()
