"""Turns what models really send to the controls into what the controls take. Pure; each repair has a name.

It repairs only where there is one way to read the input. The schema of the target decides which keys are its
own: a tool that declares `input` gets its `input`, not what is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from codemode.tools import Tool

# The first key that holds a text is the id; the others may be arguments of the target.
_IDS = ("id", "toolId", "tool_id", "toolName", "tool_name", "tool", "name")
_ARGS = ("args", "input", "arguments", "params", "parameters", "arg")
_QUERIES = ("query", "q", "search", "text", "keywords")
_CODES = ("code", "javascript", "js", "program", "script", "source", "command")
_LIMITS = ("limit", "maxResults", "max_results", "count")


class Unreadable(Exception):
    """The input has no single reading; nothing has been called. The text says what to send."""

    code = "invalid_arguments"


class ReadCall(Struct, frozen=True):
    id: str
    args: Any
    repairs: tuple[str, ...] = ()


class ReadSearch(Struct, frozen=True):
    query: str
    limit: int | None
    repairs: tuple[str, ...] = ()


class ReadText(Struct, frozen=True):
    """An id to describe, or a program."""

    text: str
    repairs: tuple[str, ...] = ()


def read_object(given: object) -> tuple[Any, tuple[str, ...]]:
    """Reads the arguments of any call: some hosts pass on the model's JSON text as it is."""
    if given is None:
        return {}, ()
    found = _parsed(given)
    return (given, ()) if found is None else (found, ("json_arguments",))


def read_call(given: object, find: Callable[[str], Tool | None]) -> ReadCall:
    """For `tool_call`. `find` returns the target, whose schema decides, or None."""
    fields, repairs = _fields("tool_call", given, 'tool_call({"id": "…", "args": {…}})')
    key, target, own = _take_id(fields, find)
    repairs += own
    rest = {name: value for name, value in fields.items() if name != key}
    tool = find(target)
    declared = frozenset(() if tool is None else _properties(tool))
    repairs += _drop_second_ids(rest, tool, declared, find)
    holder = next(
        (name for name in _ARGS if name in rest and _holds_arguments(name, rest[name], declared)), None
    )
    if holder is None:
        return ReadCall(target, rest, (*repairs, "flattened") if rest else repairs)
    args = rest.pop(holder)
    repairs += (f"alias:{holder}",) if holder != "args" else ()
    if isinstance(args, str):
        args, repairs = _parsed(args), (*repairs, f"json_string:{holder}")
    if rest and args:
        names = ", ".join(list(rest)[:5])
        raise Unreadable(
            f"tool_call: put all arguments of the tool into `args`; these are beside it: {names}."
        )
    if rest:
        return ReadCall(target, rest, (*repairs, "flattened"))
    return ReadCall(target, {} if args is None else args, repairs)


def read_bridge_call(given: Sequence[object], find: Callable[[str], Tool | None]) -> ReadCall:
    """For `openclaw.tools.call(id, args)`. Accepts an entry instead of its id, and all in one object."""
    first, args = (*given, None, None)[:2]
    if isinstance(first, Mapping) and len(given) < 2:
        return read_call(cast("object", first), find)
    target, repairs = _id_of(cast("object", first))
    if target is None:
        raise Unreadable("openclaw.tools.call takes the id of a tool and its arguments: call(id, { … }).")
    parsed = _parsed(args)
    if parsed is not None:
        args, repairs = parsed, (*repairs, "json_string:args")
    return ReadCall(target, {} if args is None else args, repairs)


def read_describe(given: object) -> ReadText:
    if isinstance(given, str) and _parsed(given) is None and given.strip():
        return ReadText(given.strip(), ("bare_id",))
    fields, repairs = _fields("tool_describe", given, 'tool_describe({"id": "…"})')
    _, target, own = _take_id(fields, lambda _: None)
    return ReadText(target, repairs + own)


def read_search(given: object) -> ReadSearch:
    if isinstance(given, str) and _parsed(given) is None:
        return ReadSearch(given, None, ("bare_query",))
    fields, repairs = _fields("tool_search", given, 'tool_search({"query": "…"})')
    key = next((name for name in _QUERIES if isinstance(fields.get(name), str)), None)
    if key is None:
        raise Unreadable('tool_search needs a query, a text: tool_search({"query": "…"}).')
    repairs += (f"alias:{key}",) if key != "query" else ()
    name = next((name for name in _LIMITS if fields.get(name) is not None), "limit")
    repairs += (f"alias:{name}",) if name != "limit" else ()
    limit: object = fields.get(name)
    if isinstance(limit, str) and limit.strip().isdecimal() and len(limit) < 10:
        limit, repairs = int(limit), (*repairs, "number_string:limit")
    if limit is not None and (
        isinstance(limit, bool) or not isinstance(limit, int | float) or limit != limit
    ):
        raise Unreadable("tool_search: limit must be a number.")
    count = None if limit is None else int(max(-1, min(limit, 1_000)))
    return ReadSearch(str(fields[key]), count, repairs)


def read_code(given: object) -> ReadText:
    if isinstance(given, str) and _parsed(given) is None:
        return ReadText(given, ("bare_code",))
    fields, repairs = _fields("tool_search_code", given, 'tool_search_code({"code": "…"})')
    key = next((name for name in _CODES if isinstance(fields.get(name), str)), None)
    if key is None or not str(fields[key]).strip():
        raise Unreadable("tool_search_code needs a program in `code`: JavaScript, an async function body.")
    return ReadText(str(fields[key]), (*repairs, f"alias:{key}") if key != "code" else repairs)


def _fields(control: str, given: object, usage: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    found, repairs = read_object(given)
    if not isinstance(found, Mapping):
        raise Unreadable(f"{control} takes one object: {usage}.")
    return dict(cast("Mapping[str, Any]", found)), repairs


def _take_id(
    fields: Mapping[str, Any], find: Callable[[str], Tool | None]
) -> tuple[str, str, tuple[str, ...]]:
    """The first key that can be the id, or a later one whose tool declares the earlier keys as parameters."""
    read = [(key, *_id_of(fields.get(key))) for key in _IDS]
    named = [(key, target, repairs) for key, target, repairs in read if target is not None]
    if not named:
        raise Unreadable("the `id` of a tool is missing: take it from tool_search.")
    chosen = named[0]
    for at, (key, target, repairs) in enumerate(named):
        tool = find(target)
        if tool is not None and all(former in _properties(tool) for former, _, _ in named[:at]):
            chosen = (key, target, repairs)
            break
    key, target, repairs = chosen
    return key, target, (*repairs, f"alias:{key}") if key != "id" else repairs


def _drop_second_ids(
    rest: dict[str, Any], tool: Tool | None, declared: frozenset[str], find: Callable[[str], Tool | None]
) -> tuple[str, ...]:
    """`{id, name, args}` may name one tool twice; two different tools are refused."""
    dropped: list[str] = []
    for key in _IDS:
        value: object = rest.get(key)
        other = find(value) if isinstance(value, str) and key not in declared else None
        if other is None:
            continue
        if other is not tool:
            raise Unreadable("tool_call: this names two tools; give one `id`, and its arguments in `args`.")
        del rest[key]
        dropped.append(f"second_id:{key}")
    return tuple(dropped)


def _id_of(value: object) -> tuple[str | None, tuple[str, ...]]:
    """The id in a text, or in an entry that the model sent instead."""
    if isinstance(value, Mapping):
        inner: object = cast("Mapping[str, object]", value).get("id")
        return (inner.strip(), ("entry_as_id",)) if isinstance(inner, str) and inner.strip() else (None, ())
    return (value.strip(), ()) if isinstance(value, str) and value.strip() else (None, ())


def _holds_arguments(key: str, value: object, declared: frozenset[str]) -> bool:
    """Whether a key holds the arguments and is not itself one of them."""
    inside = _parsed(value) if isinstance(value, str) else value
    if key not in declared:
        return value is None or isinstance(inside, Mapping)
    names = cast("Mapping[str, Any]", inside).keys() if isinstance(inside, Mapping) else ()
    return bool(names) and declared.issuperset(names)


def _parsed(value: object) -> dict[str, Any] | None:
    """The object in a JSON text; None if the text is not one."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return None
    try:
        found = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def _properties(tool: Tool) -> Mapping[str, Any]:
    found: object = tool.parameters.get("properties")
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}
