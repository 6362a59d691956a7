"""Finds the tool policy in a host's own document: in `tools`, `agents` and `policy`. Pure.

`codemode.policy` gives it a meaning. The host's other sections stay the host's own. A policy in a place that
no code reads is refused: an ignored policy lets every tool through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from codemode.config.rules import ConfigError, is_document, shown
from codemode.nearest import nearest

LIST_KEYS = ("allow", "deny", "profile")
AGENT_KEYS = (*LIST_KEYS, "byProvider", "sandbox", "byChannel", "bySender", "requireApproval")
SHARED_KEYS = (*AGENT_KEYS, "groups", "profiles")

_OTHER_READERS = ("codeMode", "toolSearch")  # keys of `tools` that other modules read
_NOT_SEARCHED = ("tools", "agents", "policy", "settings", "mcpServers", "mcp")  # have readers of their own
_LOOK_ALIKES = (*SHARED_KEYS, "alsoAllow")
_SELECTOR = re.compile(r"by[A-Z_]")
_MAX_DEPTH = 16
_HOSTS_OWN = "If it is a setting of the host's own, hand over a document without it."


class WrittenPolicy(Struct, frozen=True):
    """One policy as the host wrote it, by level. `path` is its place: "policy", or "tools" of a document."""

    path: str
    shared: Mapping[str, Any]
    agents: Mapping[str, Any]

    @property
    def agents_path(self) -> str:
        return "agents" if self.path == "tools" else f"{self.path}.agents"

    def agent_path(self, agent: str) -> str:
        return f"{self.agents_path}.{agent}{'.tools' if self.path == 'tools' else ''}"


def policy_argument(value: object) -> WrittenPolicy:
    """Reads the form of `Engine(policy=…)`, in which an agent's keys are directly under its name."""
    config = _object("policy", value)
    shared = {key: found for key, found in config.items() if key != "agents"}
    agents = config.get("agents")
    return WrittenPolicy("policy", shared, {} if agents is None else _object("policy.agents", agents))


def written_policies(document: object) -> tuple[WrittenPolicy, ...]:
    """Every policy in a host's document; none in a value that is not a document. Raises ConfigError."""
    if not is_document(document):
        return ()
    whole = _object("the document", document)
    for key, value in whole.items():
        if key in _LOOK_ALIKES and _could_be(key, value):
            raise ConfigError(
                key, f"nothing reads this beside `tools`: write it as tools.{key}. {_HOSTS_OWN}"
            )
        if key not in _NOT_SEARCHED:
            _refuse_hidden(key, value)
    shared = _section("tools", whole.get("tools"), SHARED_KEYS)
    agents = _agents(whole.get("agents"))
    found = [WrittenPolicy("tools", shared, agents)] if shared or agents else []
    own = whole.get("policy")
    return (*found, policy_argument(own)) if own is not None else tuple(found)


def _section(path: str, section: object, keys: tuple[str, ...]) -> dict[str, Any]:
    """The policy keys of a `tools` object, which may have other keys of the host."""
    found: dict[str, Any] = {}
    for key, value in _object(path, {} if section is None else section).items():
        if key in keys:
            found |= {} if value is None else {key: value}
        elif key not in _OTHER_READERS:
            _refuse_look_alike(path, key, value, keys)
    return found


def _agents(agents: object) -> dict[str, Any]:
    """Agents' policies by agent id, from `agents.list`, from `agents` by id, or from a plain list."""
    found: dict[str, Any] = {}
    for path, agent, entry in _agent_entries(agents):
        section = _agent_section(path, entry)
        if not section:
            continue
        if not isinstance(agent, str) or not agent.strip():
            raise ConfigError(f"{path}.id", f"must be the name of the agent, not {shown(agent)}.")
        if agent in found:
            raise ConfigError(f"{path}.id", f'the agent "{agent}" is there twice.')
        found[agent] = section
    return found


def _agent_entries(agents: object) -> Iterator[tuple[str, object, Mapping[str, Any]]]:
    if agents is None:
        return
    is_list = isinstance(agents, list | tuple)
    by_id: Mapping[str, object] = {"list": cast("object", agents)} if is_list else _object("agents", agents)
    for name, entry in by_id.items():
        if name == "list":
            for at, listed in enumerate(_listed(entry)):
                path = f"agents.list[{at}]"
                own = _object(path, listed)
                yield path, own.get("id"), own
        elif isinstance(entry, Mapping | list | tuple):  # plain values are the host's own
            path = f"agents.{name}"
            own = _object(path, cast("object", entry))
            if name == "defaults" and _agent_section(path, own):
                raise ConfigError(path, "what holds for every agent is written into tools.")
            yield path, name, own


def _agent_section(path: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    direct = {key: entry[key] for key in _LOOK_ALIKES if key in entry and _could_be(key, entry[key])}
    tools = entry.get("tools")
    for key, value in entry.items():
        if key not in ("tools", *direct):
            _refuse_hidden(f"{path}.{key}", value)
    for key in direct:
        if tools is not None or key not in AGENT_KEYS or key == "sandbox":
            raise ConfigError(f"{path}.{key}", f"nothing reads this here: write it into {path}.tools.")
    return direct if tools is None else _section(f"{path}.tools", tools, AGENT_KEYS)


def _refuse_look_alike(path: str, key: str, value: object, keys: tuple[str, ...]) -> None:
    """Refuses a misspelt key, an unknown selector (`by…`), and a list: it can hardly list anything but
    tools."""
    meant = nearest(key, _LOOK_ALIKES, 1)
    is_meant = bool(meant) and _could_be(meant[0], value)
    is_chosen = _SELECTOR.match(key) is not None and isinstance(value, Mapping)
    if is_meant or is_chosen or isinstance(value, list | tuple):
        hint = f' Did you mean "{meant[0]}"?' if meant and meant[0] in keys and meant[0] != key else ""
        raise ConfigError(
            f"{path}.{key}",
            f"unknown key of a tool policy.{hint} Allowed: {', '.join(keys)}. {_HOSTS_OWN}",
        )
    _refuse_hidden(f"{path}.{key}", cast("object", value))


def _refuse_hidden(path: str, value: object) -> None:
    where = _hidden_policy(path, value, 0)
    if where is not None:
        raise ConfigError(
            where,
            "there is a tool policy in this place, where nothing reads it: write it into tools or into an "
            f"agent's tools (byChannel, bySender and sandbox are for some runs only). {_HOSTS_OWN}",
        )


def _hidden_policy(path: str, value: object, depth: int) -> str | None:
    """The path of a `tools: {allow, deny}` or a `toolsBySender`, at any depth; None without one."""
    if depth > _MAX_DEPTH or not isinstance(value, Mapping | list | tuple):
        return None
    inner = cast("Any", value)
    items = inner.items() if isinstance(value, Mapping) else enumerate(inner)
    for key, found in items:
        own = f"{path}.{key}"
        if key == "toolsBySender" or (key == "tools" and _has_lists(found)):
            return own
        if (deeper := _hidden_policy(own, found, depth + 1)) is not None:
            return deeper
    return None


def _has_lists(value: object) -> bool:
    return isinstance(value, Mapping) and any(key in value for key in ("allow", "deny", "alsoAllow"))


def _could_be(key: str, value: object) -> bool:
    """Whether the value has the kind that this key takes, even if its content is wrong."""
    match key:
        case "allow" | "deny" | "alsoAllow":
            return isinstance(value, list | tuple | str | Mapping)
        case "profile":
            return isinstance(value, str)
        case "groups" | "profiles":
            return isinstance(value, Mapping) and _holds_lists(cast("Mapping[object, object]", value))
        case "sandbox":
            return isinstance(value, Mapping) and "tools" in value
        case _:
            return isinstance(value, Mapping)


def _holds_lists(value: Mapping[object, object]) -> bool:
    return bool(value) and all(isinstance(found, list | tuple) for found in value.values())


def _object(path: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(path, f"must be an object, not {shown(value)}.")
    if not all(isinstance(key, str) for key in cast("Mapping[object, object]", value)):
        raise ConfigError(path, "must be an object whose keys are strings.")
    return cast("Mapping[str, Any]", value)


def _listed(value: object) -> list[object]:
    if not isinstance(value, list | tuple):
        raise ConfigError("agents.list", f"must be a list of agents, not {shown(value)}.")
    return list(cast("list[object]", value))
