"""Drives a run from start to end: exec, then wait as often as needed, and asks for approvals in between.

Every command that runs a program uses it. It joins the results of the single legs into one result with all of
the output.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from codemode.cli.terminal.approvals import open_approvals
from codemode.cli.terminal.interrupt import Interrupt
from codemode.cli.terminal.leg_watch import LegWatch, call_ids
from codemode.cli.terminal.live_tree import LiveTree
from codemode.cli.terminal.questions import TerminalQuestions
from codemode.cli.terminal.screen import Screen
from codemode.contract.results import CodeModeResult, Output, Waiting
from codemode.contract.scope import Scope
from codemode.engine import Engine
from codemode.executor import ApprovalRequest

_LOOK_SECONDS = 1.0  # how often to look whether another process ended a waiting run
_WITHOUT_EVENTS = ("timer", "yield")

Leg = Callable[[], Coroutine[Any, Any, CodeModeResult]]


class Driver:
    """Drives one run at a time, for `scope`. `run_id` is the last run's, if there was one."""

    def __init__(
        self,
        engine: Engine,
        screen: Screen,
        stop: Interrupt,
        questions: TerminalQuestions,
        scope: Scope,
        *,
        prints: bool = True,
        is_kept: bool = False,
    ) -> None:
        """`is_kept`: a waiting run outlives this process, so Ctrl-C may leave it."""
        self.run_id = ""
        self.engine = engine
        self._screen = screen
        self._stop = stop
        self._questions = questions
        self.scope = scope
        self._prints = prints
        self._is_kept = is_kept
        self._watch: LegWatch | None = None
        self._aborting: asyncio.Task[bool] | None = None
        self._is_aborted = asyncio.Event()

    async def exec(self, program: str, language: str, *, once: bool = False) -> CodeModeResult:
        self.run_id = ""
        return await self._follow(lambda: self.engine.exec(program, language, scope=self.scope), once)

    async def wait(self, run_id: str, *, once: bool = False) -> CodeModeResult:
        """First asks for approvals of a run that another process left: a wait would only wait for them."""
        self.run_id = run_id
        if self._questions.can_ask:
            await self._decide(run_id, await open_approvals(self.engine, run_id, self.scope))
        return await self._follow(lambda: self.engine.wait(run_id, scope=self.scope), once)

    async def _follow(self, leg: Leg, once: bool) -> CodeModeResult:
        """Returns when the run is over; with `once` when its first leg is; when it waits for an approval that
        no person can give here; or when the user leaves the run."""
        tree = LiveTree(self._screen)
        earlier: tuple[Output, ...] = ()
        self._stop.abort, self._stop.can_leave = self._abort, self._is_kept
        try:
            while True:
                watch = LegWatch(self.engine, self._screen, tree, self.scope, prints=self._prints)
                watch.run_id = self.run_id
                self._watch = watch
                async with watch:
                    result = await leg()
                    watch.end(result)
                    self.run_id = watch.run_id = _run_id(result) or watch.run_id
                    goes_on = (
                        isinstance(result, Waiting) and not once and await self._may_go_on(result, watch)
                    )
                    if not goes_on:
                        await watch.show_tree(is_over=True)
                        break
                earlier += result.output
                leg = self._wait_again
        finally:
            self._stop.abort, self._stop.can_leave = lambda: False, False
            if self._aborting is not None:
                await asyncio.gather(self._aborting, return_exceptions=True)
                self._aborting = None
                self._is_aborted.clear()
        return msgspec.structs.replace(result, output=(*earlier, *result.output)) if earlier else result

    async def _wait_again(self) -> CodeModeResult:
        return await self.engine.wait(self.run_id, scope=self.scope)

    async def _may_go_on(self, result: Waiting, watch: LegWatch) -> bool:
        """Decides in the pause between two legs, when the run is frozen and can be left without harm."""
        if self._stop.leaving.is_set():
            return False
        pending = result.pending_tool_calls
        asking = [call for call in pending if call.approval is not None]
        if asking and self._questions.can_ask:
            asked = await open_approvals(self.engine, result.run_id, self.scope)
            if not await self._while_staying(self._decide(result.run_id, asked)):
                return False
        elif len(asking) == len(pending):
            return not asking
        if any(call.method in _WITHOUT_EVENTS for call in pending):
            return True
        return await self._while_staying(self._news(result, watch))

    async def _decide(self, run_id: str, asked: Sequence[ApprovalRequest]) -> bool:
        """False if one approval was not answered."""
        for one in asked:
            answer = await self._questions.ask(one)
            if answer is None:
                return False
            decide = self.engine.approve if answer else self.engine.deny
            await decide(run_id, one.id, scope=self.scope)
        return True

    async def _news(self, result: Waiting, watch: LegWatch) -> bool:
        """True when a `wait` has something to do: a call has ended, or another process ended the run."""
        calls = call_ids(result.pending_tool_calls)
        while not await watch.has_news(calls, _LOOK_SECONDS):
            known = await self.engine.runs(self.scope.session)
            if all(run.run_id != result.run_id for run in known):
                return True
        return True

    async def _while_staying(self, work: Coroutine[Any, Any, bool]) -> bool:
        """False as soon as the user leaves the run. True for an aborted run: a wait gives its result."""
        doing = asyncio.create_task(work)
        leaving = asyncio.create_task(self._stop.leaving.wait())
        aborted = asyncio.create_task(self._is_aborted.wait())
        tasks = (doing, leaving, aborted)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return aborted.done() or (doing.done() and doing.result())
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _abort(self) -> bool:
        """Aborts once; the leg then gives an `aborted` result. A further Ctrl-C asks for more than that."""
        run_id = self._watch.run_id if self._watch is not None else ""
        if not run_id or self._aborting is not None:
            return False
        self._aborting = asyncio.create_task(self.engine.abort(run_id, scope=self.scope))
        self._aborting.add_done_callback(lambda _: self._is_aborted.set())
        return True


def _run_id(result: CodeModeResult) -> str:
    return result.run_id if isinstance(result, Waiting) else ""
