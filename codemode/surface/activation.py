"""Decides whether a run is in code mode, and what the model then sees. Pure: the engine acts on it.

First the policy, then the run's own allowlist, then either the tools as they are or only `exec` and `wait`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from codemode.catalog import Catalog
from codemode.catalog.result_shapes import Returns
from codemode.config import CodeModeConfig
from codemode.executor import Executor
from codemode.policy import Policy, Resolution, situation_of
from codemode.surface.controls import exec_tool, wait_tool
from codemode.surface.description import NamespaceText, describe_exec
from codemode.surface.prompt import PROMPT_CHARS, prompt_of_programs, prompt_of_tools
from codemode.surface.quick_index import DEFAULT_BUDGET
from codemode.tools import CallContext, Tool, ToolFunction, as_tools


class PreparedRun(Struct, frozen=True):
    """`visible` is the whole tool list for the model. Without code mode there is no catalog.

    `executor` is set where an engine shows tools as they are: it checks and runs their calls.
    """

    active: bool
    visible: tuple[Tool, ...]
    catalog: Catalog | None
    warnings: tuple[str, ...] = ()
    executor: Executor | None = None
    namespaces: tuple[NamespaceText, ...] = ()

    @property
    def exec_description(self) -> str:
        return self.visible[0].description if self.active else ""

    @property
    def prompt(self) -> str:
        """What the model may call, one line each, for the system prompt: at most 4,000 characters, the same
        bytes for the same tools, nothing that a server or a client wrote. Made anew each time."""
        if self.catalog is None:
            return prompt_of_tools(self.visible, PROMPT_CHARS)
        return prompt_of_programs(self.catalog, self.namespaces, PROMPT_CHARS)


def prepare_run(
    tools: Iterable[object],
    config: CodeModeConfig,
    policy: Policy | None = None,
    *,
    agent: str | None = None,
    provider: str | None = None,
    model: str | None = None,
    context: CallContext | None = None,
    runtime_allow: Sequence[str] | None = None,
    disable_tools: bool = False,
    namespaces: Sequence[NamespaceText] = (),
    index_budget: int = DEFAULT_BUDGET,
    exec_run: ToolFunction | None = None,
    wait_run: ToolFunction | None = None,
) -> PreparedRun:
    """`tools` are all eligible tools: core, plugins, MCP, client. Without `policy` the policy of the document
    that `config` was read from holds. Raises ConfigError where tools clash."""
    if disable_tools or (runtime_allow is not None and not runtime_allow):
        return PreparedRun(False, (), None)  # no tools on purpose
    rules = policy or Policy(document=config)
    rules.require(config)
    who = situation_of(context, agent=agent, provider=provider, model=model)
    resolved = rules.resolve_for(as_tools(tools), who)
    if runtime_allow is not None:
        resolved = rules.narrow(resolved, runtime_allow)
    return surface_of(
        resolved,
        config,
        namespaces=lambda _: namespaces,
        index_budget=index_budget,
        exec_run=exec_run,
        wait_run=wait_run,
    )


def surface_of(
    resolved: Resolution,
    config: CodeModeConfig,
    *,
    namespaces: Callable[[Catalog], Sequence[NamespaceText]],
    observed: Returns | None = None,
    servers: Iterable[str] = (),
    index_budget: int = DEFAULT_BUDGET,
    exec_run: ToolFunction | None = None,
    wait_run: ToolFunction | None = None,
    ordinary: Callable[[], Executor] | None = None,
    why_off: str | None = None,
) -> PreparedRun:
    """The second half of `prepare_run`: shows or hides the tools that the policy left. `why_off` is a warning
    for a run that is not in code mode; `observed` is what is known of results that are not declared."""
    if not config.enabled:
        executor = ordinary() if ordinary is not None else None
        warnings = resolved.warnings if why_off is None else (why_off, *resolved.warnings)
        return PreparedRun(False, resolved.tools, None, warnings, executor)
    catalog = Catalog(resolved.tools)
    if not len(catalog):
        return PreparedRun(False, (), None, resolved.warnings)
    spaces = tuple(namespaces(catalog))
    description = describe_exec(
        catalog,
        languages=config.languages,
        max_pending_calls=config.max_pending_tool_calls,
        max_queued_calls=config.max_queued_tool_calls,
        namespaces=spaces,
        index_budget=index_budget,
        servers=servers,
        observed=observed,
        keeps=config.session_state == "keep",
    )
    control = exec_tool(description, config.languages, *([exec_run] if exec_run else []))
    waiting = wait_tool(*([wait_run] if wait_run else []))
    return PreparedRun(True, (control, waiting), catalog, resolved.warnings, namespaces=spaces)
