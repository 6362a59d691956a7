"""Encodes a tool's return value as JSON: plain values, dataclasses, msgspec structs, pydantic models, dates.

What JSON cannot say is repaired where that is harmless (half a surrogate pair, a key that is not a string)
and refused elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Set
from functools import partial
from typing import Any, cast

import msgspec
from codemode_runtime.language import well_formed

from codemode.tools.content import Collected, Content

_MAX_DEPTH = 200
Dump = Callable[[Any], Any]


class NotJson(TypeError):
    """The tool returned something that is not JSON. It has run; only its answer is lost."""

    code = "tool_error"


def encode_result(value: Any, contents: Collected | None = None) -> bytes:
    """Content in it becomes handles, and is collected. Raises NotJson and nothing else."""
    dump = partial(_dump, contents)
    try:
        return msgspec.json.encode(value, enc_hook=dump)
    except Exception:
        return _encode_repaired(value, dump)


def _encode_repaired(value: Any, dump: Dump) -> bytes:
    try:
        return msgspec.json.encode(_repair(value, 0, dump))
    except NotJson:
        raise
    except Exception as problem:
        raise NotJson(f"the result cannot be written as JSON: {type(problem).__name__}") from None


def _dump(contents: Collected | None, value: Any) -> Any:
    """msgspec calls this for objects that it does not know."""
    if isinstance(value, Content):
        if contents is None:
            raise NotJson(f"the result holds {value!r}, which is not JSON")
        return contents.handle_of(value)
    dump = getattr(value, "model_dump", None)  # pydantic, without importing it
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    if isinstance(value, Mapping):
        return dict(cast("Mapping[Any, Any]", value))
    raise NotJson(f"the result holds a {type(value).__name__}, which is not JSON")


def _repair(value: Any, depth: int, dump: Dump) -> Any:
    if depth > _MAX_DEPTH:
        raise NotJson(f"the result is nested more than {_MAX_DEPTH} levels deep, or contains itself")
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return well_formed(value)
        case Mapping():
            items = cast("Mapping[Any, Any]", value).items()
            return {_key(key, dump): _repair(item, depth + 1, dump) for key, item in items}
        case list() | tuple() | Set():
            return [_repair(item, depth + 1, dump) for item in cast("list[Any]", value)]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = dataclasses.fields(value)
            return {own.name: _repair(getattr(value, own.name), depth + 1, dump) for own in fields}
        case _:
            return _repair(msgspec.to_builtins(value, enc_hook=dump), depth + 1, dump)


def _key(key: Any, dump: Dump) -> str:
    repaired = _repair(key, 0, dump) if isinstance(key, str) else key
    return repaired if isinstance(repaired, str) else str(repaired)
