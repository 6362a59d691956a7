"""Runs that this build cannot restore, and runs whose engine died in the middle of a leg."""

from __future__ import annotations

from pathlib import Path

import pytest
from codemode_runtime.image import load

from codemode.cli.checks.files import check_store
from codemode.workers.supervisor import Supervisor
from tests.harness.engine import engine, failure_of, statuses, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")
PROGRAM = "await tools.echo({ value: 1 }); await yield_control(); return 2"


async def test_a_run_of_another_build_says_what_it_has_done_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "runs.sqlite"
    async with engine(store=store) as made:
        run_id = waiting(await made.exec(PROGRAM)).run_id
    with monkeypatch.context() as patch:
        patch.setattr(Supervisor, "build_id", property(lambda _: "f" * 64))
        async with engine(store=store) as made:
            for _ in range(2):
                refused = failure_of(await made.wait(run_id), "snapshot_restore_failed")
                assert "another engine build" in refused.error
                assert statuses(refused) == [("echo", "ok")]
            trajectory = await made.trajectory(run_id)
            assert trajectory is not None
            assert [call.name for call in trajectory.calls[0].calls] == ["echo"]
    async with engine(store=store) as made:
        assert value_of(await made.wait(run_id)) == 2


async def test_doctor_counts_the_runs_that_this_build_cannot_restore(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    async with engine(store=store) as made:
        await made.exec(PROGRAM)
    assert check_store(store, load().build_id)[0].status == "ok"
    finding, can_open = check_store(store, "f" * 64)
    assert (finding.name, finding.status, can_open) == ("runs of other builds", "degraded", True)
    assert finding.detail == "1 of 1 runs were suspended by another build, and stay for it"
