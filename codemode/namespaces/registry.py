"""Namespaces: small domain APIs that trusted integrations put in front of their own tools.

A namespace is registered under a plugin's id. A run sees it only if its catalog has all tools that the
namespace needs, from that plugin: a tool of the same name from a server or another plugin does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from codemode.catalog import Catalog
from codemode.catalog.names import RESERVED_WORDS
from codemode.config import ConfigError
from codemode.config.rules import shown
from codemode.failures.available import GLOBALS
from codemode.nearest import did_you_mean

if TYPE_CHECKING:  # imported only when a host asks for the description of exec
    from codemode.surface.description import NamespaceText

_LANGUAGE = """
AggregateError Array ArrayBuffer AsyncDisposableStack Atomics BigInt BigInt64Array BigUint64Array Boolean
DOMException DataView Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array
Float64Array Function Infinity Int16Array Int32Array Int8Array InternalError Intl Iterator JSON Map Math
NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String
SuppressedError Symbol SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array
Uint8ClampedArray WeakMap WeakRef WeakSet WebAssembly constructor decodeURI decodeURIComponent encodeURI
encodeURIComponent escape global globalThis hasOwnProperty isFinite isNaN parseFloat parseInt process
prototype self toString undefined unescape valueOf window __proto__
"""
_TAKEN = frozenset((*GLOBALS, *_LANGUAGE.split(), *RESERVED_WORDS))
_FIELDS = {
    "id": "id", "globalName": "global_name", "description": "description", "prompt": "prompt",
    "requiredToolNames": "required_tool_names", "createScope": "create_scope",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NamespaceContext:
    """What the engine tells `create_scope` about the run."""

    agent_id: str
    session_id: str
    session_key: str
    run_id: str
    config: Mapping[str, Any]
    is_aborted: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A domain API of one plugin. `register` checks it."""

    id: str
    global_name: str
    required_tool_names: tuple[str, ...]
    create_scope: Callable[[NamespaceContext], Any]
    description: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Registered:
    plugin_id: str
    namespace: Namespace

    def tool_id(self, tool_name: str) -> str:
        return f"plugin:{self.plugin_id}:{tool_name}"

    def is_visible(self, catalog: Catalog) -> bool:
        return all(self.tool_id(name) in catalog for name in self.namespace.required_tool_names)


class NamespaceRegistry:
    """Holds the namespaces; one per engine. A change applies to runs that start after it."""

    def __init__(self) -> None:
        self._by_id: dict[str, Registered] = {}

    def register(self, plugin_id: str, given: Namespace | Mapping[str, Any]) -> None:
        """A Namespace, or an object with camelCase keys. A plugin may replace its own. Raises ConfigError."""
        if not plugin_id or ":" in plugin_id:
            raise ConfigError("namespace", "a plugin id is not empty and has no colon.")
        namespace = given if isinstance(given, Namespace) else _read(given)
        _check(namespace)
        for other in self._by_id.values():
            is_same = other.namespace.id == namespace.id
            if is_same and other.plugin_id != plugin_id:
                raise ConfigError(f"namespace.{namespace.id}", "another plugin has registered this id.")
            if not is_same and other.namespace.global_name == namespace.global_name:
                raise ConfigError(
                    f"namespace.{namespace.id}.globalName",
                    f'"{namespace.global_name}" is taken by another one.',
                )
        self._by_id[namespace.id] = Registered(plugin_id, namespace)

    def clear(self, plugin_id: str) -> int:
        """Removes the namespaces of this plugin and returns how many there were."""
        gone = [key for key, found in self._by_id.items() if found.plugin_id == plugin_id]
        for key in gone:
            del self._by_id[key]
        return len(gone)

    @property
    def registered(self) -> tuple[Registered, ...]:
        return tuple(self._by_id.values())

    def copy(self) -> NamespaceRegistry:
        made = NamespaceRegistry()
        made._by_id = dict(self._by_id)
        return made


def visible_in(registered: Iterable[Registered], catalog: Catalog) -> tuple[Registered, ...]:
    """The namespaces that a run with this catalog sees, in the order of their global names."""
    found = [own for own in registered if own.is_visible(catalog)]
    return tuple(sorted(found, key=lambda own: own.namespace.global_name))


def texts_of(registered: Iterable[Registered], catalog: Catalog) -> tuple[NamespaceText, ...]:
    """For the description of exec, which mentions only visible namespaces."""
    from codemode.surface.description import NamespaceText

    found = [own.namespace for own in visible_in(registered, catalog)]
    return tuple(NamespaceText(own.global_name, own.description, own.prompt) for own in found)


def _read(given: object) -> Namespace:
    if not isinstance(given, Mapping):
        raise ConfigError("namespace", f"must be an object, not {shown(given)}.")
    fields = cast("Mapping[str, Any]", given)
    for name in fields:
        if name not in _FIELDS:
            raise ConfigError(
                f"namespace.{str(name)[:80]}",
                f"unknown key.{did_you_mean(str(name), _FIELDS)} Allowed: {', '.join(_FIELDS)}.",
            )
    for name in ("id", "globalName", "requiredToolNames", "createScope"):
        if name not in fields:
            raise ConfigError(f"namespace.{name}", "is missing.")
    return Namespace(**{own: fields[name] for name, own in _FIELDS.items() if name in fields})


def _check(namespace: Namespace) -> None:
    """Checks the types too: the registering code may not have been type-checked."""
    where = f"namespace.{str(namespace.id)[:80]}"
    words = (namespace.id, namespace.global_name, namespace.description, namespace.prompt)
    if not all(isinstance(cast("object", word), str) for word in words) or not namespace.id:
        raise ConfigError(
            where, "id, globalName, description and prompt are strings, and the id is not empty."
        )
    name = namespace.global_name
    if not name.isidentifier() and not (name.replace("$", "_").isidentifier()):
        raise ConfigError(f"{where}.globalName", f"{shown(name)} is no JavaScript identifier.")
    if name in _TAKEN or name.startswith("__openclaw"):
        raise ConfigError(f"{where}.globalName", f'"{name}" is a name that programs have already.')
    needed = cast("object", namespace.required_tool_names)
    if isinstance(needed, str) or not isinstance(needed, Sequence):
        raise ConfigError(f"{where}.requiredToolNames", f"must be a list of names, not {shown(needed)}.")
    if not all(isinstance(tool, str) and tool for tool in cast("Sequence[object]", needed)):
        raise ConfigError(f"{where}.requiredToolNames", "must hold the names of tools.")
    if not callable(namespace.create_scope):
        raise ConfigError(f"{where}.createScope", "must be a function.")
