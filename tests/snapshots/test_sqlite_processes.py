"""One file, several real processes: races for the same runs, and writers killed in mid-work."""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import IO

import pytest
from codemode_snapshots import Claimed, NotClaimed, Opened, RunMeta, is_alive, unseal
from codemode_snapshots.sqlite import SqliteStore

from tests.harness.processes import PROJECT
from tests.snapshots.samples import BUILD, KEY, NOW, OURS, SCOPE, THEIRS, sealed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.snapshots.child", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
    )


def race(*racers: subprocess.Popen[str]) -> list[list[str]]:
    """Let all of them go when the last one is ready; the lines each of them said afterwards."""
    for racer in racers:
        assert out(racer).readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    lines = [racer.communicate(timeout=60)[0].split() for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * len(racers)
    return lines


def out(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


def test_processes_that_race_for_the_same_runs_claim_each_exactly_once(file: Path) -> None:
    store = SqliteStore(file)
    for number in range(80):
        store.save(sealed(f"run-{number}"), OURS)
    said = race(*(start("claim", str(file), "80", seed) for seed in "abcd"))
    assert Counter(run_id for lines in said for run_id in lines) == {
        f"run-{number}": 1 for number in range(80)
    }
    store.close()


def test_processes_that_race_to_recover_report_each_run_exactly_once(file: Path) -> None:
    store = SqliteStore(file)
    for number in range(40):
        store.save(sealed(f"run-{number}"), OURS)
        store.claim(f"run-{number}", THEIRS, now_ms=NOW)
    said = race(*(start("recover", str(file)) for _ in range(3)))
    assert Counter(run_id for lines in said for run_id in lines) == {
        f"run-{number}": 1 for number in range(40)
    }
    store.close()


def test_processes_that_race_to_create_the_file_all_save_into_it(file: Path) -> None:
    race(*(start("create", str(file), f"run-{number}") for number in range(4)))
    store = SqliteStore(file)
    assert {meta.label.run_id for meta in store.list_runs()} == {f"run-{number}" for number in range(4)}
    store.close()


def test_a_writer_killed_at_any_instant_leaves_whole_runs_and_none_to_resume_twice(
    file: Path,
) -> None:
    rng = random.Random(3)
    for attempt in range(40):
        size = rng.choice([3000, 60_000, 400_000])
        writer = start("write", str(file), f"round-{attempt}", str(size))
        lines = [out(writer).readline() for _ in range(rng.randrange(1, 25))]
        writer.kill()
        # not communicate(): it reads past what readline() has buffered, and would lose those lines
        lines += out(writer).readlines()
        writer.communicate(timeout=60)
        # The last line may be cut short; its work is done all the same, which the check below allows for.
        said = [line.split() for line in lines if line.endswith("\n")]
        check_what_is_left(file, {run_id: (word, int(version)) for word, run_id, version in said}, size)


def check_what_is_left(file: Path, last_said: dict[str, tuple[str, int]], size: int) -> None:
    store = SqliteStore(file)
    metas = {meta.label.run_id: meta for meta in store.list_runs()}
    assert set(last_said) <= set(metas)
    held = {run_id for run_id, meta in metas.items() if meta.claimed_by is not None}
    assert {stone.run_id for stone in store.recover(NOW, is_alive)} == held
    for run_id, meta in metas.items():
        # A run never spoken of was saved at most once. After "saved n" only the next claim can have happened
        # unsaid; after "claimed n" only the save of n + 1.
        word, version = last_said.get(run_id, ("saved", 0))
        if run_id in held:
            assert store.claim(run_id, OURS, now_ms=NOW) == NotClaimed("interrupted", SCOPE)
            continue
        outcome = store.claim(run_id, OURS, now_ms=NOW)
        assert isinstance(outcome, Claimed)
        expected = version if word == "saved" else version + 1
        state = str(expected).encode()
        times = meta.label.created_at_ms, meta.label.expires_at_ms
        assert opened(outcome, meta) == Opened(*times, state=state, delta=b"d" * size)
        assert store.delete(run_id, now_ms=NOW)
    assert store.totals().total_bytes == 0
    store.close()


def opened(outcome: Claimed, meta: RunMeta) -> Opened:
    return unseal(
        KEY,
        outcome.snapshot.envelope,
        build_id=BUILD,
        run_id=meta.label.run_id,
        scope=SCOPE,
        now_ms=NOW,
        max_bytes=1_000_000,
    )
