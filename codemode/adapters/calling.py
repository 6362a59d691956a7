"""The tools of one prepared run, as a model calls them: by name, with JSON, and answered with text.

In code mode they are exec and wait. With code mode off they are the run's own tools, and their calls go
through the engine's executor, so that checks, hooks, approvals and limits hold there too. A model gets an
answer for anything it sends; exceptions are for mistakes of the host.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

import msgspec
from msgspec import Struct

from codemode.adapters.blocks import ShownContent, shown_of_contents, shown_of_output
from codemode.adapters.home_loop import HomeLoop
from codemode.config import ConfigError
from codemode.contract.for_model import for_model
from codemode.contract.results import failed
from codemode.contract.scope import Scope, scope_of
from codemode.executor import ApprovalRequest, CallFailed, CallRequest, CallResult, Decision, NeedsApproval
from codemode.gate.unseen import Unseen
from codemode.nearest import did_you_mean
from codemode.surface import PreparedRun, check_payload, render_tools
from codemode.tools import CallContext, Tool
from codemode.tools.framework_context import FrameworkContext, calling_in
from codemode.trajectory.debug_variables import MODEL_PAYLOAD
from codemode.trajectory.payload_log import log_payload

if TYPE_CHECKING:
    from codemode.blocking import BlockingEngine
    from codemode.engine import Engine

_MAX_NAME = 120
_encode = msgspec.json.encode


class ModelAnswer(Struct, frozen=True):
    """`value` is JSON; `text` is the same for a model: a string as it is, other values as JSON text.

    `asks` is set where a call without code mode was not made, because it needs an approval.
    """

    value: Any
    is_error: bool = False
    asks: ApprovalRequest | None = None
    content: tuple[ShownContent, ...] = ()  # the images and files that `value` names by their `ref`
    output: Sequence[Mapping[str, Any]] = ()  # of the result, with all data

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else _encode(self.value).decode()

    @property
    def waiting_run(self) -> str:
        """The id of the run that waits; "" if this is no result of such a run."""
        found = self._result
        return str(found.get("runId", "")) if found.get("status") == "waiting" else ""

    @property
    def asking_run(self) -> str:
        """The id of the run, if it waits for an approval."""
        return self.waiting_run if self._result.get("reason") == "approval" else ""

    @property
    def _result(self) -> Mapping[str, Any]:
        is_result = isinstance(self.value, Mapping)
        return cast("Mapping[str, Any]", self.value if is_result else {})


class ModelTools:
    """The tools of one run of an agent; `prepare_tools` makes it.

    They may be called in any event loop: the work is done in the loop that prepared them.
    """

    def __init__(
        self,
        prepared: PreparedRun,
        context: CallContext | None = None,
        engine: Engine | None = None,
        scope: Scope | None = None,
    ) -> None:
        """Raises ConfigError if two visible tools share a name: a model could not tell them apart."""
        self.prepared = prepared
        self.engine = engine
        self.scope = scope or Scope()
        self.home = HomeLoop()
        self.unseen: Unseen[list[Any]] = Unseen()  # output of runs that ask before their caller sees it
        self._places: WeakValueDictionary[tuple[str, str], FrameworkContext] = WeakValueDictionary()
        self._context = context or CallContext()
        self._is_chosen = False  # for another session than the one that was prepared
        self._named: dict[str, Tool] = {}
        for tool in prepared.visible:
            if tool.name in self._named:
                other = self._named[tool.name].id
                raise ConfigError("tools", f'"{tool.id}" and "{other}" would both be shown as "{tool.name}".')
            self._named[tool.name] = tool

    @property
    def visible(self) -> tuple[Tool, ...]:
        """Name, description and parameters of each tool that the model sees."""
        return self.prepared.visible

    @property
    def prompt(self) -> str:
        """What the model may call, one line each: for the system prompt, beside the schemas."""
        return self.prepared.prompt

    @property
    def active(self) -> bool:
        """Whether this is code mode: exec and wait, and nothing else."""
        return self.prepared.active

    def of_session(self, session: str, *, context: CallContext | None = None) -> ModelTools:
        """The same tools for another session of the same agent: prepare once, and call for many users.

        `context` is what the host says of this caller. What the model is shown stays as it was prepared.
        """
        other = copy(self)
        told = self._context if context is None else context
        other.scope = msgspec.structs.replace(self.scope, session=session)
        other._context = replace(told, agent_id=self.scope.agent, session_id=session)
        other._is_chosen = True
        return other

    @contextmanager
    def inside(self, context: Any, run_id: str = "") -> Generator[FrameworkContext]:
        """Nested tools that are called inside may take this context of their framework; so do those of the
        run that goes on."""
        place = self._places.get((self.scope.session, run_id)) or FrameworkContext(context)
        place.value = context
        with calling_in(FrameworkContext(context) if run_id else place):
            yield place

    def remember(self, run_id: str, place: FrameworkContext) -> None:
        """The calls of this run look there for the framework's context."""
        self._places[self.scope.session, run_id] = place

    def guard(self, payload: Mapping[str, Any]) -> None:
        """Checks a request before the host sends it. Raises PayloadRefused if code mode is on and the request
        shows the model anything but exec and wait. The payload log shows the request."""
        log_payload(payload, "the raw loop")
        if self.active:
            check_payload(payload)

    def tell_shown(self, framework: str) -> None:
        """Tells the payload log which tools a framework gets; the request itself is the framework's."""
        if MODEL_PAYLOAD.read() is not None:
            log_payload({"tools": render_tools(self.visible, "openai")}, framework)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None,
        call_id: str = "",
        decision: Decision | None = None,
    ) -> ModelAnswer:
        """Calls a tool. `arguments` may be JSON text, as OpenAI sends it. Cancelling aborts the run.

        `decision` is for a tool that is shown as it is and needs an approval.
        """
        return await self.home.do(self._call(name, arguments, call_id, decision))

    async def _call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None,
        call_id: str,
        decision: Decision | None,
    ) -> ModelAnswer:
        try:
            given = _read(arguments)
        except ValueError as problem:
            return self._refuse(f"The arguments of {name[:_MAX_NAME]} must be a JSON object: {problem}.")
        tool = self._named.get(name)
        if tool is None:
            return self._refuse(self._unknown(name[:_MAX_NAME]))
        if tool.control:
            own = replace(self._context, call_id=call_id) if self._is_chosen else CallContext(call_id=call_id)
            result = await tool.run(given, own)
            run_id = result.get("runId") or given.get("runId")
            if isinstance(run_id, str):
                before = self.unseen.take(self.scope.session, run_id)
                result = {**result, "output": [*(before or ()), *result["output"]]}
            return _of_result(result)
        executor = self.prepared.executor
        if executor is None:
            raise ConfigError("prepared", "without code mode, tools are called through Engine.prepare.")
        request = CallRequest(tool.id, given, call_id, context=self._context, via="host")
        ended = await executor.call(request)
        if isinstance(ended, NeedsApproval) and decision is not None:
            ended = await executor.resume(request, ended.approval, decision)
        return _of_call(tool, ended)

    def _refuse(self, problem: str) -> ModelAnswer:
        return (
            _of_result(failed("invalid_input", problem).to_dict())
            if self.active
            else ModelAnswer(problem, True)
        )

    def _unknown(self, name: str) -> str:
        catalog = self.prepared.catalog
        hidden = catalog.resolve(name) if catalog is not None else None
        if catalog is not None and hidden is not None:
            call = catalog.call_expression(hidden)
            return f'"{name}" is called from a program: use exec, with code such as `return await {call}`.'
        if self.active:
            return f'There is no tool "{name}". There are exec and wait.'
        return f'There is no tool "{name}".{did_you_mean(name, self._named)}'


async def prepare_tools(engine: Engine, **options: Any) -> ModelTools:
    """Prepares one run of an agent; takes the options of `Engine.prepare` (session, scope, tools, allow,
    …)."""
    prepared = await engine.prepare(**options)
    given: CallContext = options.get("context") or CallContext()
    names = {name: options[name] for name in ("agent", "session", "agent_run") if name in options}
    who = scope_of(options.get("scope"), **names)
    return ModelTools(prepared, replace(given, agent_id=who.agent, session_id=who.session), engine, who)


def prepare_tools_blocking(engine: BlockingEngine, **options: Any) -> ModelTools:
    """The same for a BlockingEngine: its tools are called in the engine's own thread."""
    return engine.thread.do(prepare_tools(engine.engine, **options))


def _read(arguments: Mapping[str, Any] | str | None) -> dict[str, Any]:
    """The arguments as an object. Some providers send an empty text for `{}`. Raises ValueError."""
    found: object = arguments
    if isinstance(arguments, str):
        found = msgspec.json.decode(arguments) if arguments.strip() else {}
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise ValueError(f"it is {type(found).__name__}")  # noqa: TRY004 - one refusal for all of it
    return dict(cast("Mapping[str, Any]", found))


def _of_result(result: Mapping[str, Any]) -> ModelAnswer:
    output = result["output"]
    shown = shown_of_output(output)
    return ModelAnswer(for_model(result), result["status"] == "failed", content=shown, output=output)


def _of_call(tool: Tool, ended: CallResult) -> ModelAnswer:
    match ended:
        case CallFailed():
            told = f"{ended.name}: {ended.message}"
            advice = None if ended.said is None else ended.said.suggestion
            return ModelAnswer(f"{told}\n{advice}" if advice else told, True)
        case NeedsApproval():
            # Only a program can wait: here the engine's `approve` handler approves, or the framework.
            told = f"{tool.name} needs an approval, and nobody is there to give it."
            return ModelAnswer(told, True, ended.approval)
        case _:
            return ModelAnswer(ended.value, content=shown_of_contents(ended.contents or {}))
