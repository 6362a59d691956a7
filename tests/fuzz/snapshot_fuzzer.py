"""Bytes of snapshots: envelopes and journal entries, deltas in a real guest, rows and pages of a store.

Each is opened to what was sealed, or refused in its one way. A delta that lies is restored in a child
process, as a worker is one: it may trap or loop there, but never crash.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

from codemode_runtime import delta as deltas
from codemode_runtime.delta import DeltaRefused
from codemode_runtime.shapes import Limits
from codemode_runtime.wasm import GuestTrap, OutOfBounds
from codemode_snapshots import (
    Claimed,
    EnvelopeRefused,
    Hold,
    Label,
    NodeInfo,
    Pending,
    RunScope,
    Snapshot,
    SnapshotError,
    seal,
    seal_part,
    unseal,
    unseal_part,
)
from codemode_snapshots.sqlite import SqliteStore

from tests.fuzz.mutation import any_json, change_bytes, rubbish
from tests.fuzz.runner import Subject
from tests.harness.guests import Watched, load_image, new_guest
from tests.runtime.test_delta import PROGRAM, captured, go_on

_KEY, _NOW = bytes(range(32)), 1_800_000_000_000
_SCOPE = RunScope("agent", "sess", "run", "call")
_LABEL = Label("build", "run_1", _SCOPE, _NOW, _NOW + 900_000)
_STATE, _DELTA = b"state" * 20, b"delta" * 50


class Envelopes:
    """An input is an envelope; the same bytes are tried as the outcome of a call."""

    def __init__(self) -> None:
        self._good = seal(_KEY, _LABEL, state=_STATE, delta=_DELTA)
        self._other = seal(_KEY, Label("build", "run_2", _SCOPE, _NOW, _NOW + 1), state=b"", delta=_DELTA)
        self._entry = seal_part(_KEY, "outcome", ("run_1", "7"), b"\0null", 1)

    def make(self, dice: Random) -> bytes:
        if dice.random() < 0.1:
            return rubbish(dice, 400)
        return change_bytes(dice, dice.choice((self._good, self._entry)), (self._good, self._other))

    def check(self, data: bytes) -> None:
        with suppress(EnvelopeRefused):
            opened = unseal(
                _KEY, data, build_id="build", run_id="run_1", scope=_SCOPE, now_ms=_NOW, max_bytes=1 << 20
            )
            assert (data, opened.state, opened.delta) == (self._good, _STATE, _DELTA), "forged"
        with suppress(EnvelopeRefused):
            entry = unseal_part((_KEY,), "outcome", ("run_1", "7"), data, 1)
            assert data == self._entry, f"forged: {entry!r}"


class Deltas:
    """An input is a delta. Mutations are made inside of it too, where compression would hide them."""

    def __init__(self) -> None:
        held = (
            "const keep = Array.from({ length: 500 }, (_, i) => ({ i, s: 'v' + i, m: new Map([[i, i]]) }));"
        )
        self._good = [captured(PROGRAM), captured(held + PROGRAM)]
        self._build = load_image().build_id

    def make(self, dice: Random) -> bytes:
        good = dice.choice(self._good)
        if dice.random() < 0.3:
            return change_bytes(dice, good, self._good)
        found = deltas.open_delta(good, self._build)
        parts = [bytearray(found.patch)]
        for _, pages in found.extents:
            parts.append(bytearray(pages * deltas.PAGE))
            found.read_extent(memoryview(parts[-1]))
        changed = dice.choice(parts)
        for _ in range(dice.choice((1, 1, 2, 8, 64))):
            at = dice.randrange(len(changed)) & ~3
            word = dice.choice(
                (0, 1, 0xFFFFFFFF, 0x7FFFFFFF, dice.randrange(1 << 32), dice.randrange(1 << 20))
            )
            changed[at : at + 4] = word.to_bytes(4, "little")[: len(changed[at : at + 4])]
        extents = [
            deltas.Extent(page, bytes(part)) for (page, _), part in zip(found.extents, parts[1:], strict=True)
        ]
        return deltas.encode(found.memory_bytes, bytes(parts[0]), extents, self._build)

    def check(self, data: bytes) -> None:
        child = os.fork()
        if child == 0:
            os._exit(_restore(data))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        # overdue: it loops where it never polls, and is ended from outside, as a worker would be
        assert status in (0, -signal.SIGALRM), f"the process that restored it ended with {status}"


def _restore(data: bytes) -> int:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    try:
        with Watched(new_guest(), seconds=0.3) as watched:
            watched.guest.restore(data, Limits())
            go_on(watched.guest)
    except (DeltaRefused, MemoryError, OutOfBounds, GuestTrap):
        pass
    except BaseException:  # the parent only sees a status
        import traceback

        traceback.print_exc()
        return 1
    return 0


class StoreFiles:
    """An input is a whole SQLite file, as a store left it and somebody changed it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._good = self._make_file()

    def make(self, dice: Random) -> bytes:
        if dice.random() < 0.5:
            return change_bytes(dice, self._good)
        path = self._fresh(self._good)
        with sqlite3.connect(path) as connection:
            _change_row(dice, connection)
        connection.close()
        return path.read_bytes()

    def check(self, data: bytes) -> None:
        path = self._fresh(data)
        with suppress(SnapshotError):
            store = SqliteStore(path, clock=lambda: _NOW)
            try:
                self._use(store)
            finally:
                store.close()

    def _use(self, store: SqliteStore) -> None:
        """Each step is tried, whatever the one before was refused for."""
        label = Label("build", "run_new", _SCOPE, _NOW, _NOW + 9)
        steps = (
            lambda: store.join(NodeInfo("b", (), ())),
            lambda: store.list_runs(),
            lambda: store.totals(),
            lambda: store.look("run_1", _SCOPE),
            lambda: store.settle(Hold("run_1", "8", "a", 1), b"x"),
            lambda: store.decide("run_1", _SCOPE, "ask", b"yes", "b"),
            lambda: self._claim(store),
            lambda: store.save(Snapshot(label, b"new", b"delta"), (), "b"),
            lambda: store.finish("run_2", "aborted", caller=_SCOPE, keep_ms=9),
            lambda: store.look("run_0", _SCOPE),
            lambda: store.numbers(("run_1", "run_2")),
            lambda: store.expire(),
        )
        for step in steps:
            with suppress(SnapshotError):
                step()

    def _claim(self, store: SqliteStore) -> None:
        """What comes out of it opens only if it is what went in."""
        claimed = store.claim("run_1", _SCOPE, ("build",), "b")
        if not isinstance(claimed, Claimed):
            return
        opened = unseal(
            _KEY,
            claimed.snapshot.state,
            build_id="build",
            run_id="run_1",
            scope=claimed.snapshot.label.scope,
            now_ms=_NOW,
            max_bytes=1 << 20,
        )
        assert (opened.state, opened.delta) == (_STATE, _DELTA)

    def _make_file(self) -> bytes:
        path = self._folder / "good"
        store = SqliteStore(path, clock=lambda: _NOW)
        store.join(NodeInfo("a", (), ()))
        for number in range(3):
            label = Label("build", f"run_{number}", _SCOPE, _NOW, _NOW + 900_000)
            calls = (Pending("7"), Pending("8"), Pending("9", is_held=False, asking="ask"))
            store.save(Snapshot(label, seal(_KEY, label, state=_STATE, delta=_DELTA), _DELTA), calls, "a")
        outcome = seal_part(_KEY, "outcome", ("run_1", "7"), b"\0null", 1)
        store.settle(Hold("run_1", "7", "a", 1), outcome)
        store.finish("run_0", "aborted", caller=_SCOPE, keep_ms=1000)
        store.close()
        return path.read_bytes()

    def _fresh(self, data: bytes) -> Path:
        for left in self._folder.glob("tried*"):
            left.unlink()
        path = self._folder / "tried"
        path.write_bytes(data)
        return path


def _change_row(dice: Random, connection: sqlite3.Connection) -> None:
    tables = {
        "runs": "run_id agent session build_id created_at_ms expires_at_ms size_bytes number digest"
        " claimed_by claimed_at_ms is_touched is_stored request_id changes",
        "bodies": "state delta answer",
        "calls": "run call_id held_by take idempotent asking settled request decision outcome",
        "endings": "run_id agent how at_ms until_ms result digest",
        "nodes": "node process builds boot lease_until_ms",
        "totals": "runs bytes endings result_bytes settled",
    }
    for _ in range(dice.choice((1, 1, 2, 4))):
        table = dice.choice(list(tables))
        column = dice.choice(tables[table].split())
        value = any_json(dice)
        if isinstance(value, str):
            value = value.encode(errors="replace").decode()
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            value = None
        elif isinstance(value, list | dict):
            value = dice.randbytes(dice.randrange(40))
        with suppress(sqlite3.Error):
            connection.execute(f"UPDATE {table} SET {column} = ?", (value,))


@contextmanager
def envelopes() -> Generator[Subject]:
    yield Envelopes()


@contextmanager
def delta_bytes() -> Generator[Subject]:
    yield Deltas()


@contextmanager
def store_files() -> Generator[Subject]:
    folder = Path(tempfile.mkdtemp(prefix="codemode-fuzz-"))
    try:
        yield StoreFiles(folder)
    finally:
        shutil.rmtree(folder)
