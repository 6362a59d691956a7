"""A PostgreSQL store that fills up: python bench/bench_postgres.py [--runs 1000000], as JSON lines.

At each power of ten up to `--runs` suspended runs (3 KB each, ten to a session): what the steps of one more
run cost (`p50_us`), how long the list of a session and the count of everything take, and the bytes on disk. A
store that grows should stay flat. The server is that of the tests, with fsync; 1,000,000 runs need 6 GB.
"""

import argparse
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from statistics import median

import psycopg
from bench_store import BUILD, KEEP_MS, NODE, STATE, postgres, say
from codemode_snapshots import Claimed, Hold, Label, Pending, RunScope, Snapshot, StoreLimits
from codemode_snapshots.postgres import PostgresStore

LIMITS = StoreLimits(max_snapshots=10_000_000, max_total_bytes=1 << 40)
STEPS = 200
COPY = """COPY codemode.runs (run_id, agent, session, agent_run, tool_call, build_id, created_at_ms,
    expires_at_ms, expires_at, size_bytes, state, delta) FROM STDIN (FORMAT binary)"""
COUNT = "SELECT count(size_bytes), sum(size_bytes) FROM codemode.runs"
SIZES = """SELECT pg_total_relation_size('codemode.runs'), pg_relation_size('codemode.runs'),
    pg_indexes_size('codemode.runs')"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--runs", type=int, default=1_000_000)
    most: int = options.parse_args().runs
    with postgres() as url:
        store = PostgresStore(url, LIMITS)
        store.join(NODE)
        filled = 0
        for wanted in [10**power for power in range(3, 9) if 10**power <= most]:
            began = time.perf_counter()
            fill(url, filled, wanted)
            filled = wanted
            measure(store, url, wanted, time.perf_counter() - began)
        store.close()


def scope(number: int) -> RunScope:
    return RunScope("main", f"session-{number // 10:08}", f"turn-{number // 10:08}", "call-1")


def fill(url: str, first: int, last: int) -> None:
    now_ms = int(time.time() * 1000)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off")
        with connection.cursor().copy(COPY) as copy:
            copy.set_types(["text"] * 6 + ["int8", "int8", "timestamptz", "int8", "bytea", "bytea"])
            expires = datetime.now(UTC) + timedelta(hours=12)
            for number in range(first, last):
                own = scope(number)
                copy.write_row(
                    (
                        f"{number:032x}",
                        *(own.agent, own.session, own.agent_run, own.tool_call),
                        BUILD,
                        now_ms + number,
                        now_ms + 43_200_000,
                        expires,
                        len(STATE) + 3_000,
                        STATE,
                        os.urandom(3_000),
                    )
                )
        connection.execute("VACUUM ANALYZE codemode.runs")  # what autovacuum does in its own time


def measure(store: PostgresStore, url: str, runs: int, fill_seconds: float) -> None:
    times: dict[str, list[float]] = {}

    def timed(step: str, action: Callable[[], object]) -> object:
        begin = time.perf_counter()
        answer = action()
        times.setdefault(step, []).append((time.perf_counter() - begin) * 1e6)
        return answer

    for number in range(STEPS):
        one_run(store, number * (runs // STEPS), timed)
    for _ in range(5):
        timed("expire", store.expire)
    with psycopg.connect(url) as connection:
        total, table, indexes = connection.execute(SIZES).fetchone() or (0, 0, 0)
        for _ in range(3):
            timed("count", lambda: connection.execute(COUNT))
    medians = {f"{step}_us": round(median(each)) for step, each in times.items()}
    sizes = {"bytes": total, "bytes_per_run": round(total / runs), "table": table, "indexes": indexes}
    say("many", runs=runs, fill_seconds=round(fill_seconds, 1), **medians, **sizes)


def one_run(store: PostgresStore, other: int, timed: Callable[[str, Callable[[], object]], object]) -> None:
    now_ms, run_id, own = int(time.time() * 1000), f"new-{other}-{time.perf_counter_ns()}", scope(other)
    snapshot = Snapshot(Label(BUILD, run_id, own, now_ms, now_ms + 900_000), STATE, os.urandom(3_000))
    timed("save", lambda: store.save(snapshot, (Pending("1"),), NODE.name))
    timed("list_session", lambda: store.list_runs(session=own.session))
    timed("look", lambda: store.look(f"{other:032x}", own))
    timed("settle", lambda: store.settle(Hold(run_id, "1", NODE.name, 1), b"outcome" * 10))
    got = timed("claim", lambda: store.claim(run_id, own, NODE.builds, NODE.name))
    assert isinstance(got, Claimed)
    timed(
        "finish",
        lambda: store.finish(run_id, "completed", claim=got.claim, result=b"result", keep_ms=KEEP_MS),
    )


if __name__ == "__main__":
    main()
