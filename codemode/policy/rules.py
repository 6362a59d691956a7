"""The words of a tool policy: entries, groups, profiles, and the configuration they are read from. Pure.

An entry is a tool's name, an id such as "mcp:github:create_issue", either with `*` anywhere, or "group:name".
Case does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct, field

from codemode.config import ConfigError
from codemode.nearest import did_you_mean
from codemode.tools import Tool

GROUPS: dict[str, tuple[str, ...]] = {
    "runtime": ("exec", "bash", "process"),
    "fs": ("read", "write", "edit", "apply_patch"),
    "sessions": ("sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "session_status"),
    "memory": ("memory_search", "memory_get"),
    "web": ("web_search", "web_fetch"),
    "ui": ("browser", "canvas"),
    "automation": ("cron", "gateway"),
    "messaging": ("message",),
    "nodes": ("nodes",),
    "openclaw": ("openclaw:*",),  # by id: all core tools, no plugins
}
PROFILES: dict[str, tuple[str, ...] | None] = {
    "minimal": ("session_status",),
    "coding": ("group:fs", "group:runtime", "group:sessions", "group:memory", "image"),
    "messaging": (
        "group:messaging",
        "sessions_list",
        "sessions_history",
        "sessions_send",
        "session_status",
    ),
    "full": None,
}
_SECTION_KEYS = ("allow", "deny", "profile", "byProvider")
_TOP_KEYS = (*_SECTION_KEYS, "groups", "profiles", "agents")


class Subject(Struct, frozen=True):
    """A tool as lists see it: its name and its id, in lower case."""

    name: str
    tool_id: str


def subject_of(tool: Tool) -> Subject:
    return Subject(tool.name.casefold(), tool.id.casefold())


class Entry(Struct, frozen=True):
    """One line of a list as written, and what it stands for."""

    text: str
    names: frozenset[str]  # without wildcards
    globs: tuple[tuple[str, ...], ...]  # the pieces between the wildcards
    is_group: bool

    def matches(self, subject: Subject) -> bool:
        if subject.name in self.names or subject.tool_id in self.names:
            return True
        return any(_fits(glob, subject.name) or _fits(glob, subject.tool_id) for glob in self.globs)


class Matcher:
    """A list of entries, asked about thousands of tools."""

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.entries = entries
        self._named = {name: entry.text for entry in reversed(entries) for name in entry.names}
        self._globbed = tuple(entry for entry in entries if entry.globs)

    def rule_for(self, subject: Subject) -> str | None:
        """The entry that names the tool, as it was written."""
        named = self._named.get(subject.name) or self._named.get(subject.tool_id)
        return named or next((entry.text for entry in self._globbed if entry.matches(subject)), None)


class PolicySection(Struct, frozen=True):
    allow: Matcher | None = None
    deny: Matcher | None = None
    profile: str | None = None
    by_provider: Mapping[str, PolicySection] = field(default_factory=dict[str, "PolicySection"])

    def for_provider(self, provider: str | None, model: str | None) -> tuple[str, PolicySection | None]:
        """`provider/model` beats `provider`: only the nearer one counts."""
        if provider is None:
            return "", None
        keys = (f"{provider}/{model}", provider) if model is not None else (provider,)
        for key in keys:
            found = self.by_provider.get(key.casefold())
            if found is not None:
                return key, found
        return "", None


class Vocabulary:
    """The groups and profiles of one policy: the built-in ones and the host's own."""

    def __init__(self, groups: Mapping[str, Sequence[str]], profiles: Mapping[str, Sequence[str]]) -> None:
        own_groups = {name.casefold().removeprefix("group:"): tuple(found) for name, found in groups.items()}
        self._groups = GROUPS | own_groups
        own: dict[str, Sequence[str] | None] = {name.casefold(): found for name, found in profiles.items()}
        self.profiles: dict[str, Matcher | None] = {
            name: None if found is None else self.matcher(f"profiles.{name}", found)
            for name, found in (PROFILES | own).items()
        }

    def matcher(self, key: str, texts: Iterable[str]) -> Matcher:
        return Matcher(tuple(self.entry(key, text) for text in texts))

    def entry(self, key: str, text: str) -> Entry:
        is_group = text.casefold().startswith("group:")
        words = self._members(key, text, ()) if is_group else (text.casefold(),)
        plain = frozenset(word for word in words if "*" not in word)
        globs = tuple(tuple(word.split("*")) for word in words if "*" in word)
        return Entry(text, plain, globs, is_group)

    def is_known(self, entry: Entry, offered: Sequence[Subject]) -> bool:
        """Whether the entry means something here: a group, a core tool's name, or a tool of the run."""
        return entry.is_group or any(map(entry.matches, _CORE)) or any(map(entry.matches, offered))

    def _members(self, key: str, text: str, through: tuple[str, ...]) -> tuple[str, ...]:
        """Groups may name groups."""
        name = text.casefold().removeprefix("group:")
        if name not in self._groups:
            raise ConfigError(key, f'unknown group "{text}".{did_you_mean(name, self._groups)}')
        if name in through:
            raise ConfigError(key, f'group "{name}" contains itself.')
        found: list[str] = []
        for member in self._groups[name]:
            if member.casefold().startswith("group:"):
                found += self._members(key, member, (*through, name))
            else:
                found.append(member.casefold())
        return tuple(found)


def read_policy(config: Mapping[str, Any]) -> tuple[PolicySection, dict[str, PolicySection], Vocabulary]:
    """The global section, the agents' sections by name, and the words they may use. Raises ConfigError."""
    _check_keys("policy", config, _TOP_KEYS)
    groups, profiles = (
        {name: _texts(f"policy.{part}.{name}", found) for name, found in _mapping(config, part).items()}
        for part in ("groups", "profiles")
    )
    words = Vocabulary(groups, profiles)
    agents: dict[str, PolicySection] = {}
    for name, section in _mapping(config, "agents").items():
        key = f"policy.agents.{name}"
        _check_keys(key, _as_mapping(key, section), _SECTION_KEYS)
        agents[name.casefold()] = _section(key, section, words)
    shared = {key: value for key, value in config.items() if key in _SECTION_KEYS}
    return _section("policy", shared, words), agents, words


def _section(key: str, config: Mapping[str, Any], words: Vocabulary) -> PolicySection:
    by_provider: dict[str, PolicySection] = {}
    for name, own in _mapping(config, "byProvider").items():
        own_key = f"{key}.byProvider.{name}"
        _check_keys(own_key, _as_mapping(own_key, own), ("allow", "deny", "profile"))
        by_provider[name.casefold()] = _section(own_key, own, words)
    return PolicySection(
        _list(f"{key}.allow", config.get("allow"), words),
        _list(f"{key}.deny", config.get("deny"), words),
        _profile(f"{key}.profile", config.get("profile"), words),
        by_provider,
    )


def _list(key: str, found: object, words: Vocabulary) -> Matcher | None:
    return None if found is None else words.matcher(key, _texts(key, found))


def _profile(key: str, found: object, words: Vocabulary) -> str | None:
    if found is None:
        return None
    if not isinstance(found, str) or found.casefold() not in words.profiles:
        known = ", ".join(sorted(words.profiles))
        hint = did_you_mean(found, words.profiles) if isinstance(found, str) else ""
        raise ConfigError(key, f"must be one of {known}.{hint}")
    return found.casefold()


def _texts(key: str, found: object) -> tuple[str, ...]:
    items = cast("Sequence[object]", found) if isinstance(found, list | tuple) else None
    if items is None or not all(isinstance(item, str) and item.strip() for item in items):
        raise ConfigError(key, "must be a list of tool names, ids or groups.")
    return tuple(cast("str", item).strip() for item in items)


def _mapping(config: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = config.get(key)
    return {} if found is None else _as_mapping(key, found)


def _as_mapping(key: str, found: object) -> Mapping[str, Any]:
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in cast("Any", found)):
        raise ConfigError(key, "must be an object.")
    return cast("Mapping[str, Any]", found)


def _check_keys(key: str, config: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    for name in _as_mapping(key, config):
        if name not in allowed:
            hint = did_you_mean(name, allowed)
            raise ConfigError(f"{key}.{name}", f"unknown key.{hint} Allowed: {', '.join(allowed)}.")


def _fits(glob: tuple[str, ...], text: str) -> bool:
    """The pieces in order, the first at the start and the last at the end. Linear in the text."""
    first, *middle, last = glob
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in middle:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


# Known without being loaded, so that a list may name them in a run that lacks them.
_CORE = tuple(
    Subject(name, f"openclaw:core:{name}")
    for name in sorted({name for found in GROUPS.values() for name in found if ":" not in name} | {"image"})
)
