"""Carries out each exec: from what a caller gave to the result, by way of a run and its first leg."""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from codemode_snapshots import NO_VALUE, Claim, RunScope
from msgspec.structs import replace

from codemode import clock
from codemode.contract.error_codes import ErrorCode
from codemode.contract.explained import Explained
from codemode.contract.inputs import InputRefused, read_caller, read_exec
from codemode.contract.notes import with_notes
from codemode.contract.results import CodeModeResult, Failed, failed, with_duration
from codemode.contract.scope import UNSAID, Scope
from codemode.plugins import Offering
from codemode.policy import read_allow
from codemode.runs.admission import Admission
from codemode.runs.caller_task import finish_despite_cancel
from codemode.runs.draining import Draining
from codemode.runs.kept_results import KeptResults
from codemode.runs.known_runs import KnownRuns
from codemode.runs.leg import Leg, Services
from codemode.runs.opening import Start
from codemode.runs.phases import NO_CONTEXT, Origin
from codemode.runs.requests import Requests
from codemode.runs.run import Run
from codemode.tools import CallContext, Tool, as_tools


class AskedRun(NamedTuple):
    """Who wants a run, and with what; `offer` is that of a prepared run, which keeps what it had."""

    scope: Scope | None = None
    agent: str = UNSAID.agent
    session: str = UNSAID.session
    agent_run: str = UNSAID.agent_run
    tool_call: str = NO_VALUE
    tools: Iterable[Any] = ()
    allow: Sequence[str] | None = None
    provider: str | None = None
    model: str | None = None
    context: CallContext | None = None
    offer: Offering | None = None
    request_id: str | None = None


class Execs:
    """Carries out execs; one per engine. `unready` says why nothing can run, or None."""

    def __init__(
        self,
        services: Services,
        admission: Admission,
        runs: KnownRuns,
        kept: KeptResults,
        unready: Callable[[], Failed | None],
        draining: Draining,
    ) -> None:
        self._config = services.config
        self._services = services
        self._recorder = services.recorder
        self._admission = admission
        self._runs = runs
        self._kept = kept
        self._unready = unready
        self._draining = draining
        self._requests = Requests(services)

    async def exec(
        self, given: str | Mapping[str, Any], language: str | None, asked: AskedRun
    ) -> CodeModeResult:
        began = time.perf_counter()
        try:
            caller = read_caller(asked.scope, asked.agent, asked.session, asked.agent_run, asked.tool_call)
            program = read_exec(given, language, self._config)
        except InputRefused as refused:
            return self.refuse(refused.code, str(refused))
        if (unready := self._unready() or self._draining.refusal()) is not None:
            return unready
        own, allowed = tuple(as_tools(asked.tools)) if asked.tools else (), read_allow(asked.allow)
        await self._admission.prepare()
        await self._services.work.kept_shapes.read(caller.agent)
        claim: Claim | None = None
        try:
            if asked.request_id is not None:
                reserved = await self._requests.reserve(caller, program, asked.request_id)
                if not isinstance(reserved, Claim):
                    return self.noted(reserved)
                claim = reserved
            run = self._new_run(caller, asked, own, allowed, "" if claim is None else claim.run_id)
            program = await self._admission.ask_hooks(run, program)
            unready = self._unready()  # the engine may have been closed meanwhile
        except BaseException as error:  # also a caller who is cancelled: nothing was begun
            await self._forget(claim)
            if isinstance(error, InputRefused):
                return self.refuse(error.code, str(error))
            raise
        if unready is not None:
            await self._forget(claim)
            return unready
        if claim is not None:
            run.reserve(claim)
        run.set_program(program.program, program.language)
        self._runs.add(run)
        changed = self._admission.changed_for(caller.agent, caller.session)
        self._services.exports.begin(run, clock.wall_ms())
        self._recorder.exec_started(run, "" if asked.tool_call == NO_VALUE else asked.tool_call)
        result = self._recorder.leg_ended(run, await self._runs.lead(run, self._first_leg(run)))
        result = with_duration(result, clock.ms_since(began))
        if changed is not None:
            result = replace(result, notes=(changed, *result.notes))
        result = self.noted(result)
        if run.has_ended:
            result = await self._runs.conclude(run, result)
            if not run.is_lost:
                self._kept.put(run, result)
        return await self._admission.tell_hooks(run, program, result)

    def _new_run(
        self,
        caller: RunScope,
        asked: AskedRun,
        own: tuple[Tool, ...],
        allowed: tuple[str, ...] | None,
        run_id: str,
    ) -> Run:
        """Raises InputRefused."""
        offer, (provider, model, context) = asked.offer or self._admission.offer, asked[7:10]
        environment = self._admission.environment(own, caller.agent, provider, model, allowed, context, offer)
        told, variables = context or NO_CONTEXT, contextvars.copy_context()
        origin = Origin(provider, model, allowed, own, told, variables)
        run = Run.started(caller, environment, origin, self._recorder.tally, run_id)
        self._admission.add_namespaces(run, offer)
        return run

    async def _forget(self, claim: Claim | None) -> None:
        """The request can be sent again."""
        if claim is not None:
            await finish_despite_cancel(self._requests.forget(claim))

    async def _first_leg(self, run: Run) -> CodeModeResult:
        leg, start, worlds = Leg(self._services, run), Start(self._config.timeout_ms), self._services.worlds
        if not worlds.is_on:
            return await leg.lead(start)
        world = await worlds.enter(run.scope)
        if isinstance(world, Explained):
            return await leg.fail(world)
        run.active.enter_world(world)
        try:
            return await leg.lead(start)
        finally:
            await finish_despite_cancel(worlds.leave(run.scope, world))

    def noted(self, result: CodeModeResult) -> CodeModeResult:
        return with_notes(result, self._config.max_output_bytes)

    def refuse(self, code: ErrorCode, text: str) -> Failed:
        """The result of an exec or a wait that has no run."""
        self._recorder.refused(code)
        return failed(code, text)
