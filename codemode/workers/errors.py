"""What can go wrong between the host and its workers. One class per whose fault it is, each with its code."""

from __future__ import annotations

import signal


class SupervisorError(Exception):
    """Base of these errors. The supervisor goes on; only the leg that got the error is over."""

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
    """The worker said something it must not say. It was killed, and nothing of what it said is used."""


class QueueFull(SupervisorError):
    """As many legs are waiting for a worker as may wait. Nothing was started; try later."""

    code = "runtime_unavailable"

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} runs are already waiting for a worker; try again later")


class Aborted(SupervisorError):
    """The caller or the supervisor's end cancelled the leg. The worker was killed."""

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
