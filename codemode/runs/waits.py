"""Leads each wait in a task of its own, so that the run loses nothing when its caller is cancelled.

While the run only waits, the wait of a cancelled caller ends and the run is as it was. While a leg runs, the
leg goes on to its end or its next suspension, and its result is kept for the next wait.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

from codemode_snapshots import RunScope

from codemode.contract.inputs import same_caller
from codemode.contract.results import CodeModeResult
from codemode.runs.caller_task import finish_despite_cancel
from codemode.runs.kept_results import KeptResults
from codemode.runs.known_runs import KnownRuns
from codemode.runs.recorder import Recorder
from codemode.runs.resume import Resumer
from codemode.runs.run import Run
from codemode.tools import Tool

_Task = asyncio.Task[CodeModeResult]


class Waits:
    """Carries out waits; one per engine."""

    def __init__(self, runs: KnownRuns, resumer: Resumer, recorder: Recorder, kept: KeptResults) -> None:
        self._runs = runs
        self._resumer = resumer
        self._recorder = recorder
        self._kept = kept
        self._left_alone: dict[str, tuple[Run, _Task]] = {}  # legs whose caller was cancelled

    async def wait(
        self, run_id: str, caller: RunScope, tool_call: str, own: tuple[Tool, ...]
    ) -> CodeModeResult:
        """Resumes a run, or returns a kept result. Raises InputRefused."""
        alone = self._left_alone.get(run_id)
        if alone is not None and same_caller(alone[0].scope, caller):
            del self._left_alone[run_id]
            return await self._follow(*alone)
        kept = self._kept.get(run_id, caller)
        if kept is not None:
            return kept
        run = await self._runs.find(run_id, caller, own)
        if not isinstance(run, Run):
            self._recorder.refused(run.code)
            return run
        self._recorder.wait_started(run, tool_call)
        task = _start(self._lead(run))
        if not task.done():
            run.expect_leg(task)
        return await self._follow(run, task)

    async def _lead(self, run: Run) -> CodeModeResult:
        result = self._recorder.leg_ended(run, await self._runs.lead(run, self._resumer.wait(run)))
        if run.has_ended:
            self._kept.put(run, result)
        return result

    async def _follow(self, run: Run, task: _Task) -> CodeModeResult:
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.done():
                raise
            if run.caller_task is not None and run.is_listening:
                run.caller_task.leave()
                await finish_despite_cancel(asyncio.wait([task]))
                self._recorder.wait_cancelled(run)
            else:
                self._leave_alone(run, task)
            raise

    def _leave_alone(self, run: Run, task: _Task) -> None:
        """The leg goes on. What comes of it is for the next wait."""
        self._left_alone[run.id] = (run, task)
        if run.caller_task is not None:
            run.caller_task.is_alone = True

        def ended(_: _Task) -> None:
            if self._left_alone.pop(run.id, None) is None:
                return  # another caller has joined it
            result = None if task.cancelled() or task.exception() is not None else task.result()
            if result is not None and result.output and not run.has_ended:
                self._kept.put(run, result)  # suspended again, with output that no caller has seen

        task.add_done_callback(ended)


def _start(work: Coroutine[Any, Any, CodeModeResult]) -> _Task:
    """Starts the task at once if Python can (3.12): a queued task costs a quick wait two turns."""
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=asyncio.get_running_loop(), name="codemode wait", eager_start=True)
    return asyncio.create_task(work, name="codemode wait")
