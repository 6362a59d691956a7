"""Reads an exported trajectory. One exception for everything that is not one; nothing in it is ever run."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from codemode.trajectory.shapes import VERSION, SessionTrajectory, Trajectory

_MAX_BYTES = 64 << 20


class TrajectoryRefused(Exception):
    """The bytes are not a trajectory that this version knows. Nothing of them was used."""

    code = "trajectory_refused"

    def __init__(self, why: str) -> None:
        super().__init__(f"This is no trajectory that can be read: {why}.")


class _Head(msgspec.Struct):
    format: str
    version: int


@cache
def _decoder() -> msgspec.json.Decoder[Trajectory | SessionTrajectory]:
    """Made when it is first used: that takes long, and few hosts read trajectories."""
    return msgspec.json.Decoder(Trajectory | SessionTrajectory)


def load_trajectory(path: str | Path) -> Trajectory | SessionTrajectory:
    """Raises TrajectoryRefused, for a file that cannot be read too."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise TrajectoryRefused(f"the file cannot be opened ({type(error).__name__})") from error
    return read_trajectory(data)


def read_trajectory(data: bytes) -> Trajectory | SessionTrajectory:
    """Drops fields that this version does not know; refuses another version. Raises TrajectoryRefused."""
    if len(data) > _MAX_BYTES:
        raise TrajectoryRefused(f"it has more than {_MAX_BYTES} bytes")
    try:
        head = msgspec.json.decode(data, type=_Head)
        if head.version != VERSION:
            raise TrajectoryRefused(f"it has version {head.version}, and only {VERSION} is known")
        found = _decoder().decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise TrajectoryRefused(str(error)[:200] or type(error).__name__) from error
    runs = found.runs if isinstance(found, SessionTrajectory) else ()
    if any(run.version != VERSION for run in runs):
        raise TrajectoryRefused("one of its runs has another version")
    return found
