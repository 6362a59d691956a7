"""Has the engine do Tool Search's work: one run for each call of the model, ended with the engine's own runs.

Only this module of Tool Search knows the engine's inner parts. A run here is one call of a tool or one
program; it is never suspended, and its ledger tells what it did.
"""

from __future__ import annotations

import contextvars
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec
from codemode_runtime.shapes import Settlement
from codemode_snapshots.label import NO_VALUE, value_given
from msgspec import Raw

from codemode import clock
from codemode.config import ToolSearchConfig
from codemode.contract.inputs import InputRefused, read_exec, read_scope
from codemode.contract.results import CodeModeResult, Completed, failed
from codemode.contract.telemetry import CallMethod
from codemode.executor import CallFailed, CallOk, CallResult, NeedsApproval
from codemode.policy import Resolution
from codemode.runs.admission import Admission
from codemode.runs.arguments import small_arguments
from codemode.runs.known_runs import KnownRuns
from codemode.runs.leg import Leg, Services
from codemode.runs.opening import Start
from codemode.runs.phases import NO_CONTEXT, Origin, RunState
from codemode.runs.program_rules import Outer
from codemode.runs.run import Run
from codemode.runs.work import Work
from codemode.tool_search.catalog import SearchCatalog
from codemode.tool_search.programs import ONE_SHOT, bridge_work, program_config, program_environment
from codemode.tools import CallContext, Tool
from codemode.workers.errors import QueueFull, SupervisorError

if TYPE_CHECKING:
    from codemode.engine import Engine

_PROGRAM = Outer("tool_search_code", "tool_search_code")
_CALL_ID = 1  # a run has one call


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a run's calls. `tools` returns the run's own tools as they are now."""

    session: str
    agent: str
    agent_run: str
    provider: str | None
    model: str | None
    allow: tuple[str, ...] | None
    context: CallContext | None
    tools: Callable[[], tuple[Tool, ...]]


@dataclass(frozen=True, slots=True)
class CallSpec:
    """One call: what the ledger says of it, and the work to do."""

    tool: Tool | None
    name: str
    method: CallMethod
    given: bytes  # the arguments as JSON
    work: Callable[[], Awaitable[CallResult]]


class SearchRuns:
    """Makes and leads the runs of Tool Search; one per engine."""

    def __init__(
        self,
        engine: Engine,
        admission: Admission,
        services: Services,
        runs: KnownRuns,
    ) -> None:
        self.engine = engine
        self.admission = admission
        self.searches = services.work.searches
        self._services = services
        self._runs = runs
        self._recorder = services.recorder
        self._is_proven = False

    async def resolve(self, who: Caller, context: CallContext | None = None) -> Resolution:
        """Applies the policy to the tools as they are now; `context` is the call's own."""
        await self.admission.prepare()
        about = _completed(context, who.context)
        return self.admission.effective(who.tools(), who.agent, who.provider, who.model, who.allow, about)

    async def why_no_runtime(self) -> str | None:
        """None if programs can run isolated. Leases a worker to find out, until that has worked once."""
        if self._is_proven:
            return None
        try:
            (await self._services.supervisor.lease(session="-tool-search")).release()
        except QueueFull:  # a full queue proves that there are workers
            return None
        except SupervisorError as error:
            return str(error)
        self._is_proven = True
        return None

    def new_run(self, who: Caller, catalog: SearchCatalog, call_id: str, context: CallContext | None) -> Run:
        scope = read_scope(who.agent, who.session, who.agent_run, call_id or NO_VALUE)
        environment = program_environment(catalog, self.admission.executor(catalog, catalog.unknown))
        caller, variables = context or who.context or NO_CONTEXT, contextvars.copy_context()
        origin = Origin(who.provider, who.model, who.allow, (), caller, variables)
        return Run.started(scope, environment, origin, self._recorder.tally)

    async def execute(self, run: Run, spec: CallSpec) -> CallResult:
        """Makes one structured call; the run's ledger has it, whatever its outcome."""
        if self._runs.is_closed:
            return CallFailed("aborted", "Aborted", "The engine is closed.")
        found: list[CallResult] = []

        async def leg() -> CodeModeResult:
            result = await self._recorded(run, spec)
            found.append(result)
            meter = run.active.meter
            if isinstance(result, CallFailed):
                run.end(RunState.FAILED)
                meter.end_leg("nested_tool_failed")
                return failed("nested_tool_failed", result.message)
            run.end(RunState.COMPLETED)
            meter.end_leg("completed" if isinstance(result, CallOk) else "waiting")
            return Completed(Raw(b"null"), (), meter.telemetry())

        self._runs.add(run)
        ended = await self._runs.lead(run, leg())
        if found:
            return found[0]
        run.active.meter.abort_pending()
        is_aborted = ended.to_dict().get("code") == "aborted"
        if is_aborted:
            return CallFailed(
                "aborted", "Aborted", f"The call was cancelled: {run.stop_reason or 'its caller is gone'}."
            )
        return CallFailed("tool_error", "InternalError", "the call failed inside the engine")

    async def _recorded(self, run: Run, spec: CallSpec) -> CallResult:
        tool_id = "" if spec.tool is None else spec.tool.id
        work = Work(_CALL_ID, spec.method, clock.wall_ms(), tool=tool_id, name=spec.name, args=spec.given)
        arguments = small_arguments(work.args)
        self._recorder.call_started(run, work, [] if isinstance(arguments, CallFailed) else arguments)
        result = await spec.work()
        data = b"" if isinstance(result, NeedsApproval) else result.json
        meta = None if isinstance(result, NeedsApproval) else result.meta
        settlement = Settlement(_CALL_ID, data, isinstance(result, CallFailed))
        self._recorder.call_finished(run, work, result.status, settlement, meta)
        return result

    async def run_program(
        self, run: Run, text: str, config: ToolSearchConfig, tell: Callable[[tuple[str, ...]], None]
    ) -> CodeModeResult:
        """Runs a program to its end or the deadline; calls that still run then are cancelled and joined."""
        if self._runs.is_closed:
            return failed("aborted", "The engine is closed.")
        limits = program_config(self._services.config, config)
        try:
            program = await self.admission.ask_hooks(
                run, read_exec(text, "javascript", limits), _PROGRAM, limits
            )
        except InputRefused as refused:
            return failed(refused.code, str(refused))
        run.set_program(program.program, program.language)
        self._runs.add(run)
        self._recorder.search_program_started(run, _PROGRAM.tool, value_given(run.scope.tool_call))
        services = msgspec.structs.replace(
            self._services, config=limits, work=bridge_work(limits, self._services, tell)
        )
        leg = Leg(services, run, ONE_SHOT).lead(Start(limits.timeout_ms))
        result = await self._runs.lead(run, leg)
        if result.to_dict().get("code") == "runtime_unavailable":
            self._is_proven = False  # the next run finds out again
        return await self.admission.tell_hooks(run, program, result, _PROGRAM)


def _completed(context: CallContext | None, prepared: CallContext | None) -> CallContext | None:
    """A call's own context; what it does not say is as the run was prepared, so that it leads nowhere out."""
    if context is None or prepared is None:
        return context or prepared
    return replace(
        context,
        channel=context.channel or prepared.channel,
        sender=context.sender or prepared.sender,
        sandbox=context.sandbox or prepared.sandbox,
    )
