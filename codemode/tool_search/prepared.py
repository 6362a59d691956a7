"""One run of an agent with Tool Search: what its model sees, and the one entry for all its calls.

Each call lists the tools and applies the policy again: what was shown or found before counts for nothing. A
real tool runs under its own name through the executor of ordinary turns, whichever control the model used;
hooks, approvals, logs and audit never see `tool_call`.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from msgspec.structs import replace

from codemode import clock
from codemode.config import SearchMode, ToolSearchConfig
from codemode.contract.inputs import InputRefused
from codemode.executor import CallFailed, Decision
from codemode.tool_search import answers
from codemode.tool_search.answers import Answer
from codemode.tool_search.calls import CallDeps, LiveTools, SearchCall
from codemode.tool_search.catalog import SearchCatalog, openclaw_expression, tool_call_expression
from codemode.tool_search.controls import CONTROLS, control_tools
from codemode.tool_search.engine_runs import Caller, SearchRuns
from codemode.tool_search.gate import GateVerdict, Split, expose, split_tools
from codemode.tool_search.repair import read_object
from codemode.tool_search.telemetry import SearchMeter, SearchTelemetry
from codemode.tools import CallContext, Tool, ToolFunction

_MAX_ASKED = 1_000  # undecided approvals; beyond that the oldest is dropped


class SearchSurface(NamedTuple):
    """What `prepare` found out: the tools shown as they are, and all that the policy left."""

    shown: tuple[Tool, ...]
    effective: tuple[Tool, ...]
    decision: GateVerdict
    directory: str = ""
    warnings: tuple[str, ...] = ()
    likely: tuple[Tool, ...] = ()  # of the directory, shown with their schemas


class PreparedSearch:
    """`ToolSearch.prepare` makes it. `visible`: the model's whole tool list; `directory`: for its prompt."""

    def __init__(
        self, runs: SearchRuns, config: ToolSearchConfig, who: Caller, surface: SearchSurface
    ) -> None:
        mode = surface.decision.mode
        controls = () if mode is None else control_tools(mode, config.code_timeout_ms, self._run_of)
        # what may change from turn to turn comes last, for the sake of prompt caches
        self.visible: tuple[Tool, ...] = (*surface.shown, *controls, *surface.likely)
        self.decision = surface.decision
        self.directory = surface.directory
        self.warnings = surface.warnings
        self._direct_exposure = expose(surface.effective)
        self._shown_exposure = expose(self.visible, self.directory)
        self._deps = CallDeps(runs, config, who, mode, SearchMeter(), {})
        self._kept: tuple[tuple[Tool, ...], LiveTools] | None = None

    @property
    def mode(self) -> SearchMode | None:
        """None if the tools are shown as they are, or code mode is active."""
        return self.decision.mode

    async def call(
        self, name: str, arguments: Any = None, *, call_id: str = "", context: CallContext | None = None
    ) -> Answer:
        """Carries out a call of the model: of a tool it sees, a control, or a name from the directory.

        `arguments` may be an object or its JSON, as the host has it. Every outcome is an answer.
        """
        began = time.perf_counter()
        answer = await self._call(name, arguments, call_id, context)
        return self._noted(answer, began)

    async def _call(self, name: str, arguments: Any, call_id: str, context: CallContext | None) -> Answer:
        if self.decision.why == "code_mode":
            return await self._by_code_mode(name, arguments, call_id)
        try:
            call = SearchCall(self._deps, await self._live(context), name, call_id, context)
        except InputRefused as refused:  # a call id that no scope takes
            told = CallFailed("invalid_arguments", "InvalidArguments", str(refused))
            return answers.of_call(name, told, None, ())
        is_control = self.mode is not None and name in CONTROLS[self.mode]
        answer = await (call.control(arguments) if is_control else call.tool(arguments))
        while len(self._deps.asked) > _MAX_ASKED:
            del self._deps.asked[next(iter(self._deps.asked))]
        return answer

    async def approve(self, approval_id: str) -> Answer | None:
        """Runs the call that waits for this approval and returns its answer. None if no call waits for it."""
        return await self._decide(approval_id, Decision(True))

    async def deny(self, approval_id: str, reason: str = "") -> Answer | None:
        return await self._decide(approval_id, Decision(False, reason))

    async def catalog(self) -> SearchCatalog:
        """The tools that the controls can find and call now."""
        return (await self._live()).deferred

    async def telemetry(self) -> SearchTelemetry:
        found = await self.catalog()
        return self._deps.meter.read(
            self.decision, self._direct_exposure, self._shown_exposure, len(found), found.by_source()
        )

    async def _decide(self, approval_id: str, decision: Decision) -> Answer | None:
        asked = self._deps.asked.pop(approval_id, None)
        if asked is None:
            return None
        live = await self._live(asked.request.context)
        call = SearchCall(self._deps, live, asked.called, asked.request.call_id, None)
        began = time.perf_counter()
        return self._noted(await call.resume(asked, decision), began)

    async def _live(self, context: CallContext | None = None) -> LiveTools:
        tools = (await self._deps.runs.resolve(self._deps.who, context)).tools
        if self._kept is None or self._kept[0] != tools:  # compared by identity, tool by tool
            split = Split(tools, ()) if self.mode is None else split_tools(tools, self._deps.config)
            self._kept = (tools, self._catalogs(split))
        return self._kept[1]

    def _catalogs(self, split: Split) -> LiveTools:
        ready = openclaw_expression if self.mode == "code" else tool_call_expression
        return LiveTools(SearchCatalog(split.direct), SearchCatalog(split.deferred, split.direct, ready))

    async def _by_code_mode(self, name: str, arguments: Any, call_id: str) -> Answer:
        """Passes exec and wait to the engine; the model sees nothing else."""
        given, repairs = read_object(arguments)
        tool = next((own for own in self.visible if own.name == name), None)
        if tool is None:
            told = f'No tool "{name[:120]}": code mode is active, and there are exec and wait.'
            return answers.of_call(name, CallFailed("unknown_tool", "UnknownTool", told), None, repairs)
        return answers.of_result(name, await tool.run(given, CallContext(call_id=call_id)), repairs)

    def _noted(self, answer: Answer, began: float) -> Answer:
        self._deps.meter.note(answer.repairs, answer.code)
        return replace(answer, duration_ms=round(clock.ms_since(began), 3))

    def _run_of(self, name: str) -> ToolFunction:
        """The function of a control, for hosts that run the visible tools themselves."""

        async def run(arguments: dict[str, Any], context: CallContext) -> Any:
            own = None if context == CallContext(call_id=context.call_id) else context
            return (await self.call(name, arguments, call_id=context.call_id, context=own)).to_dict()

        return run
