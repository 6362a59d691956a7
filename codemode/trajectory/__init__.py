"""What happened in a run and in a session: recorded while it happens, kept, exported, loaded and printed."""

from codemode.trajectory.load import TrajectoryRefused, load_trajectory, read_trajectory
from codemode.trajectory.recording import Part, Recording, Redactor
from codemode.trajectory.shapes import (
    Approval,
    ControlCall,
    NestedCall,
    SessionTrajectory,
    Trajectory,
)
from codemode.trajectory.trace import Trace, TraceState

__all__ = [
    "Approval",
    "ControlCall",
    "NestedCall",
    "Part",
    "Recording",
    "Redactor",
    "SessionTrajectory",
    "Trace",
    "TraceState",
    "Trajectory",
    "TrajectoryRefused",
    "load_trajectory",
    "read_trajectory",
]
