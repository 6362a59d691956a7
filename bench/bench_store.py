"""Cost of the persistence plane, as JSON lines: python bench/bench_store.py [directory for the SQLite file].

Each line is one measurement: `p50_us` is the median of single operations, `per_second` a whole cycle in a
loop, bytes are exact. Compare two runs by ratio, on one machine; the SQLite figures depend on the disk.
"""

import json
import os
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median

from codemode_snapshots import (
    Claimed,
    Label,
    MemoryStore,
    RunScope,
    Snapshot,
    SnapshotStore,
    StoreLimits,
    new_key,
    new_owner,
    seal,
    unseal,
)
from codemode_snapshots.sqlite import SqliteStore

NOW = 1_800_000_000_000
KEY = new_key()
OWNER = new_owner()
SCOPE = RunScope("main", "session-0123456789abcdef", "turn-0123456789abcdef", "call-0123456789abcdef")
LIMITS = StoreLimits(max_snapshots=20_000, max_snapshot_bytes=16 * 1024 * 1024)
STATE = os.urandom(600).hex().encode()


def main() -> None:
    for size, rounds in ((3_000, 500), (1 << 20, 40), (8 << 20, 10)):
        bench_envelope(size, rounds)
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as directory:
        bench_cycle("memory", MemoryStore(LIMITS))
        bench_cycle("sqlite", SqliteStore(Path(directory) / "cycle.sqlite", LIMITS))
        bench_memory_of_many(10_000)
        bench_disk_of_many(10_000, Path(directory) / "many" / "runs.sqlite")


def label(run_id: str) -> Label:
    return Label("0123456789abcdef" * 2, run_id, SCOPE, NOW, NOW + 900_000)


def made(number: int, delta: bytes) -> Snapshot:
    own = label(f"{number:032x}")
    return Snapshot(own, seal(KEY, own, state=STATE, delta=delta))


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
            now_ms=NOW,
            max_bytes=len(envelope),
        )

    overhead = len(envelope) - size - len(STATE)
    seal_us = p50_us(lambda: seal(KEY, own, state=STATE, delta=delta), rounds)
    say("seal", delta_bytes=size, p50_us=seal_us, overhead_bytes=overhead)
    say("unseal", delta_bytes=size, p50_us=p50_us(open_it, rounds))


def bench_cycle(name: str, store: SnapshotStore) -> None:
    """Save, claim, delete: what one suspension that is resumed to its end costs."""
    for size, rounds in ((3_000, 500), (1 << 20, 20)):
        snapshots = [made(number, os.urandom(size)) for number in range(rounds)]
        steps: dict[str, list[float]] = {"save": [], "claim": [], "delete": []}
        started = time.perf_counter()
        for snapshot in snapshots:
            run_id = snapshot.label.run_id
            at = [time.perf_counter()]
            store.save(snapshot, OWNER)
            at.append(time.perf_counter())
            assert isinstance(store.claim(run_id, OWNER, now_ms=NOW), Claimed)
            at.append(time.perf_counter())
            store.delete(run_id, now_ms=NOW)
            at.append(time.perf_counter())
            for step, begin, end in zip(steps, at, at[1:], strict=False):
                steps[step].append((end - begin) * 1e6)
        rate = rounds / (time.perf_counter() - started)
        medians = {f"{step}_p50_us": round(median(times), 1) for step, times in steps.items()}
        say("cycle", store=name, delta_bytes=size, per_second=round(rate), **medians)
    store.close()


def bench_memory_of_many(runs: int) -> None:
    tracemalloc.start()
    store = MemoryStore(LIMITS)
    for number in range(runs):
        store.save(made(number, os.urandom(3_000)), OWNER)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    say("many", store="memory", runs=runs, stored_bytes=store.totals().total_bytes, memory_bytes=used)


def bench_disk_of_many(runs: int, file: Path) -> None:
    file.parent.mkdir()
    store = SqliteStore(file, LIMITS)
    for number in range(runs):
        store.save(made(number, os.urandom(3_000)), OWNER)
    used = disk_bytes(file.parent)
    say("many", store="sqlite", runs=runs, stored_bytes=store.totals().total_bytes, disk_bytes=used)
    listing = p50_us(store.list_runs, 3)
    started = time.perf_counter()
    store.expire(NOW + 900_000)
    purged = time.perf_counter() - started
    for _ in range(runs // 2_000):  # each call gives a bounded part of the space back
        store.expire(NOW + 900_000)
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
