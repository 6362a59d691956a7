"""Turns what `create_scope` returned into what the guest gets: plain data, with each function a known call.

A program can only name calls that are in this table; the host keeps which tool a call means and how its
arguments are mapped. The same scope made again after a restart has the same names, so that a suspended call
finds its tool and its mapper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from codemode.executor import CallFailed
from codemode.namespaces.registry import NamespaceContext, Registered

_SEPARATOR = "."
_FORBIDDEN = frozenset(("__proto__", "constructor", "prototype", ""))
_MAX_NODES = 20_000
_MAX_DEPTH = 64
_EXACT = 1 << 53  # JavaScript numbers do not hold larger integers exactly

Mapper = Callable[[list[Any]], Any]


class ScopeRefused(Exception):
    """The integration must correct what its `create_scope` returns. No program has run."""

    code = "invalid_config"

    def __init__(self, namespace: str, path: str, problem: str) -> None:
        super().__init__(f'namespace "{namespace}"{" at " + path if path else ""}: {problem}')


@dataclass(frozen=True, slots=True)
class NamespaceTool:
    """A function of a namespace. The mapper turns the list of arguments into the tool's input."""

    tool_name: str
    input_mapper: Mapper | None = None


def namespace_tool(tool_name: str, input_mapper: Mapper | None = None) -> NamespaceTool:
    """Marks a function of a namespace. Without a mapper the tool gets the first argument, or {}."""
    return NamespaceTool(tool_name, input_mapper)


class NamespaceScopes:
    """The visible namespaces of one run."""

    def __init__(self, visible: Sequence[Registered], context: NamespaceContext) -> None:
        """Raises ScopeRefused."""
        self._calls: dict[str, tuple[str, Mapper | None]] = {}
        self.global_names = tuple(own.namespace.global_name for own in visible)
        trees = {own.namespace.global_name: self._tree(own, context) for own in visible}
        self.json = msgspec.json.encode(trees)

    def tool_id(self, target: str) -> str | None:
        """The catalog id behind a name in a namespace; None if no namespace has the name."""
        found = self._calls.get(target)
        return None if found is None else found[0]

    def resolve(self, target: str, arguments: list[Any]) -> tuple[str, Any] | CallFailed:
        """The tool's id and its input, or why the call fails."""
        found = self._calls.get(target)
        if found is None:
            return CallFailed(
                "unknown_tool", "UnknownTool", f'No function "{target[:120]}" in a namespace of this run.'
            )
        tool_id, mapper = found
        if mapper is None:
            return tool_id, (arguments[0] if arguments else {})
        try:
            return tool_id, mapper(arguments)
        except Exception as problem:  # the integration's own code met arguments that a program chose
            told = f"{target}: these arguments cannot be used: {type(problem).__name__}"
            return CallFailed("invalid_arguments", "InvalidArguments", told)

    def _tree(self, own: Registered, context: NamespaceContext) -> dict[str, Any]:
        name = own.namespace.id
        try:
            made = own.namespace.create_scope(context)
        except Exception as problem:
            raise ScopeRefused(name, "", f"createScope failed: {type(problem).__name__}") from problem
        if not isinstance(made, Mapping):
            raise ScopeRefused(name, "", "createScope must return a plain object")
        return _Serialiser(own, self._calls).of(cast("object", made), (own.namespace.global_name,), ())


class _Serialiser:
    def __init__(self, own: Registered, calls: dict[str, tuple[str, Mapper | None]]) -> None:
        self._own = own
        self._calls = calls
        self._nodes = 0

    def of(self, value: object, path: tuple[str, ...], above: tuple[int, ...]) -> dict[str, Any]:
        """`above` are the objects that contain this one; meeting one of them again is a cycle."""
        self._nodes += 1
        if self._nodes > _MAX_NODES or len(path) > _MAX_DEPTH:
            raise self._refused(path, f"more than {_MAX_NODES} parts, or {_MAX_DEPTH} levels")
        if id(value) in above:
            raise self._refused(path, "a cycle")
        match value:
            case NamespaceTool():
                return self._call(value, path)
            case Mapping():
                inside = (*above, id(cast("object", value)))
                items = cast("Mapping[object, object]", value).items()
                return {
                    "o": {
                        self._key(key, path): self.of(item, (*path, str(key)), inside) for key, item in items
                    }
                }
            case list() | tuple():
                inside = (*above, id(cast("object", value)))
                items = cast("Sequence[object]", value)
                return {"a": [self.of(item, (*path, str(at)), inside) for at, item in enumerate(items)]}
            case _ if callable(value):
                raise self._refused(path, "a raw function; use namespace_tool(tool_name)")
            case _:
                return {"v": _plain(value)}

    def _call(self, marker: NamespaceTool, path: tuple[str, ...]) -> dict[str, Any]:
        if marker.tool_name not in self._own.namespace.required_tool_names:
            raise self._refused(path, f'"{marker.tool_name}" is not in requiredToolNames')
        target = _SEPARATOR.join(path)
        self._calls[target] = (self._own.tool_id(marker.tool_name), marker.input_mapper)
        return {"c": target, "m": "namespace"}

    def _key(self, key: object, path: tuple[str, ...]) -> str:
        if not isinstance(key, str) or key in _FORBIDDEN or _SEPARATOR in key:
            raise self._refused(path, f"{key!r:.60} cannot be a name here")
        return key

    def _refused(self, path: tuple[str, ...], problem: str) -> ScopeRefused:
        return ScopeRefused(self._own.namespace.id, _SEPARATOR.join(path), problem)


def _plain(value: object) -> Any:
    """The value as JSON, or the nearest thing to it."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -_EXACT <= value <= _EXACT else str(value)
        case float():
            return value if math.isfinite(value) else None
        case bytes() | bytearray() | memoryview():
            return f"[binary, {len(cast('bytes', value))} bytes]"
        case Set():
            return [_plain(item) for item in sorted(cast("Set[Any]", value), key=repr)]
        case _:
            try:
                return msgspec.to_builtins(value, str_keys=True)
            except Exception:  # an object of any class, whose attributes may raise anything
                return f"[{type(value).__name__}]"
