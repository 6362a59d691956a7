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


def test_an_interpreter_that_needs_a_path_for_its_libraries_has_workers_with_an_empty_environment(
    tmp_path: Path,
) -> None:
    """A stand-in for one whose libpython lies elsewhere: without the variable it does not start."""
    needy = tmp_path / "python"
    # a shell adds variables of its own
    start_it = f'exec env -i LD_LIBRARY_PATH="$LD_LIBRARY_PATH" {sys.executable} "$@"'
    needy.write_text(f'#!/bin/sh\n[ "$LD_LIBRARY_PATH" = "{tmp_path}/lib" ] || exit 127\n{start_it}\n')
    needy.chmod(0o700)
    code = f"""
import sys
sys.executable = {str(needy)!r}
from codemode import BlockingEngine
with BlockingEngine(settings={{"warmWorkers": 1}}) as made:
    assert made.exec("return 1").unwrap() == 1, made.exec("return 1")
    print([layer.status for layer in made.stats().workers.confinement if layer.name == "environment"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**environment(), "LD_LIBRARY_PATH": "lib"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("['active']\n", "")
