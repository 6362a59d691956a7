"""The process of the first zygote, started before the engine is loaded."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from codemode import Engine
from codemode.workers import head_start
from codemode.workers.head_start import ZYGOTE, ahead, take_ahead
from tests.harness.processes import python

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def pid_ahead() -> int:
    (started,) = head_start._ahead  # pyright: ignore[reportPrivateUsage] - nobody else may look at it
    return started.process.pid


def exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() if Path("/proc").exists() else _can_be_signalled(pid)


def _can_be_signalled(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_the_first_zygote_takes_over_the_process_that_was_started_ahead() -> None:
    with ahead():
        pid = pid_ahead()
        async with Engine() as first, Engine() as second:
            own = [zygote["pid"] for zygote in first.stats()["workers"]["zygotes"]]
            other = [zygote["pid"] for zygote in second.stats()["workers"]["zygotes"]]
            assert own == [pid]
            assert pid not in other
            for engine in (first, second):
                assert (await engine.exec("return 1")).unwrap() == 1
        assert not exists(pid)


async def test_a_process_started_ahead_is_confined_as_any_other() -> None:
    async with Engine() as engine:
        usual = engine.stats()["workers"]["confinement"]
    with ahead():
        async with Engine() as engine:
            assert engine.stats()["workers"]["confinement"] == usual


def test_a_process_that_no_engine_took_is_ended() -> None:
    with ahead():
        pid = pid_ahead()
        assert exists(pid)
    assert not exists(pid)


async def test_an_engine_starts_its_own_process_if_the_one_ahead_has_died() -> None:
    with ahead():
        pid = pid_ahead()
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - dies at once; the engine reaps it
        async with Engine() as engine:
            (zygote,) = engine.stats()["workers"]["zygotes"]
            assert zygote["pid"] != pid
            assert (await engine.exec("return 1")).unwrap() == 1


def test_a_zygote_with_another_entry_does_not_take_it() -> None:
    with ahead():
        assert take_ahead("tests.workers.rogue_zygote") is None
        assert exists(pid_ahead())


COMMAND = """
import sys
from codemode.cli import main
main(sys.argv[1:])
print("codemode.workers.head_start" in sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("arguments", "starts"),
    [
        (["run", "-e", "return 1"], True),
        (["run", "--help"], False),
        (["run", "--nonsense"], True),
        (["trace"], False),
    ],
)
def test_commands_that_will_need_a_worker_start_its_process_first(arguments: list[str], starts: bool) -> None:
    done = python("-c", COMMAND, *arguments)
    assert done.stderr.splitlines()[-1] == str(starts)


def test_starting_a_process_ahead_loads_nothing_of_the_engine() -> None:
    done = python("-c", f"import sys; import {head_start.__name__}; print(*sys.modules)")
    loaded = set(done.stdout.split())
    assert head_start.__name__ in loaded
    assert loaded & {"asyncio", "msgspec", "codemode.engine", "codemode.workers.worker", ZYGOTE} == set()
