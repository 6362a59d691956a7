"""The tools of one prepared run, as a model calls them: by name, with JSON, and answered with text.

In code mode they are exec and wait. With code mode off they are the run's tools as they are, and their calls
go through the engine's executor, so that checks, hooks, approvals and limits hold there too. Whatever a model
sends is answered; an exception is for a host's mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct

from codemode.config import ConfigError
from codemode.contract.for_model import for_model
from codemode.contract.results import failed
from codemode.contract.scope import scope_of
from codemode.executor import CallFailed, CallRequest, CallResult, NeedsApproval
from codemode.nearest import did_you_mean
from codemode.surface import PreparedRun, check_payload
from codemode.tools import CallContext, Tool

if TYPE_CHECKING:
    from codemode.engine import Engine

_MAX_NAME = 120
_encode = msgspec.json.encode


class ModelAnswer(Struct, frozen=True):
    """`value` is JSON; `text` is the same for a model: a string as it is, anything else written as JSON."""

    value: Any
    is_error: bool = False

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else _encode(self.value).decode()


class ModelTools:
    """Of one run of an agent; made by `prepare_tools`."""

    def __init__(self, prepared: PreparedRun, context: CallContext | None = None) -> None:
        """Raises ConfigError where two visible tools have one name: a model could not tell them apart."""
        self.prepared = prepared
        self._context = context or CallContext()
        self._named: dict[str, Tool] = {}
        for tool in prepared.visible:
            if tool.name in self._named:
                other = self._named[tool.name].id
                raise ConfigError("tools", f'"{tool.id}" and "{other}" would both be shown as "{tool.name}".')
            self._named[tool.name] = tool

    @property
    def visible(self) -> tuple[Tool, ...]:
        """Name, description and parameters of everything the model is to see."""
        return self.prepared.visible

    @property
    def active(self) -> bool:
        """Whether this is code mode: exec and wait, and nothing else."""
        return self.prepared.active

    def guard(self, payload: Mapping[str, Any]) -> None:
        """The last look at a request before it is sent. Raises PayloadRefused where code mode is on and the
        request shows the model anything else than exec and wait."""
        if self.active:
            check_payload(payload)

    async def call(
        self, name: str, arguments: Mapping[str, Any] | str | None, call_id: str = ""
    ) -> ModelAnswer:
        """`arguments` are an object, or the text of one as OpenAI has it. Cancelling it aborts the run."""
        try:
            given = _read(arguments)
        except ValueError as problem:
            return self._refuse(f"The arguments of {name[:_MAX_NAME]} must be a JSON object: {problem}.")
        tool = self._named.get(name)
        if tool is None:
            return self._refuse(self._unknown(name[:_MAX_NAME]))
        if tool.control:
            return _of_result(await tool.run(given, CallContext(call_id=call_id)))
        executor = self.prepared.executor
        if executor is None:
            raise ConfigError("prepared", "without code mode, tools are called through Engine.prepare.")
        request = CallRequest(tool.id, given, call_id, context=self._context, via="host")
        return _of_call(tool, await executor.call(request))

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
    """For one run of an agent; `options` are those of `Engine.prepare`: session or scope, tools, allow, …"""
    prepared = await engine.prepare(**options)
    given: CallContext = options.get("context") or CallContext()
    names = {name: options[name] for name in ("agent", "session", "agent_run") if name in options}
    who = scope_of(options.get("scope"), **names)
    return ModelTools(prepared, replace(given, agent_id=who.agent, session_id=who.session))


def _read(arguments: Mapping[str, Any] | str | None) -> dict[str, Any]:
    """Raises ValueError. No arguments at all are an empty object, as some providers send it."""
    found: object = arguments
    if isinstance(arguments, str):
        found = msgspec.json.decode(arguments) if arguments.strip() else {}
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise ValueError(f"it is {type(found).__name__}")  # noqa: TRY004 - one refusal for all of it
    return dict(cast("Mapping[str, Any]", found))


def _of_result(result: Mapping[str, Any]) -> ModelAnswer:
    return ModelAnswer(for_model(result), result["status"] == "failed")


def _of_call(tool: Tool, ended: CallResult) -> ModelAnswer:
    match ended:
        case CallFailed():
            return ModelAnswer(f"{ended.name}: {ended.message}", True)
        case NeedsApproval():
            # Only a program can wait: here the engine's `approve` handler is the one who can say yes.
            return ModelAnswer(f"{tool.name} needs an approval, and nobody is there to give it.", True)
        case _:
            return ModelAnswer(ended.value)
