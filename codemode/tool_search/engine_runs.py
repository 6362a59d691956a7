"""How Tool Search has the engine do its work: a run for each call of the model, ended with the engine's own.

The one place that knows the engine's inner parts. A run here is one call of a tool or one program; it is
never suspended, and what it did is in its ledger.
"""

from __future__ import annotations

import contextvars
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from msgspec import Raw

from codemode.config.tool_search import ToolSearchConfig
from codemode.contract import events
from codemode.contract.inputs import InputRefused, read_exec, read_scope
from codemode.contract.results import CodeModeResult, Completed, failed
from codemode.contract.telemetry import CallMethod
from codemode.executor import CallFailed, CallOk, CallResult
from codemode.policy import Resolution
from codemode.runs.admission import Admission, Outer
from codemode.runs.known_runs import KnownRuns
from codemode.runs.leg import Services
from codemode.runs.meter import RunMeter, Tally
from codemode.runs.run import Run, RunState, new_run_id, wall_ms
from codemode.tool_search.catalog import SearchCatalog, SearchExecutor
from codemode.tool_search.programs import BridgeWork, OneShotLeg, program_config, program_environment
from codemode.tools import CallContext, Tool
from codemode.workers.errors import QueueFull, SupervisorError

if TYPE_CHECKING:
    from codemode.engine import Engine

_PROGRAM = Outer("tool_search_code", "tool_search_code")
_CALL_ID = "1"  # a run has one call


@dataclass(frozen=True, slots=True)
class Caller:
    """For whom a run's calls are made. `tools` gives the run's own as they are now."""

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
    """One call: what is called, as it goes into the ledger, and how."""

    tool: Tool | None
    name: str
    method: CallMethod
    bytes_in: int
    work: Callable[[], Awaitable[CallResult]]


class SearchRuns:
    """Of one engine."""

    def __init__(
        self,
        engine: Engine,
        admission: Admission,
        services: Services,
        runs: KnownRuns,
        tally: Tally,
    ) -> None:
        self.engine = engine
        self.admission = admission
        self._services = services
        self._runs = runs
        self._tally = tally
        self._is_proven = False

    async def resolve(self, who: Caller) -> Resolution:
        """The live list under the policy, asked anew."""
        await self.admission.prepare()
        return self.admission.effective(who.tools(), who.agent, who.provider, who.model, who.allow)

    async def why_no_runtime(self) -> str | None:
        """None if programs can run isolated; a worker is started to know it, until one has been."""
        if self._is_proven:
            return None
        try:
            (await self._services.supervisor.lease(session="-tool-search")).release()
        except QueueFull:  # so there are workers
            return None
        except SupervisorError as error:
            return str(error)
        self._is_proven = True
        return None

    def new_run(self, who: Caller, catalog: SearchCatalog, call_id: str, context: CallContext | None) -> Run:
        scope = read_scope(who.agent, who.session, who.agent_run, call_id or "-")
        executor = self.admission.executor(catalog, SearchExecutor)
        run = Run(new_run_id(), scope, program_environment(catalog, executor), RunMeter(self._tally))
        run.host_context, run.variables = context or who.context, contextvars.copy_context()
        run.provider, run.model, run.allow = who.provider, who.model, who.allow
        return run

    async def execute(self, run: Run, order: CallSpec) -> CallResult:
        """One structured call; the run's ledger has it whatever becomes of it."""
        if self._runs.is_closed:
            return CallFailed("aborted", "Aborted", "The engine is closed.")
        found: list[CallResult] = []

        async def leg() -> CodeModeResult:
            result = await self._metered(run, order)
            found.append(result)
            meter = run.require_meter()
            if isinstance(result, CallFailed):
                run.move(RunState.FAILED)
                meter.end_leg("nested_tool_failed")
                return failed("nested_tool_failed", result.message)
            run.move(RunState.COMPLETED)
            meter.end_leg("completed" if isinstance(result, CallOk) else "waiting")
            return Completed(Raw(b"null"), (), meter.telemetry())

        self._runs.add(run)
        ended = await self._runs.lead(run, leg())
        if found:
            return found[0]
        run.require_meter().abort_pending()
        is_aborted = ended.to_dict().get("code") == "aborted"
        if is_aborted:
            return CallFailed(
                "aborted", "Aborted", f"The call was cancelled: {run.aborted or 'its caller is gone'}."
            )
        return CallFailed("tool_error", "InternalError", "the call failed inside the engine")

    async def _metered(self, run: Run, order: CallSpec) -> CallResult:
        meter, hub = run.require_meter(), self._services.hub
        tool_id = "" if order.tool is None else order.tool.id
        meter.start_call(
            _CALL_ID, tool=tool_id, name=order.name, method=order.method, bytes_in=order.bytes_in
        )
        call = {"call_id": _CALL_ID, "tool": tool_id, "name": order.name}
        if hub.has_listeners:
            hub.publish(events.CallStarted(run_id=run.id, at_ms=wall_ms(), method=order.method, **call))
        began = time.perf_counter()
        result = await order.work()
        ms = (time.perf_counter() - began) * 1000
        meter.finish_call(_CALL_ID, result.status, ms, len(result.json) if isinstance(result, CallOk) else 0)
        if hub.has_listeners:
            hub.publish(
                events.CallFinished(run_id=run.id, at_ms=wall_ms(), status=result.status, ms=ms, **call)
            )
        return result

    async def run_program(
        self, run: Run, text: str, config: ToolSearchConfig, tell: Callable[[tuple[str, ...]], None]
    ) -> CodeModeResult:
        """From start to end, or to the deadline; whatever then still runs is cancelled and joined."""
        if self._runs.is_closed:
            return failed("aborted", "The engine is closed.")
        limits = program_config(self._services.config, config)
        try:
            program = await self.admission.ask_hooks(
                run, read_exec(text, "javascript", limits), _PROGRAM, limits
            )
        except InputRefused as refused:
            return failed(refused.code, str(refused))
        run.program, run.language = program.program, program.language
        run.require_meter().record_surface((_PROGRAM.tool,), run.environment.facts, 0)
        services = replace(self._services, config=limits, work=BridgeWork(limits, self._services, tell))
        self._runs.add(run)
        services.hub.tell_start(
            run.id, run.scope.session, run.language, run.scope.tool_call.removeprefix("-")
        )
        result = await self._runs.lead(run, OneShotLeg(services, run, limits.timeout_ms).start())
        if result.to_dict().get("code") == "runtime_unavailable":
            self._is_proven = False  # the next run looks for itself
        return await self.admission.tell_hooks(run, program, result, _PROGRAM)
