"""One file, several real processes: races for the same runs, and writers killed in mid-work."""

import random
import secrets
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import pytest
from codemode_snapshots import (
    Claimed,
    Ending,
    NodeInfo,
    NotClaimed,
    Owner,
    Pending,
    Totals,
    new_owner,
    sqlite_nodes,
)
from codemode_snapshots.sqlite import SqliteStore

from tests.harness.processes import PROJECT
from tests.snapshots.samples import BUILD, NOW, SCOPE, sealed


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


def store_in(file: Path) -> SqliteStore:
    store = SqliteStore(file, clock=lambda: NOW)
    store.join(NodeInfo("a", (BUILD,), ()))
    return store


def each_once(said: list[list[str]], names: Iterable[str]) -> bool:
    return Counter(name for lines in said for name in lines) == dict.fromkeys(names, 1)


def test_processes_that_race_for_the_same_runs_claim_each_exactly_once(file: Path) -> None:
    store = store_in(file)
    for number in range(80):
        store.save(sealed(f"run-{number}"), (), "a")
    said = race(*(start("claim", str(file), "80", seed) for seed in "abcd"))
    assert each_once(said, (f"run-{number}" for number in range(80)))
    store.close()


def _alive(_: Owner) -> bool:
    return True


def test_a_holder_that_ends_while_its_run_is_asked_for_is_judged_once(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_in(file)
    holder = new_owner()
    store.join(NodeInfo("b", (BUILD,), (), Owner("b", 1, "-1", holder.boot, holder.namespace).encode()))
    store.save(sealed(), (), "b")
    held = store.claim("run-1", SCOPE, (BUILD,), "b")
    assert isinstance(held, Claimed)
    monkeypatch.setattr(sqlite_nodes, "is_alive", _alive)
    assert store.touch(held.claim)
    looks = iter([True])  # alive at the first look, gone at every later one

    def ends(_: Owner) -> bool:
        return next(looks, False)

    monkeypatch.setattr(sqlite_nodes, "is_alive", ends)
    assert store.claim("run-1", SCOPE, (BUILD,), "a") == NotClaimed("busy")
    over = store.claim("run-1", SCOPE, (BUILD,), "a")
    assert isinstance(over, Ending)
    assert over.how == "interrupted"
    store.close()


def test_processes_that_race_to_decide_win_each_approval_exactly_once(file: Path) -> None:
    store = store_in(file)
    for number in range(60):
        asking = Pending("1", is_held=False, asking=f"ask-{number}")
        store.save(sealed(f"run-{number}"), (asking,), "a")
    said = race(*(start("decide", str(file), "60", seed) for seed in "abcd"))
    assert each_once(said, (f"run-{number}" for number in range(60)))
    store.close()


def test_an_outcome_that_several_processes_tell_is_kept_once_and_delivered_once(file: Path) -> None:
    store = store_in(file)
    store.save(sealed(), [Pending(str(number)) for number in range(100)], "a")
    said = race(*(start("settle", str(file), "a", seed) for seed in "abc"))
    names = [str(number) for number in range(100)]
    assert each_once(said, names)
    got = store.claim("run-1", SCOPE, (BUILD,), "a")
    assert isinstance(got, Claimed)
    assert sorted(one.call_id for one in got.settled) == sorted(names)
    store.close()


def test_processes_that_race_to_reap_report_each_run_exactly_once(file: Path) -> None:
    store = store_in(file)
    for number in range(40):
        store.save(sealed(f"run-{number}"), (), "a")
        got = store.claim(f"run-{number}", SCOPE, (BUILD,), "a")
        assert isinstance(got, Claimed)
        store.touch(got.claim)
    store.leave("a")
    said = race(*(start("expire", str(file)) for _ in range(3)))
    assert each_once(said, (f"run-{number}" for number in range(40)))
    store.close()


def test_processes_that_race_to_create_the_file_all_save_into_it(file: Path) -> None:
    race(*(start("create", str(file), f"run-{number}") for number in range(4)))
    store = SqliteStore(file)
    assert {listed.label.run_id for listed in store.list_runs()} == {f"run-{number}" for number in range(4)}
    store.close()


def test_a_writer_killed_at_any_instant_leaves_whole_runs_and_none_to_repeat(file: Path) -> None:
    rng = random.Random(3)
    for attempt in range(30):
        size = rng.choice([3000, 60_000, 400_000])
        writer = start("write", str(file), f"round-{attempt}", str(size))
        lines = [out(writer).readline() for _ in range(rng.randrange(1, 35))]
        writer.kill()
        # not communicate(): it reads past what readline() has buffered, and would lose those lines
        lines += out(writer).readlines()
        writer.communicate(timeout=60)
        # The last line may be cut short; its work is done all the same, which the check below allows for.
        said = [line.split() for line in lines if line.endswith("\n")]
        check_what_is_left(file, {run_id: (word, int(version)) for word, run_id, version in said}, size)


def check_what_is_left(file: Path, last_said: dict[str, tuple[str, int]], size: int) -> None:
    """The writer is dead: untouched claims are handed out again, touched ones are over."""
    store = SqliteStore(file, clock=lambda: NOW)
    store.join(NodeInfo(name := secrets.token_hex(4), (BUILD,), ()))
    assert set(last_said) <= {listed.label.run_id for listed in store.list_runs()}
    for listed in store.list_runs():
        run_id = listed.label.run_id
        word, version = last_said.get(run_id, ("saved", 0))
        outcome = store.claim(run_id, SCOPE, (BUILD,), name)
        if isinstance(outcome, Ending):
            # after "claimed" the touch may have happened unsaid, after "saved" not: a claim comes first
            assert (outcome.how, word in ("claimed", "touched")) == ("interrupted", True)
            continue
        assert isinstance(outcome, Claimed)
        # after "touched n" the save of n + 1 may have happened unsaid, and else the run would be over
        expected = version + 1 if word == "touched" else version
        assert bytes(outcome.snapshot.state) == str(expected).encode()
        assert bytes(outcome.snapshot.delta) == b"d" * size
        assert [hold.call_id for hold in outcome.taken] == [str(expected)]
        assert store.finish(run_id, "completed", claim=outcome.claim, keep_ms=0)
    store.expire()
    assert store.totals() == Totals(0, 0)
    store.close()
