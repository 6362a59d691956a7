"""`tool_search_code` runs one program in a worker of the engine, from start to end, and never suspends it.

It uses the same workers, guest and limits as exec. Its program sees the language, `console` and
`openclaw.tools`, whose calls are turned into ordinary ones before any other code sees them. The deadline
covers everything: computing, tools, and what the program does after them. Without a worker nothing runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import msgspec
from codemode_runtime import wire
from msgspec import Raw

from codemode.config import CodeModeConfig, ToolSearchConfig
from codemode.executor import CallFailed, Executor
from codemode.namespaces import Namespace, NamespaceContext, NamespaceScopes, Registered, namespace_tool
from codemode.runs.arguments import arguments_of
from codemode.runs.environment import Environment
from codemode.runs.host_work import HostWork
from codemode.runs.leg import Services
from codemode.runs.opening import LegPolicy
from codemode.runs.questions import Questions
from codemode.runs.run import Run
from codemode.tool_search.catalog import SearchCatalog
from codemode.tool_search.repair import ReadCall, Unreadable, read_bridge_call

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
    return Environment(catalog, executor, None, _scopes(), bare=True)


@cache
def _scopes() -> NamespaceScopes:
    """Offers `openclaw.tools` to the guest in the way of a plugin's namespace."""
    namespace = Namespace(
        id=_GLOBAL,
        global_name=_GLOBAL,
        required_tool_names=_FUNCTIONS,
        create_scope=lambda _: {"tools": {name: namespace_tool(name) for name in _FUNCTIONS}},
    )
    nobody = NamespaceContext("", "", "", "", {}, lambda: False)
    return NamespaceScopes([Registered(_GLOBAL, namespace)], nobody)


def _tell_timeout(run: Run, budget_ms: int) -> str:
    running = [work.name or work.method for work in run.in_flight.pending.values()]
    waiting = f" It was waiting for {', '.join(running[:5])}, which was cancelled." if running else ""
    return (
        f"The program had not ended after {budget_ms} ms and was ended.{waiting} "
        "Do less in one program; a tool that takes longer cannot be called like this."
    )


# Where a leg of exec would suspend, this one fails.
ONE_SHOT = LegPolicy(may_suspend=False, tell_timeout=_tell_timeout)


def bridge_work(
    config: CodeModeConfig, services: Services, tell: Callable[[tuple[str, ...]], None]
) -> HostWork:
    """Reads `openclaw.tools.*` as `tools.*`; calls `tell` with the repairs it made."""

    def nobody_asked(*_: object) -> None:
        """No question can wait for an answer, because this run never waits."""

    async def not_recorded(*_: object) -> bool:
        return False

    recorder = services.recorder
    questions = Questions(lambda _: None, nobody_asked, nobody_asked, None, not_recorded)
    translate = partial(_ordinary, tell)
    return HostWork(
        config,
        recorder,
        services.stored,
        questions,
        pending=services.work.pending,
        searches=services.work.searches,
        shapes=services.work.kept_shapes,
        translate=translate,
        may_wait=False,
    )


def _ordinary(tell: Callable[[tuple[str, ...]], None], run: Run, message: wire.Call) -> wire.Call:
    given = arguments_of(bytes(message.args)) if message.method == "namespace" else None
    if given is None or isinstance(given, CallFailed):
        return message  # not a call of the bridge, or one that HostWork refuses with the same words
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
            return message  # HostWork refuses it: no namespace of this run has it
    tell(read.repairs)
    method = "call" if message.target.endswith(".call") else "describe"
    return wire.Call(message.id, method, target, Raw(_encode(args)))


def _read_call(given: list[object], run: Run) -> ReadCall:
    try:
        return read_bridge_call(given, run.environment.catalog.resolve)
    except Unreadable:
        return ReadCall("", {})  # no tool has this name, so the call fails like every unknown name


def _read_id(given: list[object]) -> ReadCall:
    try:
        return read_bridge_call([*given[:1], {}], lambda _: None)
    except Unreadable:
        return ReadCall("", {})
