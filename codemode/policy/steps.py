"""The steps of a policy for one run: each takes tools away, and none brings one back. Pure.

At each level `deny` first; then the base (a profile with the `allow` beside it, or an `allow` alone), then
`byProvider`. An agent's profile takes the place of the global one before anything is asked. After both
levels: the sandbox, the channel, the sender.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from codemode.policy.names import fits, plain_name
from codemode.policy.reading import ForSome, PolicyLevel, PolicyLevels, PolicyLists
from codemode.policy.rules import Matcher, Subject, Vocabulary
from codemode.tools import CallContext


class Situation(Struct, frozen=True):
    """Whose run it is, as far as the host says it; an empty string is the same as None."""

    agent: str | None = None
    provider: str | None = None
    model: str | None = None
    channel: str | None = None
    sender: str | None = None
    sandbox: str | None = None


def situation_of(
    context: CallContext | None, *, agent: str | None, provider: str | None, model: str | None
) -> Situation:
    if context is None:
        return Situation(agent, provider, model)
    return Situation(agent, provider, model, context.channel, context.sender, context.sandbox)


class NamedList(Struct, frozen=True):
    name: str
    matcher: Matcher


class PolicyStep(Struct, frozen=True):
    """Takes away what a list names, if it `denies`; else what no list names. Without lists it takes nothing.

    `may_be_ignored`: where the lists name only tools that are not there, as those of a plugin that is not
    loaded. Never for what narrows a run by its sandbox, channel or sender: these are boundaries.
    """

    name: str
    lists: tuple[NamedList, ...]
    denies: bool = False
    may_be_ignored: bool = False
    remark: str = ""  # a warning, whatever the tools are

    def judge(self, subject: Subject) -> tuple[bool, str, str]:
        """Whether the tool stays, and the name of the list and the rule that decided."""
        for found in self.lists:
            rule = found.matcher.rule_for(subject, covers=not self.denies)
            if rule is not None:
                return not self.denies, found.name, f'{"deny" if self.denies else "allow"} "{rule}"'
        return self.denies, self.name, "not in its allowlist"

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for steps that decide the same. Lists are compared by identity."""
        return (self.denies, self.may_be_ignored, *(found.matcher for found in self.lists))


def steps_for(levels: PolicyLevels, who: Situation, words: Vocabulary) -> Iterator[PolicyStep]:
    shared = levels.shared
    own = levels.agents.get(plain_name(who.agent)) if who.agent else None
    is_replaced = own is not None and own.lists.profile is not None and shared.lists.profile is not None
    yield from _level_steps(shared, who, words, has_base=not is_replaced)
    if own is not None:
        yield from _level_steps(own, who, words)
    both = (shared,) if own is None else (shared, own)
    if who.sandbox:
        yield from _sandbox_steps(both)
    for level in both:
        yield from _steps_for_some(f"{level.prefix}byChannel", level.by_channel, who.channel, words)
    for level in both:
        yield from _steps_for_some(f"{level.prefix}bySender", level.by_sender, who.sender, words)


def asking_lists(levels: PolicyLevels, who: Situation) -> Iterator[NamedList]:
    """The lists of tools that need an approval in this run."""
    own = levels.agents.get(plain_name(who.agent)) if who.agent else None
    for level in (levels.shared,) if own is None else (levels.shared, own):
        if level.ask is not None:
            yield NamedList(f"{level.prefix}requireApproval", level.ask)


def _level_steps(
    level: PolicyLevel, who: Situation, words: Vocabulary, *, has_base: bool = True
) -> Iterator[PolicyStep]:
    yield from _deny_step(level.label, level.lists.deny)
    if has_base:
        yield from _base_step(level.label, level.prefix, level.lists, words, may_be_ignored=True)
    for key in _provider_keys(who):
        if (own := level.by_provider.get(key)) is not None:
            name = f"{level.prefix}byProvider.{key}"
            yield from _deny_step(name, own.deny)
            yield from _base_step(name, f"{name}.", own, words, may_be_ignored=True)
            return  # the nearer one counts, and no other


def _provider_keys(who: Situation) -> tuple[str, ...]:
    """The nearest first."""
    if not who.provider:
        return ()
    provider = plain_name(who.provider)
    return (plain_name(f"{who.provider}/{who.model}"), provider) if who.model else (provider,)


def _deny_step(name: str, deny: Matcher | None) -> Iterator[PolicyStep]:
    if deny is not None:
        yield PolicyStep(name, (NamedList(name, deny),), denies=True)


def _base_step(
    label: str, prefix: str, lists: PolicyLists, words: Vocabulary, *, may_be_ignored: bool
) -> Iterator[PolicyStep]:
    beside = () if lists.allow is None else (NamedList(label, lists.allow),)
    if lists.profile is None:
        if beside:
            yield PolicyStep(label, beside, may_be_ignored=may_be_ignored)
        return
    name = f"{prefix}profile {lists.profile}"
    profile = words.profiles[lists.profile]
    if profile is not None:
        yield PolicyStep(name, (NamedList(name, profile), *beside), may_be_ignored=may_be_ignored)
    elif beside:
        yield PolicyStep(name, (), remark="allows every tool already, so the allow beside it adds nothing")


def _sandbox_steps(levels: Sequence[PolicyLevel]) -> Iterator[PolicyStep]:
    """An agent's alsoAllow adds back what the global list took, too; what is denied stays denied."""
    also: list[NamedList] = []
    for level in reversed(levels):
        name = f"{level.prefix}sandbox.tools"
        if level.sandbox is None:
            continue
        if level.sandbox.also_allow is not None:
            also.insert(0, NamedList(f"{name}.alsoAllow", level.sandbox.also_allow))
        yield from _deny_step(name, level.sandbox.deny)
        if level.sandbox.allow is not None:
            yield PolicyStep(name, (NamedList(name, level.sandbox.allow), *also))


def _steps_for_some(
    name: str, some: Sequence[ForSome], said: str | None, words: Vocabulary
) -> Iterator[PolicyStep]:
    """Every key that fits narrows. A run that does not say whose it is fits "*" and nothing else."""
    if not some:
        return
    plain = plain_name(said or "")
    for found in some:
        if fits(found.pattern, plain):
            own = f"{name}.{found.key}"
            yield from _deny_step(own, found.lists.deny)
            yield from _base_step(own, f"{own}.", found.lists, words, may_be_ignored=False)
