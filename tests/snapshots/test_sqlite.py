"""What only the file can show: permissions, reopening, bad files, a full disk, space used and returned."""

import hashlib
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import codemode_snapshots.sqlite_tables
import pytest
from codemode_snapshots import (
    Claimed,
    EnvelopeRefused,
    Hold,
    Pending,
    Settled,
    Snapshot,
    StoreUnavailable,
    Totals,
    seal,
    unseal,
)
from codemode_snapshots.sqlite import SqliteStore
from codemode_snapshots.sqlite_file import Schema, open_database

from tests.snapshots.places import node, saved
from tests.snapshots.samples import BUILD, KEY, NOW, SCOPE, TTL, label, sealed

CALL = Hold("run-1", "1", "a", 1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def opened_store(file: Path) -> SqliteStore:
    """With a clock at NOW, and a node `a`."""
    store = SqliteStore(file, clock=lambda: NOW)
    store.join(node("a"))
    return store


def claim(store: SqliteStore, run_id: str = "run-1") -> Claimed:
    outcome = store.claim(run_id, SCOPE, (BUILD,), "a")
    assert isinstance(outcome, Claimed)
    return outcome


def limited_by(monkeypatch: pytest.MonkeyPatch, pragma: str) -> None:
    """Stores opened from here on run on a real connection with this pragma set."""

    def opened(path: Path, schema: Schema) -> sqlite3.Connection:
        connection = open_database(path, schema)
        connection.execute(pragma)
        return connection

    monkeypatch.setattr(codemode_snapshots.sqlite_tables, "open_database", opened)


def test_what_was_saved_is_there_after_reopening(file: Path) -> None:
    first = opened_store(file)
    first.save(sealed(), (Pending("1"),), "a")
    first.settle(CALL, b"{}")
    first.close()
    second = SqliteStore(file, clock=lambda: NOW)
    outcome = claim(second)
    assert outcome.snapshot == sealed()
    assert outcome.settled == (Settled("1", 1, b"{}"),)
    second.close()


def test_what_must_not_be_lost_is_on_the_disk_before_anybody_acts_on_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []

    def opened(path: Path, schema: Schema) -> sqlite3.Connection:
        connection = open_database(path, schema)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(codemode_snapshots.sqlite_tables, "open_database", opened)
    store = opened_store(file)
    saved(store, calls=(Pending("1"), Pending("2", is_held=False, asking="ask-1")))
    saved(store, "run-2")
    held = claim(store, "run-2").claim

    def commits_of(step: Callable[[], object]) -> list[str]:
        statements.clear()
        assert step()
        return [line for line in statements if line.startswith(("PRAGMA sync", "COMMIT"))]

    durable = ["PRAGMA synchronous=FULL", "COMMIT", "PRAGMA synchronous=NORMAL"]
    assert commits_of(lambda: store.settle(CALL, b"{}")) == ["COMMIT"]
    assert commits_of(lambda: claim(store)) == ["COMMIT"]
    assert commits_of(lambda: store.decide("run-1", SCOPE, "ask-1", b"yes", "a")) == durable
    assert commits_of(lambda: store.touch(held)) == durable
    assert commits_of(lambda: store.finish("run-2", "completed", claim=held, keep_ms=1)) == ["COMMIT"]
    assert commits_of(lambda: store.finish("run-1", "aborted", caller=SCOPE, keep_ms=1)) == durable
    store.close()


def test_the_file_and_its_companions_are_private(file: Path) -> None:
    store = SqliteStore(file)
    store.save(sealed(), (), "a")
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
    newer.execute("PRAGMA user_version=3")
    newer.close()
    with pytest.raises(StoreUnavailable, match="has schema 3, this codemode knows 2"):
        SqliteStore(file)


def test_a_file_of_an_older_schema_is_refused_and_says_what_to_do(file: Path) -> None:
    SqliteStore(file).close()
    older = sqlite3.connect(file)
    older.execute("PRAGMA user_version=1")
    older.close()
    with pytest.raises(
        StoreUnavailable, match="has schema 1 of an older codemode; let its runs end with that"
    ):
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
        store.save(sealed(), (), "a")


def test_a_store_that_cannot_be_written_still_reads(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = SqliteStore(file)
    writer.save(sealed(), (), "a")
    writer.close()
    limited_by(monkeypatch, "PRAGMA query_only=ON")
    store = SqliteStore(file)
    changes: list[Callable[[], object]] = [
        lambda: store.save(sealed("run-2"), (), "a"),
        lambda: store.claim("run-1", SCOPE, (BUILD,), "a"),
        lambda: store.finish("run-1", "aborted", caller=SCOPE, keep_ms=1),
    ]
    for change in changes:
        with pytest.raises(StoreUnavailable, match="cannot be written"):
            change()
    assert [meta.label for meta in store.list_runs()] == [label()]
    store.close()


def test_a_full_disk_refuses_the_save_and_keeps_every_run(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited_by(monkeypatch, "PRAGMA max_page_count=77")
    store = opened_store(file)

    def save(number: int) -> None:
        saved(store, f"run-{number}", state=b"", delta=bytes([number]) * 5000)

    def save_until_full() -> None:
        for number in range(100):
            save(number)

    with pytest.raises(StoreUnavailable, match="no space left"):
        save_until_full()
    kept = store.totals().runs
    assert 10 < kept < 75
    assert store.totals() == Totals(kept, kept * 5000)
    for number in range(kept):
        assert claim(store, f"run-{number}").snapshot.delta == bytes([number]) * 5000
    assert store.finish("run-0", "aborted", caller=SCOPE, keep_ms=0) is True
    save(kept)
    store.close()


def test_a_store_held_by_a_writer_elsewhere_is_unavailable_and_recovers(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited_by(monkeypatch, "PRAGMA busy_timeout=1")
    store = SqliteStore(file)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked by another process"):
        store.save(sealed(), (), "a")
    other.execute("ROLLBACK")
    other.close()
    store.save(sealed(), (), "a")
    store.close()


def test_ten_thousand_tiny_runs_fit_and_their_space_is_given_back(file: Path) -> None:
    state, delta = random.Random(1).randbytes(700), random.Random(2).randbytes(3500)
    now = NOW
    store = SqliteStore(file, clock=lambda: now)
    for number in range(10_000):
        store.save(Snapshot(label(f"run-{number:026}"), state, delta), (), "a")
    used = sum(entry.stat().st_size for entry in file.parent.iterdir())
    assert used <= 70_000_000
    now += TTL
    assert len(store.expire()) == 10_000
    for _ in range(4):
        store.expire()
    store.close()
    assert file.stat().st_size <= 8_000_000


def test_a_damaged_file_never_hands_out_wrong_bytes(file: Path, tmp_path: Path) -> None:
    store = opened_store(file)
    for number in range(6):
        own, delta = label(f"run-{number}"), bytes([number]) * 3000
        state = seal(KEY, own, state=b"{}", delta=hashlib.sha256(delta).digest())
        store.save(Snapshot(own, state, delta), (Pending("1"),), "a")
        store.settle(Hold(f"run-{number}", "1", "a", 1), b"{}")
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
        store = SqliteStore(copy, clock=lambda: NOW)
    except StoreUnavailable:
        return "unavailable"
    try:
        outcome = store.claim(f"run-{number}", SCOPE, (BUILD,), "a")
        if not isinstance(outcome, Claimed):
            return "absent"
        opened = unseal(
            KEY,
            outcome.snapshot.state,
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
        if opened.delta != hashlib.sha256(outcome.snapshot.delta).digest():
            return "refused"
        return "same" if outcome.snapshot.delta == bytes([number]) * 3000 else "wrong"
    finally:
        store.close()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_deleted_or_replaced_while_open_is_noticed(file: Path, replaced: bool) -> None:
    store = SqliteStore(file)
    store.save(sealed(), (), "a")
    file.rename(file.with_name("away"))
    if replaced:
        SqliteStore(file).close()
    steps: list[Callable[[], object]] = [
        lambda: saved(store, "run-2"),
        lambda: store.look("run-1", SCOPE),
        lambda: store.claim("run-1", SCOPE, (BUILD,), "a"),
        lambda: store.settle(CALL, b"{}"),
        store.list_runs,
        store.totals,
    ]
    for step in steps:
        with pytest.raises(StoreUnavailable, match="was deleted or replaced while it was open"):
            step()
    if not replaced:
        file.with_name("away").rename(file)  # put back, it is as it was
        assert store.totals().runs == 1
    store.close()


def test_a_process_may_go_to_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("runs.sqlite")
    monkeypatch.chdir("/")
    store.save(sealed(), (), "a")
    assert store.totals().runs == 1
    store.close()
