"""What a program gets of a call that has run: its result, or why that cannot be kept for it."""

from __future__ import annotations

from codemode.config import CodeModeConfig
from codemode.executor import CallFailed, CallOk
from codemode.gate.pending import PendingBytes
from codemode.runs.phases import RunState
from codemode.runs.run import Run
from codemode.runs.work import Work


def delivered_of(
    run: Run,
    work: Work,
    result: CallOk | CallFailed,
    refusal: str | None,
    config: CodeModeConfig,
    everybody: PendingBytes,
) -> CallOk | CallFailed:
    """The same result, or a failure in its place. `refusal`: why its JSON cannot pass to a guest.

    Keeps the content that the result has handles of, with the run.
    """
    if refusal is not None:
        return CallFailed("tool_error", "ToolError", f"the tool's result is {refusal}")
    has_run = f"{work.name} has run, but its"
    if run.is_suspended and (full := run.in_flight.keep_result(work.id, len(result.json))) is not None:
        told = f"{has_run} result could not be kept until the program went on: {full}"
        return CallFailed("tool_error", "ResultNotKept", told)
    if isinstance(result, CallOk) and result.contents is not None:
        limit, session = config.max_content_bytes, run.scope.session
        full = run.contents.keep(result.contents, limit, run.in_flight, everybody, session)
        if full is not None:
            told = f"{has_run} images and files could not be kept: {full}"
            return CallFailed("tool_error", "ContentTooLarge", told)
        if work.id in run.in_flight.takes and run.state is not RunState.RUNNING:
            run.contents.note_unstored(work.id, result.contents)
    return result
