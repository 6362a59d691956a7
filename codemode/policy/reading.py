"""Reads what a host wrote into the levels of a policy: the global one, and one for each agent. Pure.

Everything is checked here, before a tool is asked about: an unknown key, profile or group and a value of
another kind are a ConfigError that names the key. `null` is the same as absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from codemode.config import ConfigError
from codemode.config.documents import AGENT_KEYS, LIST_KEYS, SHARED_KEYS, WrittenPolicy
from codemode.config.rules import shown
from codemode.nearest import did_you_mean
from codemode.policy.names import plain_name, split_pattern
from codemode.policy.rules import Matcher, Vocabulary


class PolicyLists(Struct, frozen=True):
    allow: Matcher | None = None
    deny: Matcher | None = None
    profile: str | None = None


class SandboxLists(Struct, frozen=True):
    allow: Matcher | None = None
    deny: Matcher | None = None
    also_allow: Matcher | None = None


class ForSome(Struct, frozen=True):
    """The lists for channels or senders that fit a key."""

    key: str
    pattern: tuple[str, ...]
    lists: PolicyLists


class PolicyLevel(Struct, frozen=True):
    """What holds for everybody, or for one agent. `label` names it in explanations, `prefix` its parts."""

    label: str
    prefix: str
    lists: PolicyLists
    by_provider: Mapping[str, PolicyLists]  # by plain name
    sandbox: SandboxLists | None
    by_channel: tuple[ForSome, ...]
    by_sender: tuple[ForSome, ...]
    ask: Matcher | None = None  # what needs an approval


class PolicyLevels(Struct, frozen=True):
    shared: PolicyLevel
    agents: Mapping[str, PolicyLevel]  # by plain name


def read_words(written: Sequence[WrittenPolicy]) -> Vocabulary:
    """Groups and profiles of all policies together: each may use those of the others. Raises ConfigError."""
    return Vocabulary(_definitions(written, "groups"), _definitions(written, "profiles"))


def read_levels(written: WrittenPolicy, words: Vocabulary) -> PolicyLevels:
    """Raises ConfigError."""
    top = (*SHARED_KEYS, "agents") if written.path == "policy" else SHARED_KEYS
    _check_keys(written.path, written.shared, top)
    label, prefix = ("tools", "tools.") if written.path == "tools" else ("global", "")
    shared = _level(written.path, label, prefix, written.shared, words)
    agents: dict[str, PolicyLevel] = {}
    for name, section in _names(written.agents_path, written.agents):
        path = written.agent_path(name)
        own = _as_object(path, section)
        _check_keys(path, own, AGENT_KEYS)
        label = path.removeprefix("policy.")
        agents[plain_name(name)] = _level(path, label, f"{label}.", own, words)
    return PolicyLevels(shared, agents)


def read_entries(key: str, found: object) -> tuple[str, ...]:
    """A list of entries as they are written. Raises ConfigError."""
    items = cast("Sequence[object]", found) if isinstance(found, list | tuple) else None
    if items is None or not all(isinstance(item, str) and plain_name(item) for item in items):
        raise ConfigError(key, "must be a list of tool names, ids or groups.")
    return tuple(cast("str", item).strip() for item in items)


def _level(path: str, label: str, prefix: str, section: Mapping[str, Any], words: Vocabulary) -> PolicyLevel:
    by_provider = {
        plain_name(name): _lists(f"{path}.byProvider.{name}", own, words)
        for name, own in _names(f"{path}.byProvider", section.get("byProvider"))
    }
    return PolicyLevel(
        label,
        prefix,
        _lists(path, {key: section.get(key) for key in LIST_KEYS}, words),
        by_provider,
        _sandbox(f"{path}.sandbox", section.get("sandbox"), words),
        _for_some(f"{path}.byChannel", section.get("byChannel"), words),
        _for_some(f"{path}.bySender", section.get("bySender"), words),
        _list(f"{path}.requireApproval", section.get("requireApproval"), words),
    )


def _lists(path: str, section: object, words: Vocabulary) -> PolicyLists:
    own = _as_object(path, section)
    _check_keys(path, own, LIST_KEYS)
    allow, deny = (_list(f"{path}.{key}", own.get(key), words) for key in ("allow", "deny"))
    return PolicyLists(allow, deny, _profile(f"{path}.profile", own.get("profile"), words))


def _sandbox(path: str, section: object, words: Vocabulary) -> SandboxLists | None:
    outer = _as_object(path, {} if section is None else section)
    _check_keys(path, outer, ("tools",))
    if outer.get("tools") is None:
        return None
    own = _as_object(f"{path}.tools", outer["tools"])
    _check_keys(f"{path}.tools", own, keys := ("allow", "deny", "alsoAllow"))
    return SandboxLists(*(_list(f"{path}.tools.{key}", own.get(key), words) for key in keys))


def _for_some(path: str, section: object, words: Vocabulary) -> tuple[ForSome, ...]:
    return tuple(
        ForSome(name, split_pattern(plain_name(name)), _lists(f"{path}.{name}", own, words))
        for name, own in _names(path, section, wildcards=True)
    )


def _list(path: str, found: object, words: Vocabulary) -> Matcher | None:
    return None if found is None else words.matcher(path, read_entries(path, found))


def _profile(path: str, found: object, words: Vocabulary) -> str | None:
    if found is None:
        return None
    name = plain_name(found) if isinstance(found, str) else ""
    if name not in words.profiles:
        known = ", ".join(sorted(words.profiles))
        raise ConfigError(path, f"must be one of {known}.{did_you_mean(name, words.profiles)}")
    return name


def _definitions(written: Sequence[WrittenPolicy], part: str) -> dict[str, tuple[str, ...]]:
    """By plain name; two policies may say the same twice, but not two things."""
    found: dict[str, tuple[str, ...]] = {}
    for policy in written:
        path = f"{policy.path}.{part}"
        for name, entries in _names(path, policy.shared.get(part), _group_name):
            own = read_entries(f"{path}.{name}", entries)
            if found.setdefault(_group_name(name), own) != own:
                raise ConfigError(f"{path}.{name}", "another policy says something else under this name.")
    return found


def _group_name(name: str) -> str:
    return plain_name(name).removeprefix("group:")


def _names(
    path: str, section: object, plain_form: Callable[[str], str] = plain_name, *, wildcards: bool = False
) -> Iterator[tuple[str, Any]]:
    """The members of an object whose keys are names. Of two that are the same name one would be lost."""
    seen: set[str] = set()
    for name, found in _as_object(path, {} if section is None else section).items():
        plain = plain_form(name)
        if not plain or plain in seen:
            raise ConfigError(f"{path}.{name}", "this name is there twice." if plain else "must be a name.")
        if "*" in plain and not wildcards:
            raise ConfigError(f"{path}.{name}", "wildcards are for tools, channels and senders only.")
        seen.add(plain)
        yield name, found


def _as_object(path: str, found: object) -> Mapping[str, Any]:
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in cast("Any", found)):
        raise ConfigError(path, f"must be an object, not {shown(cast('object', found))}.")
    return cast("Mapping[str, Any]", found)


def _check_keys(path: str, config: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    for name in config:
        if name not in allowed:
            hint = did_you_mean(name, allowed)
            raise ConfigError(f"{path}.{name}", f"unknown key.{hint} Allowed: {', '.join(allowed)}.")
