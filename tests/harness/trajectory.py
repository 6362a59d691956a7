"""Looking at trajectories in tests."""

from __future__ import annotations

from typing import Any

from codemode import Engine
from codemode.trajectory import NestedCall, Trajectory


async def seen(made: Engine, run_id: str, **scope: Any) -> Trajectory:
    found = await made.trajectory(run_id, **scope)
    assert found is not None
    return found


async def only_run(made: Engine, session: str = "default") -> Trajectory:
    found = await made.session_trajectory(session)
    assert found is not None
    (one,) = found.runs
    return one


def outline(trajectory: Trajectory) -> list[Any]:
    """The transcript in short: each control call and what began under it."""
    return [
        (call.name, call.status, [(nested.name, nested.status) for nested in call.calls])
        for call in trajectory.calls
    ]


def nested_in(trajectory: Trajectory) -> list[NestedCall]:
    return [nested for call in trajectory.calls for nested in call.calls]
