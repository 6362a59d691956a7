"""Which tools a run may have: profiles, groups, allow and deny, by provider and agent. Pure.

A policy is a sequence of steps, and each can only take tools away. The order: profile, the provider's
profile, the provider's allow and deny, the global allow and deny, then the agent's own in the same order.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from codemode.config import ConfigError
from codemode.config.rules import shown
from codemode.policy.rules import Matcher, PolicySection, Subject, Vocabulary, read_policy, subject_of
from codemode.tools import Tool

_log = logging.getLogger("codemode.policy")


class Explanation(Struct, frozen=True):
    """`step` decided, by `rule`; for an allowed tool it is the last step that named it."""

    tool_id: str
    allowed: bool
    step: str
    rule: str

    def __str__(self) -> str:
        verdict = "allowed" if self.allowed else "denied"
        return f"{self.tool_id} is {verdict} by {self.step}: {self.rule}"


class Resolution(Struct, frozen=True):
    tools: tuple[Tool, ...]  # in the order given
    warnings: tuple[str, ...]
    explanations: tuple[Explanation, ...]  # of every tool given, in the same order


def read_allow(allow: Sequence[str] | None) -> tuple[str, ...] | None:
    """A run's own allowlist; None where it has none. Raises ConfigError."""
    if isinstance(allow, str):
        raise ConfigError("allow", f"must be a list of names, not {shown(allow)}.")
    return None if allow is None else tuple(allow)


def narrow(resolution: Resolution, allow: Sequence[str]) -> Resolution:
    """What a run's own allowlist leaves of it: below every policy, and only for that run.

    Where it names nothing that is there, nothing is left: unlike a policy's, it is never ignored.
    """
    matcher = read_policy({"allow": list(allow)})[0].allow
    assert matcher is not None, "an allowlist was given"
    left = tuple(tool for tool in resolution.tools if matcher.rule_for(subject_of(tool)) is not None)
    return Resolution(left, resolution.warnings, resolution.explanations)


class Policy:
    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        """Raises ConfigError for unknown keys, profiles and groups, and for lists that are none."""
        self._global, self._agents, self._words = read_policy(config or {})

    def resolve(
        self,
        tools: Iterable[Tool],
        *,
        agent: str | None = None,
        provider: str | None = None,
        model: str | None = None,
    ) -> Resolution:
        """Warnings are logged too."""
        offered = tuple(tools)
        subjects = [subject_of(tool) for tool in offered]
        steps: list[_Step] = []
        warnings: list[str] = []
        for step in self._steps(agent, provider, model):
            ignored = step.allow is not None and _names_nothing(step.allow, subjects, self._words)
            warnings += _warnings(step, ignored, subjects, self._words)
            steps.append(_Step(step.name, None if ignored else step.allow, step.deny))
        for warning in warnings:
            _log.warning("%s", warning)
        explanations = tuple(
            _explain(tool.id, subject, steps) for tool, subject in zip(offered, subjects, strict=True)
        )
        allowed = (tool for tool, why in zip(offered, explanations, strict=True) if why.allowed)
        return Resolution(tuple(allowed), tuple(warnings), explanations)

    def explain(
        self,
        tool: Tool,
        tools: Iterable[Tool] = (),
        *,
        agent: str | None = None,
        provider: str | None = None,
        model: str | None = None,
    ) -> Explanation:
        """`tools` are the others of the run: whether an allowlist names anything depends on them."""
        offered = (tool, *(other for other in tools if other is not tool))
        return self.resolve(offered, agent=agent, provider=provider, model=model).explanations[0]

    def _steps(self, agent: str | None, provider: str | None, model: str | None) -> list[_Step]:
        steps = self._section_steps("", self._global, provider, model)
        own = self._agents.get(agent.casefold()) if agent is not None else None
        if own is not None:
            steps += self._section_steps(f"agents.{agent}.", own, provider, model)
        return steps

    def _section_steps(
        self, prefix: str, section: PolicySection, provider: str | None, model: str | None
    ) -> list[_Step]:
        steps = self._profile_step(f"{prefix}profile", section)
        key, own = section.for_provider(provider, model)
        if own is not None:
            steps += self._profile_step(f"{prefix}byProvider.{key}.profile", own)
            steps += _list_steps(f"{prefix}byProvider.{key}", own)
        return steps + _list_steps(prefix.rstrip(".") or "global", section)

    def _profile_step(self, name: str, section: PolicySection) -> list[_Step]:
        profile = None if section.profile is None else self._words.profiles[section.profile]
        return [] if profile is None else [_Step(f"{name} {section.profile}", profile, None)]


class _Step(Struct, frozen=True):
    name: str
    allow: Matcher | None  # None: no restriction
    deny: Matcher | None


def _list_steps(name: str, section: PolicySection) -> list[_Step]:
    if section.allow is None and section.deny is None:
        return []
    return [_Step(name, section.allow, section.deny)]


def _explain(tool_id: str, subject: Subject, steps: Sequence[_Step]) -> Explanation:
    decided = Explanation(tool_id, True, "default", "no step restricts it")
    for step in steps:
        # Deny wins: it is asked first in each step, and no later step can bring a tool back.
        if step.deny is not None and (rule := step.deny.rule_for(subject)) is not None:
            return Explanation(tool_id, False, step.name, f'deny "{rule}"')
        if step.allow is not None:
            rule = step.allow.rule_for(subject)
            if rule is None:
                return Explanation(tool_id, False, step.name, "not in its allowlist")
            decided = Explanation(tool_id, True, step.name, f'allow "{rule}"')
    return decided


def _names_nothing(allow: Matcher, offered: Sequence[Subject], words: Vocabulary) -> bool:
    """An allowlist for plugins that are not loaded must not take core tools away. An empty one means it."""
    return bool(allow.entries) and not any(words.is_known(entry, offered) for entry in allow.entries)


def _warnings(step: _Step, ignored: bool, offered: Sequence[Subject], words: Vocabulary) -> list[str]:
    if step.allow is None:
        return []
    if ignored:
        named = ", ".join(entry.text for entry in step.allow.entries)
        return [f"{step.name}: the allowlist names only unknown tools ({named}) and is ignored"]
    unknown = [entry.text for entry in step.allow.entries if not words.is_known(entry, offered)]
    return [f'{step.name}: "{text}" in the allowlist matches no tool' for text in unknown]
