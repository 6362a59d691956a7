"""What a confined worker can do to the system, tried from inside the process: nothing."""

from __future__ import annotations

import pytest

from codemode.workers.errors import WorkerLost
from tests.harness.workers import ROGUE, start, supervisor, value_of

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@pytest.mark.parametrize(
    ("attempt", "answer"),
    [
        ("file", "EACCES"),
        ("write", "EACCES"),
        ("environment", "ENODATA"),
        ("environment of the process", "EACCES"),
    ],
)
async def test_a_confined_worker_is_refused(attempt: str, answer: str) -> None:
    async with supervisor(entry=ROGUE) as found:
        assert await value_of(found, f"probe:{attempt}") == answer


@pytest.mark.parametrize("attempt", ["socket", "process", "fork", "ptrace", "signal"])
async def test_a_confined_worker_dies_of_the_attempt(attempt: str) -> None:
    async with supervisor(entry=ROGUE) as found:
        with await found.lease() as worker, pytest.raises(WorkerLost, match="SIGSYS"):
            await start(worker, f"probe:{attempt}")
        assert await value_of(found, "obeys") is None


async def test_the_probes_work_where_confinement_is_off() -> None:
    async with supervisor(entry=ROGUE, confinement="off") as found:
        for attempt in ("file", "socket", "process"):
            assert await value_of(found, f"probe:{attempt}") == "it worked"


async def test_the_layers_of_a_worker_are_reported_by_name() -> None:
    async with supervisor() as found:
        assert {layer.name for layer in found.stats().confinement} == {
            *("descriptors", "environment", "no_new_privs", "namespaces", "death_signal", "not_dumpable"),
            *("landlock", "capabilities", "limits", "no_new_code", "seccomp"),
        }


async def test_confinement_that_is_off_reports_only_that_workers_die_with_their_host() -> None:
    async with supervisor(confinement="off") as found:
        assert await value_of(found, "return 1") == 1
        assert [layer.name for layer in found.stats().confinement] == ["death_signal"]
