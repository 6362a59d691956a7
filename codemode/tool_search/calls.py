"""One call of the model: reads it kindly, unwraps it, runs the real tool under its own name, answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec

from codemode.catalog.searches import Asker
from codemode.config import SearchMode, ToolSearchConfig
from codemode.contract.telemetry import CallMethod
from codemode.executor import (
    ApprovalRequest,
    CallFailed,
    CallOk,
    CallRequest,
    CallResult,
    Decision,
    Executor,
    NeedsApproval,
)
from codemode.tool_search import answers
from codemode.tool_search.answers import Answer
from codemode.tool_search.catalog import SearchCatalog
from codemode.tool_search.engine_runs import Caller, CallSpec, SearchRuns
from codemode.tool_search.repair import (
    Unreadable,
    read_call,
    read_code,
    read_describe,
    read_object,
    read_search,
)
from codemode.tool_search.telemetry import SearchMeter
from codemode.tools import CallContext, Tool
from codemode.tools.results import NotJson, encode_result

_encode = msgspec.json.encode


class LiveTools(NamedTuple):
    """The tools of a run now: those the model sees as they are, and those it can find."""

    direct: SearchCatalog
    deferred: SearchCatalog


class AskedCall(NamedTuple):
    """A call that waits for an approval."""

    called: str
    request: CallRequest
    approval: ApprovalRequest


class CallDeps(NamedTuple):
    """What all calls of a prepared run share."""

    runs: SearchRuns
    config: ToolSearchConfig
    who: Caller
    mode: SearchMode | None
    meter: SearchMeter
    asked: dict[str, AskedCall]


class SearchCall:
    """`called` is the name the model used. Made for one call, and used once."""

    def __init__(
        self, deps: CallDeps, live: LiveTools, called: str, call_id: str, context: CallContext | None
    ) -> None:
        self._deps = deps
        self._live = live
        self._called = called
        self._call_id = call_id
        self._run = deps.runs.new_run(deps.who, live.deferred, call_id, context)
        scope = self._run.scope
        # here a search and the call that follows it are two runs; what they share is the session
        self._asker = Asker(scope.agent, scope.session, f"{scope.agent} {scope.session}")

    async def control(self, given: object) -> Answer:
        try:
            match self._called:
                case "tool_search":
                    return await self._search(given)
                case "tool_describe":
                    return await self._describe(given)
                case "tool_call":
                    read = read_call(given, self._live.deferred.resolve)
                    return await self._execute(self._live.deferred, read.id, read.args, read.repairs)
                case _:
                    return await self._program(given)
        except Unreadable as refused:
            return self._refused(refused)

    async def tool(self, given: object) -> Answer:
        """Calls a tool that the model sees, or in mode `directory` any deferred tool by its name."""
        arguments, repairs = read_object(given)
        live, name = self._live, self._called
        shown = live.direct.resolve(name)
        if self._deps.mode != "directory":
            answer = await self._execute(live.direct, name, arguments, repairs)
            is_hidden = shown is None and live.deferred.resolve(name) is not None
            return self._call_it_otherwise(name) if is_hidden else answer
        if shown is not None and shown.source == "client" and live.deferred.has_name(name):
            # the clash came after the run was prepared; which of the two the model means is unknown
            told = (
                f'"{name[:120]}" is the name of a tool of the client and of another one; neither was called.'
            )
            return answers.of_call(name, CallFailed("denied", "NameCollision", told), None, repairs)
        catalog = live.deferred if shown is None else live.direct
        return await self._execute(catalog, name, arguments, repairs)

    async def resume(self, asked: AskedCall, decision: Decision) -> Answer:
        """Looks the tool up again, because it may be gone since the model called it."""
        live = self._live
        catalog = live.direct if live.direct.resolve(asked.request.tool) else live.deferred
        executor = self._executor(catalog)
        work = partial(executor.resume, asked.request, asked.approval, decision)
        tool = catalog.resolve(asked.request.tool)
        result = await self._do(tool, asked.approval.tool, "call", b"", work)
        return answers.of_call(asked.called, result, tool, ())

    async def _search(self, given: object) -> Answer:
        read, config, catalog = read_search(given), self._deps.config, self._live.deferred
        wanted = config.search_default_limit if read.limit is None else read.limit
        limit = max(1, min(wanted, config.max_search_limit))

        async def work() -> CallResult:
            found = await self._deps.runs.searches.find(catalog, read.query, limit, self._asker)
            return CallOk(_encode(found))

        result = await self._do(None, "", "search", read.query.encode("utf-8", "replace"), work)
        return answers.of_call(self._called, result, None, read.repairs)

    async def _describe(self, given: object) -> Answer:
        read, catalog = read_describe(given), self._live.deferred
        tool = catalog.resolve(read.text)

        async def work() -> CallResult:
            found = catalog.describe(read.text)
            return catalog.unknown(read.text) if found is None else CallOk(_encode(found))

        result = await self._do(tool, "" if tool is None else tool.name, "describe", b"", work)
        return answers.of_call(self._called, result, tool, read.repairs)

    async def _execute(
        self, catalog: SearchCatalog, target: str, arguments: Any, repairs: tuple[str, ...]
    ) -> Answer:
        tool = catalog.resolve(target)
        name = target[:200] if tool is None else tool.name
        request = CallRequest(
            target if tool is None else tool.id,
            arguments,
            call_id=self._call_id or "1",
            idempotency_key=f"{self._run.id}:{self._call_id or '1'}",
            context=self._run.call_context(),
            variables=self._run.origin.variables,
        )
        result = await self._do(
            tool, name, "call", _json(arguments), partial(self._executor(catalog).call, request)
        )
        if isinstance(result, NeedsApproval):
            self._deps.asked[result.approval.id] = AskedCall(self._called, request, result.approval)
        elif isinstance(result, CallOk) and tool is not None:
            self._deps.runs.searches.memory.called(self._asker.run_id, tool.id)
        return answers.of_call(self._called, result, tool, repairs)

    async def _do(
        self, tool: Tool | None, name: str, method: CallMethod, given: bytes, work: Callable[[], Any]
    ) -> CallResult:
        result = await self._deps.runs.execute(self._run, CallSpec(tool, name, method, given, work))
        self._deps.meter.record(self._called, self._run.active.meter.calls)
        return result

    async def _program(self, given: object) -> Answer:
        read = read_code(given)
        deps, made = self._deps, list(read.repairs)
        result = await deps.runs.run_program(self._run, read.text, deps.config, made.extend)
        deps.meter.counts["program"] += 1
        deps.meter.record(self._called, result.telemetry.calls)
        return answers.of_program(self._called, result, tuple(made))

    def _executor(self, catalog: SearchCatalog) -> Executor:
        return self._deps.runs.admission.executor(catalog, catalog.unknown)

    def _refused(self, refused: Unreadable) -> Answer:
        return answers.of_call(
            self._called, CallFailed("invalid_arguments", "InvalidArguments", str(refused)), None, ()
        )

    def _call_it_otherwise(self, name: str) -> Answer:
        tool = self._live.deferred.resolve(name)
        assert tool is not None
        how = self._live.deferred.call_expression(tool)
        told = f"{tool.name} is not one of the tools you can call by name; call it as {how}."
        return answers.of_call(self._called, CallFailed("unknown_tool", "UnknownTool", told), None, ())


def _json(arguments: object) -> bytes:
    """For the count of bytes; the executor refuses what is not JSON."""
    try:
        return encode_result(arguments)
    except NotJson:
        return b""
