"""Two versions with different guest images on one store: the new one goes on with the runs of both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.hosts import Host
from tests.e2e.test_durable_runs import suspended, value
from tests.harness.other_image import ASK, OURS, THEIRS, make_image, make_installation

pytestmark = pytest.mark.timeout(240)
PROGRAM = f"const kept = [1]; await tools.note({{ name: 'x' }}); await yield_control(); kept.push({ASK}); \
await yield_control(); return [...kept, {ASK}]"


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    build = make_image(folder)
    make_installation(folder / build, tmp_path / "old")
    return folder


@pytest.fixture
def old(images: Path, tmp_path: Path) -> Iterator[Host]:
    place = (tmp_path / "old", tmp_path / "runs.sqlite", tmp_path / "witness")
    host = Host(*place, module="tests.e2e.old_build_host")
    yield host
    host.kill()


def new_host(tmp_path: Path) -> Host:
    return Host(tmp_path / "runs.sqlite", tmp_path / "witness")


@pytest.mark.guarantee("builds-side-by-side")
def test_a_run_of_the_previous_build_is_finished_by_the_new_one_in_the_image_it_began_in(
    old: Host, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEMODE_IMAGES", str(images))
    with new_host(tmp_path) as new:
        assert value(new.ask("exec", program=f"return {ASK}")) == OURS
        at_new = suspended(old, PROGRAM)
        assert new.ask("wait", run_id=at_new)["status"] == "waiting"
        assert value(new.ask("wait", run_id=at_new)) == [1, THEIRS, THEIRS]
        back = suspended(old, PROGRAM)
        assert new.ask("wait", run_id=back)["status"] == "waiting"  # saved by the new one, for both
        assert value(old.ask("wait", run_id=back)) == [1, THEIRS, THEIRS]


@pytest.mark.guarantee("builds-side-by-side")
def test_without_the_image_the_run_says_what_it_has_done_and_stays_for_who_has_it(
    old: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CODEMODE_IMAGES", raising=False)
    run_id = suspended(old, PROGRAM)
    with new_host(tmp_path) as new:
        refused = new.ask("wait", run_id=run_id)
        assert refused["code"] == "snapshot_restore_failed"
        assert "The run is kept" in refused["error"]
        assert [(call["name"], call["status"]) for call in refused["telemetry"]["calls"]] == [("note", "ok")]
        assert new.ask("runs") == [run_id]
        assert old.ask("wait", run_id=run_id)["status"] == "waiting"
        assert value(old.ask("wait", run_id=run_id)) == [1, THEIRS, THEIRS]


@pytest.mark.guarantee("builds-side-by-side")
def test_an_old_node_is_drained_while_the_new_one_takes_its_runs(
    old: Host, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEMODE_IMAGES", str(images))
    with new_host(tmp_path) as new:
        left = suspended(old, PROGRAM)
        held = suspended(
            old, "const call = tools.hold({ name: 'x' }); await yield_control(); return await call", "x"
        )
        assert old.ask("drain", timeout=0) is False  # a call is made there
        refused = old.ask("exec", program="return 1")
        assert (refused["code"], refused["error"].split(",")[0]) == (
            "runtime_unavailable",
            "This engine takes no new program",
        )
        draining = old.order("drain")
        waiting = new.order("wait", run_id=held)
        old.ask("answer", name="x", value="done")
        assert old.take(draining) is True
        assert value(new.take(waiting)) == "done"
        old.__exit__()
        assert new.ask("wait", run_id=left)["status"] == "waiting"
        assert value(new.ask("wait", run_id=left)) == [1, THEIRS, THEIRS]
