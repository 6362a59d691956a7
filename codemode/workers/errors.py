"""Errors between the host and its workers. A class says which side is at fault, and has a code."""

from __future__ import annotations

import signal


class SupervisorError(Exception):
    """Base of these errors. Only the leg that got the error is over; the supervisor goes on."""

    code = "internal_error"


class RuntimeUnavailable(SupervisorError):
    """No worker can be started: no image, or no confinement where it is required. A new lease tries again."""

    code = "runtime_unavailable"


class WorkerLost(SupervisorError):
    """The worker's process ended in the middle of a leg. Its guest is gone; the next leg gets another."""

    def __init__(self, status: int | None) -> None:
        self.status = status
        super().__init__(f"the worker {_describe(status)} during the run")


class ProtocolViolation(SupervisorError):
    """The worker broke the protocol. The host killed it and uses nothing of what it said."""


class QueueFull(SupervisorError):
    """The queue for workers has reached its limit. Nothing was started; try later."""

    code = "runtime_unavailable"

    def __init__(self, limit: int, whose: str = "") -> None:
        runs = f"runs {whose}" if whose else "runs"
        super().__init__(f"{limit} {runs} are already waiting for a worker; try again later")


class Aborted(SupervisorError):
    """The caller cancelled the leg, or the supervisor closed. The worker was killed."""

    code = "aborted"


def _describe(status: int | None) -> str:
    if status is None:
        return "was lost"
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
