"""Cost of the run stores, as JSON lines: python bench/bench_store.py [directory for the SQLite file].

Each line is one measurement: `p50_us` is the median of single operations, `per_second` a whole cycle in a
loop, bytes are exact. PostgreSQL is the server of the tests, on this machine, with fsync. Compare two runs by
ratio, on one machine; all but the figures of memory depend on the disk.
"""

import json
import os
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from codemode_snapshots import (
    Claimed,
    Hold,
    Label,
    MemoryStore,
    NodeInfo,
    Pending,
    RunScope,
    RunStore,
    Snapshot,
    StoreLimits,
    new_key,
    seal,
    unseal,
)
from codemode_snapshots.postgres import PostgresStore
from codemode_snapshots.postgres_schema import migrate
from codemode_snapshots.sqlite import SqliteStore

from tests.harness.postgres import postgres_server

KEY = new_key()
KEY_ID = "00" * 8
NODE = NodeInfo("bench", ("0123456789abcdef" * 2,), (KEY_ID,))
BUILD = NODE.builds[0]
SCOPE = RunScope("main", "session-0123456789abcdef", "turn-0123456789abcdef", "call-0123456789abcdef")
LIMITS = StoreLimits(max_snapshots=20_000, max_snapshot_bytes=16 * 1024 * 1024)
STATE = os.urandom(600).hex().encode()
KEEP_MS = 900_000


def main() -> None:
    for size, rounds in ((3_000, 500), (1 << 20, 40), (8 << 20, 10)):
        bench_envelope(size, rounds)
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as directory:
        bench_cycle("memory", MemoryStore(LIMITS))
        bench_cycle("sqlite", SqliteStore(Path(directory) / "cycle.sqlite", LIMITS))
        with postgres() as url:
            bench_cycle("postgres", PostgresStore(url, LIMITS))
        bench_memory_of_many(10_000)
        bench_disk_of_many(10_000, Path(directory) / "many" / "runs.sqlite")


@contextmanager
def postgres() -> Generator[str]:
    with postgres_server(fsync="on") as server, server.new_database() as url:
        migrate(url, KEY_ID)
        yield url


def label(run_id: str) -> Label:
    now_ms = int(time.time() * 1000)
    return Label(BUILD, run_id, SCOPE, now_ms, now_ms + 900_000)


def made(number: int, delta: bytes) -> Snapshot:
    return Snapshot(label(f"{number:032x}"), STATE, delta)


def bench_envelope(size: int, rounds: int) -> None:
    delta, own = os.urandom(size), label("run")
    envelope = seal(KEY, own, state=STATE, delta=delta)

    def open_it() -> None:
        unseal(
            KEY,
            envelope,
            build_id=own.build_id,
            run_id=own.run_id,
            scope=own.scope,
            now_ms=own.created_at_ms,
            max_bytes=len(envelope),
        )

    overhead = len(envelope) - size - len(STATE)
    seal_us = p50_us(lambda: seal(KEY, own, state=STATE, delta=delta), rounds)
    say("seal", delta_bytes=size, p50_us=seal_us, overhead_bytes=overhead)
    say("unseal", delta_bytes=size, p50_us=p50_us(open_it, rounds))


def bench_cycle(name: str, store: RunStore) -> None:
    """What one run costs that is suspended twice, waits for a call each time, and ends."""
    store.join(NODE)
    for size, rounds in ((3_000, 400), (1 << 20, 20)):
        steps: dict[str, list[float]] = {}

        def timed(step: str, action: Callable[[], object], steps: dict[str, list[float]] = steps) -> object:
            begin = time.perf_counter()
            answer = action()
            steps.setdefault(step, []).append((time.perf_counter() - begin) * 1e6)
            return answer

        snapshots = [made(size * 1_000 + number, os.urandom(size)) for number in range(rounds)]
        started = time.perf_counter()
        for snapshot in snapshots:
            _cycle(store, snapshot, timed)
        rate = rounds / (time.perf_counter() - started)
        medians = {f"{step}_p50_us": round(median(times), 1) for step, times in steps.items()}
        say("cycle", store=name, delta_bytes=size, per_second=round(rate), **medians)
    store.close()


def _cycle(store: RunStore, snapshot: Snapshot, timed: Callable[[str, Callable[[], object]], object]) -> None:
    run_id = snapshot.label.run_id
    timed("save", lambda: store.save(snapshot, (Pending("1"), Pending("2")), NODE.name))
    timed("look", lambda: store.look(run_id, SCOPE))
    timed("settle", lambda: store.settle(Hold(run_id, "1", NODE.name, 1), b"outcome" * 10))
    first = timed("claim", lambda: store.claim(run_id, SCOPE, NODE.builds, NODE.name))
    assert isinstance(first, Claimed)
    timed("touch", lambda: store.touch(first.claim))
    timed("save_again", lambda: store.save(snapshot, (Pending("2"),), NODE.name, claim=first.claim))
    store.settle(Hold(run_id, "2", NODE.name, 1), b"outcome" * 10)
    last = store.claim(run_id, SCOPE, NODE.builds, NODE.name)
    assert isinstance(last, Claimed)
    timed(
        "finish",
        lambda: store.finish(run_id, "completed", claim=last.claim, result=b"result" * 10, keep_ms=KEEP_MS),
    )


def bench_memory_of_many(runs: int) -> None:
    tracemalloc.start()
    store = MemoryStore(LIMITS)
    store.join(NODE)
    for number in range(runs):
        store.save(made(number, os.urandom(3_000)), (), NODE.name)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    say("many", store="memory", runs=runs, stored_bytes=store.totals().bytes, memory_bytes=used)


def bench_disk_of_many(runs: int, file: Path) -> None:
    file.parent.mkdir()
    passed_ms = 0
    store = SqliteStore(file, LIMITS, lambda: int(time.time() * 1000) + passed_ms)
    store.join(NODE)
    for number in range(runs):
        store.save(made(number, os.urandom(3_000)), (), NODE.name)
    used = disk_bytes(file.parent)
    say("many", store="sqlite", runs=runs, stored_bytes=store.totals().bytes, disk_bytes=used)
    listing = p50_us(store.list_runs, 3)
    passed_ms = 900_000
    started = time.perf_counter()
    store.expire()
    purged = time.perf_counter() - started
    for _ in range(runs // 2_000):  # each call gives a bounded part of the space back
        store.expire()
    store.close()
    after = disk_bytes(file.parent)
    say("purge", store="sqlite", runs=runs, list_us=listing, expire_us=round(purged * 1e6), disk_bytes=after)


def disk_bytes(directory: Path) -> int:
    return sum(entry.stat().st_size for entry in directory.iterdir())


def p50_us(action: Callable[[], object], rounds: int) -> float:
    times: list[float] = []
    for _ in range(rounds):
        begin = time.perf_counter()
        action()
        times.append((time.perf_counter() - begin) * 1e6)
    return round(median(times), 1)


def say(name: str, **facts: object) -> None:
    print(json.dumps({"bench": name, **facts}), flush=True)


if __name__ == "__main__":
    main()
