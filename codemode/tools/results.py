"""Encodes a tool's return value as JSON: plain values, dataclasses, msgspec structs, pydantic models, dates.

What JSON cannot say is repaired where that is harmless (half a surrogate pair, a key that is not a string)
and refused elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Set
from typing import Any, cast

import msgspec
from codemode_runtime.language import well_formed

_MAX_DEPTH = 200


class NotJson(TypeError):
    """The tool returned something that is not JSON. It has run; only its answer is lost."""

    code = "tool_error"


def encode_result(value: Any) -> bytes:
    """Raises NotJson and nothing else."""
    try:
        return msgspec.json.encode(value, enc_hook=_dump)
    except Exception:
        return _encode_repaired(value)


def _encode_repaired(value: Any) -> bytes:
    try:
        return msgspec.json.encode(_repair(value, 0))
    except NotJson:
        raise
    except Exception as problem:
        raise NotJson(f"the result cannot be written as JSON: {type(problem).__name__}") from None


def _dump(value: Any) -> Any:
    """msgspec calls this for objects that it does not know."""
    dump = getattr(value, "model_dump", None)  # pydantic, without importing it
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    if isinstance(value, Mapping):
        return dict(cast("Mapping[Any, Any]", value))
    raise NotJson(f"the result holds a {type(value).__name__}, which is not JSON")


def _repair(value: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise NotJson(f"the result is nested more than {_MAX_DEPTH} levels deep, or contains itself")
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return well_formed(value)
        case Mapping():
            items = cast("Mapping[Any, Any]", value).items()
            return {_key(key): _repair(item, depth + 1) for key, item in items}
        case list() | tuple() | Set():
            return [_repair(item, depth + 1) for item in cast("list[Any]", value)]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = dataclasses.fields(value)
            return {own.name: _repair(getattr(value, own.name), depth + 1) for own in fields}
        case _:
            return _repair(msgspec.to_builtins(value, enc_hook=_dump), depth + 1)


def _key(key: Any) -> str:
    repaired = _repair(key, 0) if isinstance(key, str) else key
    return repaired if isinstance(repaired, str) else str(repaired)
