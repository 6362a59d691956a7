"""Which tools a run may have, and why: the policies of an engine, asked about its tools. Pure.

There may be several: what `Engine(policy=…)` was given, and what is in the host's document. Each is asked by
itself, and a run has what all of them leave.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from codemode.config import CodeModeConfig, ConfigError
from codemode.config.documents import WrittenPolicy, policy_argument, written_policies
from codemode.config.rules import shown
from codemode.policy.reading import read_entries, read_levels, read_words
from codemode.policy.rules import Subject, Vocabulary, subject_of
from codemode.policy.steps import NamedList, PolicyStep, Situation, asking_lists, steps_for
from codemode.tools import Tool

_log = logging.getLogger("codemode.policy")
_RUNS_OWN = "the run's own allow"


class Explanation(Struct, frozen=True):
    """`step` decided, by `rule`; for an allowed tool it is the last step that named it.

    `approval` is the rule by which its calls need an approval.
    """

    tool_id: str
    allowed: bool
    step: str
    rule: str
    approval: str = ""

    def __str__(self) -> str:
        verdict = "allowed" if self.allowed else "denied"
        asks = f", and needs an approval by {self.approval}" if self.approval else ""
        return f"{self.tool_id} is {verdict} by {self.step}: {self.rule}{asks}"


class Resolution(Struct, frozen=True):
    tools: tuple[Tool, ...]  # in the order given
    warnings: tuple[str, ...]
    explanations: tuple[Explanation, ...]  # of every tool given, in the same order


def read_allow(allow: Sequence[str] | None) -> tuple[str, ...] | None:
    """A run's own allowlist; None where it has none. Raises ConfigError."""
    if isinstance(allow, str):
        raise ConfigError("allow", f"must be a list of names, not {shown(allow)}.")
    return None if allow is None else tuple(allow)


class Policy:
    def __init__(self, config: Mapping[str, Any] | None = None, document: object = None) -> None:
        """`config` is what `Engine(policy=…)` takes, `document` what `Engine(config=…)` takes.

        Raises ConfigError for unknown keys, profiles and groups, and for values of another kind.
        """
        argument = () if config is None else (policy_argument(config),)
        self._written = (*_written_in(document), *argument)
        self._words = read_words(self._written)
        self._policies = tuple(read_levels(own, self._words) for own in self._written)
        self._asking: WeakKeyDictionary[Tool, Tool] = WeakKeyDictionary()  # each with its twin that asks

    def require(self, document: object) -> None:
        """Raises ConfigError if the document has a policy that this one was made without."""
        if any(own not in self._written for own in _written_in(document)):
            raise ConfigError(
                "policy", "this document has a tool policy that is not in force: make the engine with it."
            )

    def resolve(
        self,
        tools: Iterable[Tool],
        *,
        agent: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        channel: str | None = None,
        sender: str | None = None,
        sandbox: str | None = None,
    ) -> Resolution:
        """Warnings are logged too."""
        return self.resolve_for(tools, Situation(agent, provider, model, channel, sender, sandbox))

    def resolve_for(self, tools: Iterable[Tool], who: Situation) -> Resolution:
        offered = tuple(tools)
        warnings, explanations = _apply(self._steps(who), offered, self._words)
        lists = self._asking_lists(who)
        if not lists:
            return _resolution(offered, warnings, explanations)
        rules = [_asked_by(tool, lists) for tool in offered]
        twins = tuple(self._twin(tool) if rule else tool for tool, rule in zip(offered, rules, strict=True))
        told = [
            replace(why, approval=rule if why.allowed else "")
            for why, rule in zip(explanations, rules, strict=True)
        ]
        return _resolution(twins, warnings, told)

    def explain(
        self,
        tool: Tool,
        tools: Iterable[Tool] = (),
        *,
        agent: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        channel: str | None = None,
        sender: str | None = None,
        sandbox: str | None = None,
    ) -> Explanation:
        """`tools` are the others of the run: whether an allowlist names anything depends on them."""
        offered = (tool, *(other for other in tools if other is not tool))
        who = Situation(agent, provider, model, channel, sender, sandbox)
        return self.resolve_for(offered, who).explanations[0]

    def narrow(self, resolution: Resolution, allow: Sequence[str]) -> Resolution:
        """What a run's own allowlist leaves of it: below every policy, and only for that run.

        Where it names nothing that is there, nothing is left: unlike a policy's, it is never ignored. It may
        use the groups of the policy. Raises ConfigError.
        """
        matcher = self._words.matcher("allow", read_entries("allow", list(allow)))
        step = PolicyStep(_RUNS_OWN, (NamedList(_RUNS_OWN, matcher),))
        warnings, narrowed = _apply([step], resolution.tools, None)
        found = _resolution(resolution.tools, warnings, narrowed)
        later = iter(narrowed)
        explanations = tuple(
            replace(new := next(later), approval=why.approval if new.allowed else "") if why.allowed else why
            for why in resolution.explanations
        )
        return Resolution(found.tools, (*resolution.warnings, *found.warnings), explanations)

    def key_for(self, who: Situation) -> tuple[object, ...]:
        """Equal keys have equal resolutions of equal tools. There are as many as the policy can tell apart,
        not as many as there are agents, channels and senders."""
        asking = tuple(found.matcher for found in self._asking_lists(who))
        return (*(step.key for step in self._steps(who)), asking)

    def _steps(self, who: Situation) -> list[PolicyStep]:
        return [step for levels in self._policies for step in steps_for(levels, who, self._words)]

    def _asking_lists(self, who: Situation) -> list[NamedList]:
        return [found for levels in self._policies for found in asking_lists(levels, who)]

    def _twin(self, tool: Tool) -> Tool:
        """The same tool, whose calls need an approval. One for each tool, because tools have an identity."""
        found = tool if tool.hints.requires_approval else self._asking.get(tool)
        if found is None:
            hints = dataclasses.replace(tool.hints, requires_approval=True)
            found = self._asking[tool] = dataclasses.replace(tool, hints=hints)
        return found


def _asked_by(tool: Tool, lists: Sequence[NamedList]) -> str:
    """The rule by which the tool needs an approval, or an empty text."""
    subject = subject_of(tool)
    rules = ((found.name, found.matcher.rule_for(subject)) for found in lists)
    return next((f'{name} "{rule}"' for name, rule in rules if rule is not None), "")


def _written_in(document: object) -> tuple[WrittenPolicy, ...]:
    return document.policies if isinstance(document, CodeModeConfig) else written_policies(document)


def _apply(
    steps: Iterable[PolicyStep], tools: Sequence[Tool], words: Vocabulary | None
) -> tuple[list[str], list[Explanation]]:
    """Warnings, and what became of each tool. Without `words`, names that match nothing are not told."""
    subjects = [subject_of(tool) for tool in tools]
    explanations = [Explanation(tool.id, True, "default", "no step restricts it") for tool in tools]
    warnings: list[str] = []
    left = list(range(len(tools)))
    for step in steps:
        if words is not None and _note(step, subjects, words, warnings):
            continue
        before, left = left, list[int]()
        for at in before:
            allowed, name, rule = step.judge(subjects[at])
            if allowed:
                left.append(at)
            if not (allowed and step.denies):  # what a deny does not name it says nothing about
                explanations[at] = Explanation(tools[at].id, allowed, name, rule)
        if before and not left:
            warnings.append(f"{step.name}: leaves no tool of the {len(before)} before it")
    return warnings, explanations


def _note(step: PolicyStep, offered: Sequence[Subject], words: Vocabulary, warnings: list[str]) -> bool:
    """Adds what is to be said about the step itself; whether it takes nothing away."""
    if step.remark:
        warnings.append(f"{step.name}: {step.remark}")
    if step.denies or not step.lists:
        return not step.lists
    entries = [entry for found in step.lists for entry in found.matcher.entries]
    unknown = [entry.text for entry in entries if not words.is_known(entry, offered)]
    # An allowlist for plugins that are not loaded must not take core tools away. An empty one means it.
    if step.may_be_ignored and entries and len(unknown) == len(entries):
        named = ", ".join(unknown)
        warnings.append(f"{step.name}: the allowlist names only unknown tools ({named}) and is ignored")
        return True
    warnings += [f'{step.name}: "{text}" in the allowlist matches no tool' for text in unknown]
    return False


def _resolution(
    tools: tuple[Tool, ...], warnings: Sequence[str], explanations: Sequence[Explanation]
) -> Resolution:
    for warning in warnings:
        _log.warning("%s", warning)
    allowed = tuple(tool for tool, why in zip(tools, explanations, strict=True) if why.allowed)
    return Resolution(allowed, tuple(warnings), tuple(explanations))
