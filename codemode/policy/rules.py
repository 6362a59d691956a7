"""The words of a tool policy: entries, the lists they form, groups and profiles. Pure.

An entry is a tool's name, an id such as "mcp:github:create_issue", either with `*` anywhere, "group:name", or
what a tool says of itself: "permission:net", "hint:destructive".
Names are compared in their plain form (names.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from codemode.config import ConfigError
from codemode.nearest import did_you_mean
from codemode.policy.names import fits, plain_name, split_pattern
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
_GROUP, _PERMISSION, _HINT = "group:", "permission:", "hint:"
HINTS = ("read-only", "destructive", "idempotent", "requires-approval")


class Subject(Struct, frozen=True):
    """A tool as lists see it: its name, its id and its permissions in their plain form, and its hints."""

    name: str
    tool_id: str
    permissions: frozenset[str] = frozenset()
    hints: frozenset[str] = frozenset()


def subject_of(tool: Tool) -> Subject:
    own = tool.hints
    # a server or a client that calls its tool harmless gains nothing by it
    said = (own.read_only and tool.trusted, own.destructive, own.idempotent, own.requires_approval)
    hints = frozenset(name for name, is_said in zip(HINTS, said, strict=True) if is_said)
    permissions = frozenset(map(plain_name, own.required_permissions))
    return Subject(plain_name(tool.name), plain_name(tool.id), permissions, hints)


class Entry(Struct, frozen=True):
    """One line of a list as written, and what it stands for."""

    text: str
    names: frozenset[str]  # without wildcards
    patterns: tuple[tuple[str, ...], ...]  # the pieces between the wildcards
    is_group: bool
    permissions: tuple[tuple[str, ...], ...] = ()  # patterns too
    hints: frozenset[str] = frozenset()

    @property
    def is_trait(self) -> bool:
        """Whether it names what tools say of themselves, so that it means something without any tool."""
        return bool(self.permissions or self.hints)

    def matches(self, subject: Subject) -> bool:
        if subject.name in self.names or subject.tool_id in self.names:
            return True
        return any(fits(found, subject.name) or fits(found, subject.tool_id) for found in self.patterns)


class Matcher:
    """A list of entries, asked about thousands of tools."""

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.entries = entries
        self._named = {name: entry.text for entry in reversed(entries) for name in entry.names}
        self._with_patterns = tuple(entry for entry in entries if entry.patterns)
        self._traits = tuple(entry for entry in entries if entry.is_trait)

    def rule_for(self, subject: Subject, *, covers: bool = False) -> str | None:
        """The entry that names the tool, as it was written.

        With `covers` permissions name a tool only if the list has all that it needs: leave for the network is
        no leave for the disk.
        """
        named = self._named.get(subject.name) or self._named.get(subject.tool_id)
        named = named or next((entry.text for entry in self._with_patterns if entry.matches(subject)), None)
        return named or (self._by_trait(subject, covers) if self._traits else None)

    def _by_trait(self, subject: Subject, covers: bool) -> str | None:
        for entry in self._traits:
            if entry.hints & subject.hints:
                return entry.text
        rules = {
            permission: entry.text
            for permission in sorted(subject.permissions)
            for entry in reversed(self._traits)
            if any(fits(pattern, permission) for pattern in entry.permissions)
        }
        if not rules or (covers and len(rules) < len(subject.permissions)):
            return None
        return next(iter(rules.values()))


class Vocabulary:
    """The groups and profiles of one policy: the built-in ones and the host's own."""

    def __init__(self, groups: Mapping[str, Sequence[str]], profiles: Mapping[str, Sequence[str]]) -> None:
        own_groups = {plain_name(name).removeprefix(_GROUP): tuple(found) for name, found in groups.items()}
        self._groups = GROUPS | own_groups
        own: dict[str, Sequence[str] | None] = {plain_name(name): found for name, found in profiles.items()}
        self.profiles: dict[str, Matcher | None] = {
            name: None if found is None else self.matcher(f"profiles.{name}", found)
            for name, found in (PROFILES | own).items()
        }

    def matcher(self, key: str, texts: Iterable[str]) -> Matcher:
        return Matcher(tuple(self.entry(key, text) for text in texts))

    def entry(self, key: str, text: str) -> Entry:
        word = plain_name(text)
        is_group = word.startswith(_GROUP)
        words = self._members(key, text, ()) if is_group else (word,)
        permissions = [word.removeprefix(_PERMISSION) for word in words if word.startswith(_PERMISSION)]
        hints = [_hint(key, word) for word in words if word.startswith(_HINT)]
        words = [word for word in words if not word.startswith((_PERMISSION, _HINT))]
        if not all(permissions):
            raise ConfigError(key, f'"{text}" names no permission: write "permission:net", for example.')
        names = frozenset(word for word in words if "*" not in word)
        patterns = tuple(split_pattern(word) for word in words if "*" in word)
        needed = tuple(map(split_pattern, permissions))
        return Entry(text, names, patterns, is_group, needed, frozenset(hints))

    def is_known(self, entry: Entry, offered: Sequence[Subject]) -> bool:
        """Whether it means something here: a group, a trait, a core tool's name, or a tool of the run."""
        if entry.is_group or entry.is_trait:
            return True
        return any(map(entry.matches, _CORE)) or any(map(entry.matches, offered))

    def _members(self, key: str, text: str, through: tuple[str, ...]) -> tuple[str, ...]:
        """Groups may name groups."""
        name = plain_name(text).removeprefix(_GROUP)
        if name not in self._groups:
            raise ConfigError(key, f'unknown group "{text}".{did_you_mean(name, self._groups)}')
        if name in through:
            raise ConfigError(key, f'group "{name}" contains itself.')
        found: list[str] = []
        for member in self._groups[name]:
            word = plain_name(member)
            found += self._members(key, word, (*through, name)) if word.startswith(_GROUP) else (word,)
        return tuple(found)


def _hint(key: str, word: str) -> str:
    name = word.removeprefix(_HINT).replace("_", "-")
    if name not in HINTS:
        known = ", ".join(HINTS)
        raise ConfigError(key, f'unknown hint "{name}".{did_you_mean(name, HINTS)} Known: {known}.')
    return name


# Known without being loaded, so that a list may name them in a run that lacks them.
_CORE = tuple(
    Subject(name, f"openclaw:core:{name}")
    for name in sorted({name for found in GROUPS.values() for name in found if ":" not in name} | {"image"})
)
