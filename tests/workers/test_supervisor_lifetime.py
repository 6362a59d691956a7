"""Everything dies with the host, whatever ends it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from codemode_runtime import wire

from tests.harness.leftovers import ends
from tests.harness.processes import PROJECT, environment
from tests.harness.workers import start, supervisor

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def host(ending: str) -> tuple[subprocess.Popen[bytes], list[int]]:
    """A host with two computing workers and two warm ones, and the pids of all its processes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.workers.host_process", ending],
        stdout=subprocess.PIPE,
        cwd=PROJECT,
        env=environment(),
    )
    assert process.stdout is not None
    with process.stdout as out:
        pids = [int(word) for word in out.readline().split()]
    return process, pids


def test_nothing_is_left_of_a_host_that_was_killed_outright() -> None:
    process, pids = host("waits")
    assert len(pids) == 5  # a zygote and four workers
    process.kill()
    process.wait()
    assert [pid for pid in pids if not ends(pid)] == []


@pytest.mark.parametrize(("ending", "status"), [("leaves", 0), ("raises", 3)])
def test_nothing_is_left_of_a_host_that_exits_with_runs_in_flight(ending: str, status: int) -> None:
    process, pids = host(ending)
    assert process.wait() == status
    assert [pid for pid in pids if not ends(pid)] == []


async def test_a_cache_that_others_can_write_to_is_neither_read_nor_written(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    async with supervisor(cache=shared) as found:
        with await found.lease() as worker:
            assert isinstance(await start(worker, "return 1"), wire.Done)
    assert list(shared.iterdir()) == []
