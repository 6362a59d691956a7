"""The words of a tool policy: entries, the lists they form, groups and profiles. Pure.

An entry is a tool's name, an id such as "mcp:github:create_issue", either with `*` anywhere, or "group:name".
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
_GROUP = "group:"


class Subject(Struct, frozen=True):
    """A tool as lists see it: its name and its id, in their plain form."""

    name: str
    tool_id: str


def subject_of(tool: Tool) -> Subject:
    return Subject(plain_name(tool.name), plain_name(tool.id))


class Entry(Struct, frozen=True):
    """One line of a list as written, and what it stands for."""

    text: str
    names: frozenset[str]  # without wildcards
    patterns: tuple[tuple[str, ...], ...]  # the pieces between the wildcards
    is_group: bool

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

    def rule_for(self, subject: Subject) -> str | None:
        """The entry that names the tool, as it was written."""
        named = self._named.get(subject.name) or self._named.get(subject.tool_id)
        return named or next((entry.text for entry in self._with_patterns if entry.matches(subject)), None)


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
        names = frozenset(word for word in words if "*" not in word)
        patterns = tuple(split_pattern(word) for word in words if "*" in word)
        return Entry(text, names, patterns, is_group)

    def is_known(self, entry: Entry, offered: Sequence[Subject]) -> bool:
        """Whether the entry means something here: a group, a core tool's name, or a tool of the run."""
        return entry.is_group or any(map(entry.matches, _CORE)) or any(map(entry.matches, offered))

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


# Known without being loaded, so that a list may name them in a run that lacks them.
_CORE = tuple(
    Subject(name, f"openclaw:core:{name}")
    for name in sorted({name for found in GROUPS.values() for name in found if ":" not in name} | {"image"})
)
