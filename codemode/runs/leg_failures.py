"""Why a leg failed for reasons outside its program, in words for the caller. Pure."""

from __future__ import annotations

from codemode_snapshots import NotHeld, SnapshotError, StoreFull

from codemode.contract.error_codes import ErrorCode
from codemode.contract.explained import Explained
from codemode.workers.errors import Aborted, SupervisorError


def explain_worker(error: SupervisorError) -> Explained:
    """For a leg that got no worker, or lost it in the middle."""
    if isinstance(error, Aborted):
        return Explained("aborted", f"The run was cancelled: {error}.")
    code: ErrorCode = "runtime_unavailable" if error.code == "runtime_unavailable" else "internal_error"
    return Explained(code, f"{error}.")


def explain_unstored(error: SnapshotError, max_bytes: int) -> Explained:
    """For a run that could not be suspended."""
    match error:
        case StoreFull(limit="snapshot_bytes"):
            return too_large(error.wanted, max_bytes)
        case StoreFull():
            return Explained("snapshot_limit_exceeded", f"There is no room to suspend the run: {error}")
        case NotHeld():
            return Explained("aborted", "The run was cancelled by another engine.")
        case _:
            return Explained("internal_error", f"The run could not be stored: {error}")


def too_large(size: int, max_bytes: int) -> Explained:
    text = f"Suspended here, the program would need {size} bytes; a snapshot may have {max_bytes}."
    return Explained("snapshot_limit_exceeded", text + " Hold less data across slow calls.")


def too_many_calls(limit: int) -> Explained:
    return Explained(
        "too_many_pending_tool_calls",
        f"The program made more than {limit:,} tool calls in all (maxToolCalls). None of the last batch was "
        "started. Ask for more at once, or split the work over several programs.",
    )
