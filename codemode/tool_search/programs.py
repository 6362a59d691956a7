"""`tool_search_code`: one program in a worker of the engine, from start to end, never suspended.

The same worker, guest and limits as for exec; `openclaw.tools` is a global of this run alone, and its calls
are turned into the ordinary ones before anything else sees them. The deadline holds for all of it: computing,
tools, and what the program does after them. Without a worker there is no run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import msgspec
from codemode_runtime import wire
from msgspec import Raw

from codemode.config import CodeModeConfig
from codemode.config.tool_search import ToolSearchConfig
from codemode.contract.results import CodeModeResult, Failed, WaitReason
from codemode.executor import CallFailed, Calling, CallResult, Executor, NeedsApproval
from codemode.failures import Explained
from codemode.namespaces import Namespace, NamespaceContext, NamespaceScopes, Registered, namespace_tool
from codemode.runs.environment import Environment
from codemode.runs.host_work import HostWork, arguments_of
from codemode.runs.leg import Leg, Services
from codemode.runs.questions import Questions
from codemode.runs.run import Run, Work
from codemode.tool_search.catalog import SearchCatalog
from codemode.tool_search.repair import ReadCall, Unreadable, read_bridge_call
from codemode.workers.worker import Worker

_GLOBAL = "openclaw"
_FUNCTIONS = ("search", "describe", "call")
_PREFIX = f"{_GLOBAL}.tools."
_encode = msgspec.json.encode


def program_config(config: CodeModeConfig, own: ToolSearchConfig) -> CodeModeConfig:
    """The engine's limits, under Tool Search's own deadline and search limits."""
    return msgspec.structs.replace(
        config,
        enabled=True,
        languages=("javascript",),
        timeout_ms=own.code_timeout_ms,
        search_default_limit=own.search_default_limit,
        max_search_limit=own.max_search_limit,
    )


def program_environment(catalog: SearchCatalog, executor: Executor) -> Environment:
    return Environment(catalog, executor, None, _scopes())


@cache
def _scopes() -> NamespaceScopes:
    """`openclaw.tools` for the guest, which offers it as it offers a plugin's namespace."""
    namespace = Namespace(
        id=_GLOBAL,
        global_name=_GLOBAL,
        required_tool_names=_FUNCTIONS,
        create_scope=lambda _: {"tools": {name: namespace_tool(name) for name in _FUNCTIONS}},
    )
    nobody = NamespaceContext("", "", "", "", {}, lambda: False)
    return NamespaceScopes([Registered(_GLOBAL, namespace)], nobody)


class OneShotLeg(Leg):
    """Where a leg of exec would be suspended, this one fails."""

    async def _until_deliverable(self) -> WaitReason | None:
        self._services.work.give_back_yields(self._run)  # there is nobody to yield to
        return await super()._until_deliverable()

    async def _suspend(self, worker: Worker, reason: WaitReason) -> CodeModeResult:  # noqa: ARG002 - a Leg's shape
        return await self.fail(Explained("timeout", ""))

    async def fail(self, explained: Explained) -> Failed:
        if explained.code != "timeout":
            return await super().fail(explained)
        running = [work.name or work.method for work in self._run.pending.values()]
        waiting = f" It was waiting for {', '.join(running[:5])}, which was cancelled." if running else ""
        text = (
            f"The program had not ended after {self._budget_ms} ms and was ended.{waiting} "
            "Do less in one program; a tool that takes longer cannot be called like this."
        )
        return await super().fail(Explained("timeout", text))


class BridgeWork(HostWork):
    """Reads `openclaw.tools.*` as `tools.*`; `tell` hears of each repair that took."""

    def __init__(
        self, config: CodeModeConfig, services: Services, tell: Callable[[tuple[str, ...]], None]
    ) -> None:
        # nobody can be asked later about a run that does not wait
        super().__init__(config, services.hub, services.stored, Questions(lambda _: None, None))
        self._tell = tell

    def begin(self, run: Run, message: wire.Call | wire.Yield | wire.Timer | wire.Clear) -> None:
        if isinstance(message, wire.Call) and message.method == "namespace":
            message = self._ordinary(run, message)
        super().begin(run, message)

    def _end(self, run: Run, work: Work, calling: Calling, result: CallResult) -> None:
        """An approval that is not there now is not there: the program cannot be suspended until it is."""
        if isinstance(result, NeedsApproval):
            asked = result.approval
            told = f"{asked.tool} needs an approval that nobody has given: {asked.summary}"
            result = CallFailed("denied", "ApprovalNeeded", told, {"approval": asked.id})
        super()._end(run, work, calling, result)

    def _ordinary(self, run: Run, message: wire.Call) -> wire.Call:
        given = arguments_of(bytes(message.args))
        if isinstance(given, CallFailed):
            return message  # refused with the same words when it is started
        match message.target.removeprefix(_PREFIX):
            case "search":
                return wire.Call(message.id, "search", "", message.args)
            case "describe":
                read = _read_id(given)
                target, args = read.id, []
            case "call":
                read = _read_call(given, run)
                target, args = read.id, [read.args]
            case _:
                return message  # in no namespace of this run, and refused as such
        self._tell(read.repairs)
        method = "call" if message.target.endswith(".call") else "describe"
        return wire.Call(message.id, method, target, Raw(_encode(args)))


def _read_call(given: list[object], run: Run) -> ReadCall:
    try:
        return read_bridge_call(given, run.environment.catalog.resolve)
    except Unreadable:
        return ReadCall("", {})  # no tool has this name: the call fails where such calls fail


def _read_id(given: list[object]) -> ReadCall:
    try:
        return read_bridge_call([*given[:1], {}], lambda _: None)
    except Unreadable:
        return ReadCall("", {})
