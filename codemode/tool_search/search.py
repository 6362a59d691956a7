"""Tool Search over an engine: decides for each run of an agent whether it defers tools, and in which mode.

It is for models or hosts that do not use code mode; active code mode takes precedence. No run ever sees more
tools than the policy allows, and no program runs outside a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from codemode.catalog import LARGE_CATALOG
from codemode.config import ConfigError, ToolSearchConfig, load_tool_search
from codemode.contract.inputs import InputRefused, read_caller
from codemode.contract.scope import UNSAID, Scope
from codemode.runs.admission import Admission
from codemode.runs.known_runs import KnownRuns
from codemode.runs.leg import Services
from codemode.tool_search.catalog import SearchCatalog
from codemode.tool_search.controls import CONTROLS
from codemode.tool_search.directory import directory_of
from codemode.tool_search.engine_runs import Caller, SearchRuns
from codemode.tool_search.gate import GateVerdict, Split, decide, split_tools
from codemode.tool_search.likely import LikelyTools, likely_tools
from codemode.tool_search.prepared import PreparedSearch, SearchSurface
from codemode.tools import CallContext, Tool, as_tools
from codemode.tools.threads import call_in_thread

if TYPE_CHECKING:
    from codemode.engine import Engine

Tools = Iterable[Any] | Callable[[], Iterable[Any]]
_AGENT, _SESSION, _AGENT_RUN = UNSAID.agent, UNSAID.session, UNSAID.agent_run


class ToolSearch:
    """`Engine.tool_search` makes it; it lives as long as the engine."""

    def __init__(
        self,
        config: object,
        engine: Engine,
        admission: Admission,
        services: Services,
        runs: KnownRuns,
    ) -> None:
        """Raises ConfigError."""
        self.config: ToolSearchConfig = load_tool_search(config)
        admission.require_policy_of(config)
        split_tools((), self.config)  # raises now for an unknown group in coreTools
        self._runs = SearchRuns(engine, admission, services, runs)

    async def prepare(
        self,
        *,
        session: str = _SESSION,
        agent: str = _AGENT,
        agent_run: str = _AGENT_RUN,
        scope: Scope | None = None,
        tools: Tools = (),
        allow: Sequence[str] | None = None,
        disable_tools: bool = False,
        provider: str | None = None,
        model: str | None = None,
        context: CallContext | None = None,
        context_window: int | None = None,
        required: Sequence[str] = (),
        text: str = "",
    ) -> PreparedSearch:
        """Prepares one run of an agent: what the model sees, and the entry for its calls.

        `tools` are the run's own; a function is called again for each call of the model. `context_window` is
        the model's, in tokens. In mode `directory` a few deferred tools are shown with their schemas: those
        that `required` names, by name or id, then the best for `text`, what the turn is about. Raises
        ConfigError where names clash.
        """
        wanted = _Wanted(_read_required(required), _read_text(text))
        try:
            caller = read_caller(scope, agent, session, agent_run)
        except InputRefused as refused:
            raise ConfigError("prepare", str(refused)) from None
        who = Caller(
            caller.session,
            caller.agent,
            caller.agent_run,
            provider,
            model,
            None if allow is None else tuple(allow),
            context,
            _live_list(() if disable_tools else tools),
        )
        if disable_tools or who.allow == ():
            who = replace(who, allow=())
            surface = SearchSurface((), (), GateVerdict(mode=None, why="no_tools"))
        elif self._runs.engine.config.enabled:
            surface = await self._code_mode(who)
        else:
            surface = await self._surface(who, context_window or self.config.context_window_tokens, wanted)
        return PreparedSearch(self._runs, self.config, who, surface)

    async def _surface(self, who: Caller, window_tokens: int, wanted: _Wanted) -> SearchSurface:
        resolved = await self._runs.resolve(who)
        if not resolved.tools:
            return SearchSurface((), (), GateVerdict(mode=None, why="no_tools"), warnings=resolved.warnings)
        split = split_tools(resolved.tools, self.config)
        decision = decide(split, self.config, window_tokens)
        if decision.mode is None:
            return SearchSurface(resolved.tools, resolved.tools, decision, warnings=resolved.warnings)
        if decision.mode == "code":
            decision = await self._isolated(decision)
        # a host's tool with the name of a control is left out: the model would confuse the two
        known = SearchCatalog(split.direct)
        shown = tuple(tool for tool in split.direct if tool.id in known)
        if decision.mode != "directory":
            told = (
                () if not wanted.required else (f'required is for mode "directory", not "{decision.mode}".',)
            )
            return SearchSurface(shown, resolved.tools, decision, warnings=(*resolved.warnings, *told))
        _refuse_collisions(split)
        deferred = SearchCatalog(split.deferred)
        directory = directory_of(deferred, self.config.directory_max_chars)
        likely = await self._likely(deferred, shown, wanted)
        warnings = (*resolved.warnings, *likely.warnings)
        return SearchSurface(shown, resolved.tools, decision, directory, warnings, likely.tools)

    async def _likely(self, deferred: SearchCatalog, shown: Sequence[Tool], wanted: _Wanted) -> LikelyTools:
        most = self.config.directory_max_schemas
        names = {*CONTROLS["directory"], *(word for tool in shown for word in (tool.name, tool.id))}
        find = partial(likely_tools, deferred, names, wanted.required, wanted.text, most)
        return await call_in_thread("search", find) if len(deferred) > LARGE_CATALOG else find()

    async def _isolated(self, decision: GateVerdict) -> GateVerdict:
        """Without a runtime: falls back to the structured controls, or the control refuses each program."""
        reason = await self._runs.why_no_runtime()
        if reason is None:
            return decision
        mode = "tools" if self.config.fallback == "tools" else "code"
        return msgspec.structs.replace(decision, mode=mode, fallback_reason=reason)

    async def _code_mode(self, who: Caller) -> SearchSurface:
        resolved = await self._runs.resolve(who)
        run = await self._runs.engine.prepare(
            session=who.session,
            agent=who.agent,
            agent_run=who.agent_run,
            tools=who.tools(),
            allow=who.allow,
            provider=who.provider,
            model=who.model,
            context=who.context,
        )
        return SearchSurface(
            run.visible, resolved.tools, GateVerdict(mode=None, why="code_mode"), warnings=run.warnings
        )


class _Wanted(NamedTuple):
    """What the host says about the turn."""

    required: tuple[str, ...]
    text: str


def _read_required(given: object) -> tuple[str, ...]:
    listed = tuple(cast("Sequence[object]", given)) if isinstance(given, list | tuple) else (None,)
    if not all(isinstance(name, str) for name in listed):
        raise ConfigError("required", 'must be a list of names or ids of tools: ["plugin:crm:find"].')
    return cast("tuple[str, ...]", listed)


def _read_text(given: object) -> str:
    if not isinstance(given, str):
        raise ConfigError("text", f"must be a text, what the turn is about, not {type(given).__name__}.")
    return given


def _live_list(tools: Tools) -> Callable[[], tuple[Tool, ...]]:
    if callable(tools):
        return lambda: tuple(as_tools(tools()))
    own = tuple(as_tools(tools))
    return lambda: own


def _refuse_collisions(split: Split) -> None:
    """The model calls a hidden tool by its name, so no client tool may have that name."""
    others = {tool.name: tool.id for tool in (*split.deferred, *split.direct) if tool.source != "client"}
    for tool in split.direct:
        if tool.source == "client" and tool.name in others:
            raise ConfigError(
                f'tool "{tool.id}"',
                f'has the name of {others[tool.name]}; in mode "directory" names are calls: rename one.',
            )
