"""Before a program runs: which tools it gets under the policy, and what the host's rules say about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codemode.catalog import Catalog
from codemode.config import CodeModeConfig
from codemode.environment import Environment
from codemode.executor import Approve, Audit, BeforeToolCall, Executor, Gates, HookChain
from codemode.inputs import ExecInput, InputRefused, read_exec
from codemode.policy import Policy
from codemode.tools import CallContext, Tool

_KEPT_ENVIRONMENTS = 64


class Admission:
    """Of one engine. Raises ConfigError for an unusable policy, TypeError for hooks that are none."""

    def __init__(
        self,
        config: CodeModeConfig,
        tools: tuple[Tool, ...],
        policy: Mapping[str, Any] | None,
        hooks: Any,
        approve: Approve | None,
        audit: Audit | None,
    ) -> None:
        self._config = config
        self._tools = tools
        self._policy = Policy(policy)
        self._hooks = HookChain(hooks)
        self._approve = approve
        self._audit = audit
        self._gates = Gates()
        self._environments: dict[tuple[str, str | None, str | None], Environment] = {}
        Catalog(tools)  # two tools under one id are said now, not at the first run

    def environment(
        self, own: tuple[Tool, ...], agent: str, provider: str | None, model: str | None
    ) -> Environment:
        """The catalog under the policy. Kept ones are made of the engine's own tools, which never change."""
        key = (agent, provider, model)
        found = None if own else self._environments.get(key)
        if found is None:
            resolved = self._policy.resolve((*self._tools, *own), agent=agent, provider=provider, model=model)
            found = self._make(Catalog(resolved.tools))
            if not own and len(self._environments) < _KEPT_ENVIRONMENTS:
                self._environments[key] = found
        return found

    def _make(self, catalog: Catalog) -> Environment:
        executor = Executor(
            catalog, hooks=self._hooks, approve=self._approve, audit=self._audit, gates=self._gates
        )
        return Environment(catalog, executor)

    async def ask_hooks(self, program: ExecInput, context: CallContext | None) -> ExecInput:
        """The host's rules about exec itself, which they can tell by its kind from a shell of that name.

        Raises InputRefused where one blocks it; nobody can be asked for an approval at this point.
        """
        arguments = {"code": program.program, "language": program.language}
        verdict = await self._hooks.before(
            BeforeToolCall(
                "exec", "", arguments, context or CallContext(), "code_mode_exec", program.language
            )
        )
        if verdict.blocked is not None:
            raise InputRefused("aborted", f"A rule of the host blocked this program: {verdict.blocked}")
        if verdict.approval is not None:
            raise InputRefused(
                "aborted", "A rule of the host wants an approval for exec, which nobody can give."
            )
        if not verdict.rewritten:
            return program
        return read_exec(verdict.arguments, None, self._config)
