"""The hook that runs async tests: in a loop of their own, bounded, and strict about what they leave."""

import asyncio
from pathlib import Path

import pytest

from tests.harness.loops import run
from tests.harness.processes import python

SUITE = """
import asyncio
import pytest

async def test_passes(tmp_path):
    assert tmp_path.is_dir()

@pytest.mark.parametrize("number", [1])
async def test_fails(number):
    assert number == 2

async def test_leaves_a_task():
    asyncio.ensure_future(asyncio.Event().wait())

@pytest.mark.seconds(0.05)
async def test_hangs():
    await asyncio.Event().wait()
"""


async def test_an_async_test_is_the_only_task_of_its_loop(tmp_path: Path) -> None:
    assert tmp_path.is_absolute()  # fixtures arrive as in any test
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_async_tests_fail_for_an_assertion_for_a_task_they_leave_and_for_their_time(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_pyfunc_call\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = seconds(bound): as in pyproject.toml\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    options = ("-q", "-ra", "--tb=line", "-p", "no:cacheprovider")
    done = python("-m", "pytest", *options, cwd=tmp_path, env={"COLUMNS": "200"})
    assert [line for line in done.stdout.splitlines() if line.startswith("FAILED")] == [
        "FAILED test_suite.py::test_fails[1] - assert 1 == 2",
        "FAILED test_suite.py::test_leaves_a_task - AssertionError: tasks were left behind",
        "FAILED test_suite.py::test_hangs - TimeoutError",
    ]
    assert done.stdout.splitlines()[-1].startswith("3 failed, 1 passed")


def test_a_scenario_gives_its_result_to_a_test_that_is_not_async() -> None:
    async def scenario() -> int:
        return 7

    assert run(scenario) == 7


def test_a_scenario_over_its_time_is_ended() -> None:
    with pytest.raises(TimeoutError):
        run(asyncio.Event().wait, 0.01)
