"""Checks arguments against a tool's schema before anything runs; the refusal says what would be right.

References to other documents are never followed. What would take too long to check is refused; but a tool of
a server or client gets it as it is, because those check their arguments themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import msgspec

from codemode.executor.calls import CallFailed
from codemode.nearest import did_you_mean, nearest
from codemode.tools import Tool

if TYPE_CHECKING:  # 30 ms of import, for hosts that may never call a tool
    from jsonschema_rs import ValidationError

    from codemode.executor.schema_check import SchemaCheck

_log = logging.getLogger("codemode.executor")

_MAX_PROBLEMS = 5
_MAX_PROBLEM = 300
_MAX_PARAMETERS = 600
_LARGE = 16 << 10  # bytes of JSON; for larger input the refusal names the first problem only
_MAX_NAMES = 100  # given names compared with a missing one: a program may give any number
_TOO_MUCH = "the input has more parts than can be checked against these parameters; send less at once"

_checks: WeakKeyDictionary[Tool, SchemaCheck | None] = WeakKeyDictionary()


def refuse_arguments(tool: Tool, arguments: object, json_bytes: int = 0) -> CallFailed | None:
    """Why the tool cannot take the arguments; None if it can. `json_bytes`: they were decoded from JSON of
    this size, and are not checked for being JSON again."""
    if not isinstance(arguments, dict):
        return _refusal(tool, [f"takes one object, not {_kind(arguments)}"])
    given = cast("dict[str, Any]", arguments)
    try:
        # Refuses cycles and halves of surrogate pairs. Everything after it relies on that: hooks, approval
        # ids, and the validator, which recurses in native code and would crash on endless nesting.
        size = json_bytes or len(msgspec.json.encode(given))
        check = _check_of(tool)
        if check is None:
            return None
        if not check.is_affordable(given, size):
            return _refusal(tool, [_TOO_MUCH]) if tool.trusted else None
        if check.fits(given):
            return None
        errors, seen = check.errors(given, size, most=_MAX_PROBLEMS if size <= _LARGE else 1)
        problems = [_problem(tool, error, given, seen) for error in errors]
    except (ValueError, TypeError, OverflowError, RecursionError):
        return _refusal(tool, ["the input is not JSON, or nested too deeply"])
    return _refusal(tool, problems or [f"{size:,} bytes of input that do not fit, too large to say where"])


def _refusal(tool: Tool, problems: list[str]) -> CallFailed:
    from codemode.tools.sketch import sketch  # 1 ms, for calls that are refused

    told = [problem[:_MAX_PROBLEM] for problem in problems]
    expected = sketch(tool.parameters, longest=_MAX_PARAMETERS)
    return CallFailed(
        "invalid_arguments",
        "InvalidArguments",
        f"{tool.name}: {_sentence('; '.join(told))} Parameters: {expected}",
        {"problems": told, "parameters": expected},
    )


def _sentence(text: str) -> str:
    return text if text.endswith(("?", ".")) else f"{text}."


def _check_of(tool: Tool) -> SchemaCheck | None:
    try:
        return _checks[tool]
    except KeyError:
        check = _checks[tool] = _compile(tool)
        return check


def _compile(tool: Tool) -> SchemaCheck | None:
    """A schema that cannot be used refuses nothing: its tool takes any object."""
    from codemode.executor.schema_check import SchemaCheck
    from codemode.executor.unfolding import Unusable

    try:
        return SchemaCheck(tool.parameters, trusted=tool.trusted)
    except (ValueError, Unusable) as problem:  # jsonschema_rs raises ValueErrors, with the schema in the text
        reason = str(problem).splitlines()[0][:200]
        _log.warning("the parameters of %s are no usable JSON schema: %s", tool.id, reason)
        return None


def _problem(tool: Tool, error: ValidationError, given: dict[str, Any], seen: dict[str, Any]) -> str:
    """`seen` is what the error is about: the arguments that were given, or an outline of them."""
    path = ".".join(map(str, error.instance_path))
    place = f'"{path}"' if path else "the input"
    facts = error.kind.as_dict()
    match error.kind.name:
        case "additionalProperties" | "unevaluatedProperties":
            known = _properties(tool.parameters, error.schema_path[:-1])
            names = [str(name) for name in facts["unexpected"][:_MAX_PROBLEMS]]
            unseen = _count_at(given, error.instance_path) - _count_at(seen, error.instance_path)
            more = len(facts["unexpected"]) - len(names) + unseen
            told = [_unknown(path, name, known) for name in names]
            return "; ".join([*told, f"and {more} more"] if more else told)
        case "required":
            known = _properties(tool.parameters, error.schema_path[:-1])
            return _missing(path, str(facts["property"]), known, _names_at(given, error.instance_path))
        case "enum":
            options = [str(option) for option in facts["options"]]
            hint = did_you_mean(error.instance, options) if isinstance(error.instance, str) else ""
            return f"{place} must be one of {', '.join(options)}{hint and '.'}{hint}"
        case "type":
            return f"{place} must be {' or '.join(facts['types'])}, not {_kind(error.instance)}"
        case _:
            return f"{place}: {error.message}"


def _unknown(path: str, name: str, known: Sequence[str]) -> str:
    hint = did_you_mean(name, known)
    return f'unknown parameter "{path and path + "."}{name}"{hint and "."}{hint}'


def _missing(path: str, name: str, known: Sequence[str], given: Sequence[str]) -> str:
    """Names a missing argument. An undeclared name may be the same in another spelling."""
    taken_for = nearest(name, (other for other in given[:_MAX_NAMES] if other not in known), 1)
    hint = f', perhaps given as "{taken_for[0]}"' if taken_for else ""
    return f'missing parameter "{path and path + "."}{name}"{hint}'


def _properties(schema: Mapping[str, Any], path: Sequence[str | int]) -> list[str]:
    """The names declared at a place in the schema, as far as the path can be followed."""
    found: Any = schema
    for step in path:
        try:
            found = found[step]
        except (KeyError, IndexError, TypeError):
            return []
    own = cast("Mapping[str, Any]", found).get("properties") if isinstance(found, Mapping) else None
    return list(cast("Mapping[str, Any]", own)) if isinstance(own, Mapping) else []


def _names_at(given: dict[str, Any], path: Sequence[str | int]) -> list[str]:
    found: Any = given
    for step in path:
        found = found[step]
    return list(cast("dict[str, Any]", found)) if isinstance(found, dict) else []


def _count_at(given: dict[str, Any], path: Sequence[str | int]) -> int:
    found: Any = given
    for step in path:
        found = found[step]
    return len(found)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case Mapping():
            return "object"
        case _:
            return type(value).__name__
