"""Carries out waits, so that the run loses nothing when its caller is cancelled.

While the run only waits, the wait of a cancelled caller ends and the run is as it was. While a leg runs, the
leg moves to a task of its own (movable.py) and goes on there to its end or its next suspension; its result is
kept for the next wait.
"""

from __future__ import annotations

import asyncio
import contextvars
import time

from codemode_snapshots import RunScope

from codemode import clock
from codemode.contract.inputs import same_caller
from codemode.contract.results import CodeModeResult, Failed, with_duration
from codemode.runs.caller_task import finish_despite_cancel
from codemode.runs.kept_results import KeptResults
from codemode.runs.known_runs import KnownRuns
from codemode.runs.movable import Movable
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
            if isinstance(run, Failed):
                self._recorder.refused(run.code)
            return run
        run.carry(contextvars.copy_context())
        self._recorder.wait_started(run, tool_call)
        leg = Movable(self._lead(run), "codemode wait")
        run.expect_leg(leg)
        try:
            return await leg
        except asyncio.CancelledError:
            if leg.task is not None:
                await self._leave(run, leg.task)
            raise

    async def _lead(self, run: Run) -> CodeModeResult:
        began = time.perf_counter()
        result = self._recorder.leg_ended(run, await self._runs.lead(run, self._resumer.wait(run)))
        result = with_duration(result, clock.ms_since(began))
        if run.has_ended:
            result = await self._runs.conclude(run, result)
            if not run.is_lost:
                self._kept.put(run, result)
        return result

    async def _follow(self, run: Run, task: _Task) -> CodeModeResult:
        """Joins a leg that was left alone."""
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                await self._leave(run, task)
            raise

    async def _leave(self, run: Run, task: _Task) -> None:
        """The caller was cancelled: ends a wait that has not touched its run, and lets a leg go on."""
        if run.caller_task is not None and run.is_listening:
            run.caller_task.leave()
            await finish_despite_cancel(asyncio.wait([task]))
            self._recorder.wait_cancelled(run)
        else:
            self._leave_alone(run, task)

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
