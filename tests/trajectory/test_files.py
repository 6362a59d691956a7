"""Trajectories as files: what was saved is what is loaded, and whatever else is refused with one error."""

from __future__ import annotations

import json
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.trajectory import (
    SessionTrajectory,
    Trajectory,
    TrajectoryRefused,
    load_trajectory,
    read_trajectory,
)
from codemode.trajectory.shapes import Approval, ControlCall, NestedCall, OutputFacts, Resumption, Suspension

RUN = Trajectory(
    version=1,
    run_id="run_1",
    agent="main",
    session="s",
    status="completed",
    redaction="none",
    started_at_ms=1000,
    ended_at_ms=1400,
    calls=(
        ControlCall(
            name="exec",
            tool_kind="code_mode_exec",
            tool_input_kind="typescript",
            started_at_ms=1000,
            ended_at_ms=1100,
            status="waiting",
            reason="approval",
            input={"type": "string", "bytes": 9, "value": "return 1"},
            output=OutputFacts(items=2, bytes=9, values=["a", {"b": None}]),
            suspended=Suspension(bytes=2400, capture_us=300),
            calls=(
                NestedCall(
                    id="1",
                    tool="openclaw:core:pay",
                    name="pay",
                    method="call",
                    status="denied",
                    started_at_ms=1010,
                    ended_at_ms=1300,
                    ms=290.5,
                    error="denied",
                    approval=Approval(id="apr_1", asked_at_ms=1011, approved=False, decided_at_ms=1299),
                ),
            ),
        ),
        ControlCall(
            name="wait",
            tool_kind="code_mode_wait",
            tool_input_kind="run_id",
            started_at_ms=1350,
            ended_at_ms=1400,
            status="completed",
            resumed=Resumption(restore_us=250),
            value={"type": "number", "bytes": 1},
        ),
    ),
)
SESSION = SessionTrajectory(version=1, agent="main", session="s", runs=(RUN, RUN))


@pytest.mark.parametrize("made", [RUN, SESSION], ids=["run", "session"])
def test_what_was_saved_is_what_is_loaded_each_time(
    made: Trajectory | SessionTrajectory, tmp_path: Path
) -> None:
    path = tmp_path / "run.json"
    made.save(path)
    assert load_trajectory(path) == made
    assert load_trajectory(path) == load_trajectory(path)
    assert read_trajectory(made.to_json()).to_dict() == made.to_dict() == json.loads(path.read_bytes())


def test_a_saved_file_is_for_its_owner_only_and_replaces_the_old_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("old")
    RUN.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    with pytest.raises(OSError, match="folder"):
        RUN.save(target)
    assert list(tmp_path.iterdir()) == [target]


def test_fields_of_a_later_release_are_left_out() -> None:
    later: dict[str, Any] = {**RUN.to_dict(), "mood": "good"}
    later["calls"][0]["calls"][0]["colour"] = "red"
    assert read_trajectory(json.dumps(later).encode()) == RUN


def changed(**fields: Any) -> dict[str, Any]:
    return RUN.to_dict() | fields


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"{" * 100_000,
        b'{"format": "codemode.trajectory"}',
        b'{"format": "codemode.trajectory", "version": 1}',
        RUN.to_json()[:-1],
        json.dumps(changed(version=2)).encode(),
        json.dumps(changed(version="1")).encode(),
        json.dumps(changed(format="other")).encode(),
        json.dumps(changed(status="jolly")).encode(),
        json.dumps(changed(calls={})).encode(),
        json.dumps({**SESSION.to_dict(), "runs": [changed(version=2)]}).encode(),
        b"\xff\xfe" + RUN.to_json(),
    ],
)
def test_anything_else_is_refused_with_one_error(data: bytes) -> None:
    with pytest.raises(TrajectoryRefused, match="no trajectory") as refused:
        read_trajectory(data)
    assert refused.value.code == "trajectory_refused"


def test_a_newer_version_says_which_one_it_is() -> None:
    with pytest.raises(TrajectoryRefused, match="version 7, and only 1 is known"):
        read_trajectory(json.dumps(changed(version=7)).encode())


def test_a_file_that_is_not_there_is_refused_the_same_way(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(TrajectoryRefused):
            load_trajectory(path)


@given(st.binary(max_size=400), st.integers(0, len(RUN.to_json())), st.integers(0, 40))
def test_damaged_bytes_load_or_are_refused(noise: bytes, at: int, cut: int) -> None:
    whole = RUN.to_json()
    for data in (noise, whole[:at] + noise + whole[at + cut :]):
        with suppress(TrajectoryRefused):
            read_trajectory(data).tree()
