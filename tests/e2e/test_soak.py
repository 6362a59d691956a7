"""A slice of the soak: mixed load for a while, and nothing grows; CODEMODE_SOAK_SECONDS makes it longer."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.e2e.soak import JOBS, ROOM, Report, Wrong, soak

FLAT: dict[str, int] = dict.fromkeys(ROOM, 10)
SECONDS = float(os.environ.get("CODEMODE_SOAK_SECONDS", "60"))


@pytest.mark.usefixtures("leaves_nothing")
@pytest.mark.timeout(SECONDS * 2 + 120)
def test_mixed_load_leaves_memory_descriptors_processes_store_and_latency_as_they_were(
    tmp_path: Path,
) -> None:
    report = asyncio.run(soak(SECONDS, 1, tmp_path / "runs.sqlite"))
    report.check()
    assert set(report.jobs) <= {job.__name__ for job in JOBS}
    assert sum(report.jobs.values()) > len(JOBS)


@pytest.mark.parametrize("name", ROOM)
def test_what_grows_is_found(name: str) -> None:
    report = Report(samples=[FLAT | {name: at * (1 << 20)} for at in range(60)], latencies=[0.1] * 60)
    with pytest.raises(Wrong, match=f"{name} grew"):
        report.check()


def test_what_gets_slower_is_found() -> None:
    report = Report(samples=[FLAT] * 60, latencies=[0.1] * 30 + [0.9] * 30)
    with pytest.raises(Wrong, match="a plain exec took 100 ms and takes 900 ms"):
        report.check()
