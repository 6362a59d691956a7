"""Decides before a program runs which tools it gets under the policy, and asks the host's rules about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from codemode.catalog import Catalog
from codemode.config import CodeModeConfig
from codemode.contract.inputs import ExecInput, InputRefused
from codemode.contract.results import CodeModeResult
from codemode.executor import Approve, CallFailed, Executor, Gates, HookChain
from codemode.mcp.bridge import McpBridge
from codemode.plugins import Offering, PluginRegistry
from codemode.policy import Policy, Resolution, situation_of
from codemode.runs.environment import Environment
from codemode.runs.program_rules import EXEC, Outer, ask_rules, tell_rules
from codemode.runs.recorder import Recorder
from codemode.runs.run import Run
from codemode.tools import CallContext, Tool

if TYPE_CHECKING:  # the first registration loads it
    from codemode.surface import NamespaceText

_MAX_ENVIRONMENTS = 64


class Admission:
    """Decides what a run may see and whether it may begin; one per engine. Raises ConfigError for an unusable
    policy, TypeError for an object that is not a hook."""

    def __init__(
        self,
        config: CodeModeConfig,
        plugins: PluginRegistry,
        policy: Mapping[str, Any] | None,
        hooks: Any,
        approve: Approve | None,
        recorder: Recorder,
        mcp: McpBridge,
    ) -> None:
        self._config = config
        self._plugins = plugins
        self._policy = Policy(policy, config)
        self._hooks = HookChain(hooks)
        self._approve = approve
        self._recorder = recorder
        self._mcp = mcp
        self._gates = Gates()
        self._environments: dict[tuple[object, ...], Environment] = {}  # by what the policy tells apart
        self._environments_version = 0

    @property
    def offer(self) -> Offering:
        """What new runs may have: the engine's own tools and its plugins', at this moment."""
        return self._plugins.offer

    async def prepare(self) -> None:
        """Call before `environment`: connects the lazy MCP servers."""
        if self._mcp.has_servers:
            await self._mcp.prepare()

    def changed_for(self, agent: str, session: str) -> str | None:
        """A note for this session's model: tools that servers have changed since its last program."""
        return self._mcp.changes.note_for(agent, session) if self._mcp.has_servers else None

    def environment(
        self,
        own: tuple[Tool, ...],
        agent: str,
        provider: str | None,
        model: str | None,
        allow: tuple[str, ...] | None,
        context: CallContext | None,
        offer: Offering | None = None,
    ) -> Environment:
        """The catalog under the policy. `offer` is that of a prepared run, which keeps what it had.

        Environments without tools of a run's own are cached until the servers' tools change. Of too many the
        oldest is dropped.
        """
        offered = offer or self.offer
        if self._mcp.version != self._environments_version:
            self._environments.clear()
            self._environments_version = self._mcp.version
        if own or allow is not None:
            asked = self.effective(own, agent, provider, model, allow, context, offered)
            return self._make(Catalog(asked.tools))
        who = situation_of(context, agent=agent, provider=provider, model=model)
        key = (offered.version, *self._policy.key_for(who))
        found = self._environments.get(key)
        if found is None:
            asked = self.effective((), agent, provider, model, None, context, offered)
            found = self._make(Catalog(asked.tools))
            if len(self._environments) >= _MAX_ENVIRONMENTS:
                del self._environments[next(iter(self._environments))]
            self._environments[key] = found
        return found

    def effective(
        self,
        own: tuple[Tool, ...],
        agent: str,
        provider: str | None,
        model: str | None,
        allow: tuple[str, ...] | None,
        context: CallContext | None,
        offer: Offering | None = None,
    ) -> Resolution:
        """The tools that the policy leaves, and the run's own allowlist if it has one."""
        tools = (*(offer or self.offer).tools, *self._mcp.tools, *own)
        who = situation_of(context, agent=agent, provider=provider, model=model)
        resolved = self._policy.resolve_for(tools, who)
        return resolved if allow is None else self._policy.narrow(resolved, allow)

    def knows(self, tool_id: str, own: tuple[Tool, ...]) -> bool:
        """Whether the engine has the tool, under whatever policy."""
        return any(tool.id == tool_id for tool in (*self.offer.tools, *self._mcp.tools, *own))

    def require_policy_of(self, document: object) -> None:
        """Raises ConfigError for a document with a tool policy that the engine was made without."""
        self._policy.require(document)

    def executor(
        self, catalog: Catalog, explain_unknown: Callable[[str], CallFailed] | None = None
    ) -> Executor:
        """An executor for these tools, under the host's hooks, approvals, audit and limits."""
        recorder = self._recorder
        return Executor(
            catalog,
            hooks=self._hooks,
            approve=self._approve,
            audit=recorder.call_audited if recorder.is_audited else None,
            on_update=recorder.call_updated,
            gates=self._gates,
            explain_unknown=explain_unknown,
        )

    def _make(self, catalog: Catalog) -> Environment:
        if "mcp" not in catalog.by_source():
            return Environment(catalog, self.executor(catalog))
        from codemode.mcp.library import Library

        library = Library(catalog.tools, self._mcp.names)
        catalog = Catalog(catalog.tools, mcp=library.expressions)
        return Environment(catalog, self.executor(catalog), library)

    def namespace_texts(self, offer: Offering, catalog: Catalog) -> Sequence[NamespaceText]:
        if not offer.namespaces:
            return ()
        from codemode.namespaces.registry import texts_of

        return texts_of(offer.namespaces, catalog)

    def resolve_again(self, run: Run) -> None:
        """Gives a run that a dead engine left the tools it had, as far as today's policy allows them."""
        origin = run.origin
        run.set_environment(
            self.environment(
                origin.tools, run.scope.agent, origin.provider, origin.model, origin.allow, origin.context
            )
        )
        self.add_namespaces(run)

    def add_namespaces(self, run: Run, offer: Offering | None = None) -> None:
        """Gives a run its own namespaces, if any are visible. Raises InputRefused."""
        registered = (offer or self.offer).namespaces
        if not registered:
            return
        from codemode.namespaces import NamespaceContext, NamespaceScopes, ScopeRefused
        from codemode.namespaces.registry import visible_in

        visible = visible_in(registered, run.environment.catalog)
        if not visible:
            return

        context = NamespaceContext(
            agent_id=run.scope.agent,
            session_id=run.scope.session,
            session_key=run.origin.context.session_key,
            run_id=run.id,
            config=self._config.to_dict(),
            is_aborted=lambda: run.stop_reason is not None,
        )
        try:
            run.set_environment(run.environment.with_scopes(NamespaceScopes(visible, context)))
        except ScopeRefused as refused:
            raise InputRefused("invalid_config", str(refused)) from refused

    async def ask_hooks(
        self, run: Run, program: ExecInput, outer: Outer = EXEC, config: CodeModeConfig | None = None
    ) -> ExecInput:
        """Asks the host's rules about exec itself.

        Raises InputRefused if a rule blocks it or wants an approval, which no one can give at this point.
        """
        if not self._hooks.rules:
            return program
        return await ask_rules(self._hooks, run, program, outer, config or self._config)

    async def tell_hooks(
        self, run: Run, program: ExecInput, result: CodeModeResult, outer: Outer = EXEC
    ) -> CodeModeResult:
        """Tells hooks that look on how exec ended; they cannot change the result."""
        if self._hooks.looks_on:
            await tell_rules(self._hooks, run, program, result, outer)
        return result
