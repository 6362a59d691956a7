"""Checks arguments against a tool's schema before anything runs; the refusal says what would be right.

References to other documents are never followed. Schemas of servers and clients are not trusted either:
unfolding.py makes each a tree of bounded size first, because a few nested references can describe more checks
than there is time for.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import msgspec

from codemode.executor.calls import CallFailed
from codemode.nearest import did_you_mean, nearest
from codemode.tools import Tool

if TYPE_CHECKING:  # 30 ms of import, for hosts that may never call a tool
    from jsonschema_rs import ValidationError, Validator

_log = logging.getLogger("codemode.executor")

_MAX_PROBLEMS = 5
_MAX_PROBLEM = 300
_LARGE = 16 << 10  # bytes of JSON; for larger input the refusal names the first problem only
_MAX_NAMES = 100  # given names compared with a missing one: a program may give any number
_BACKTRACKING = 20_000

_validators: WeakKeyDictionary[Tool, Validator | None] = WeakKeyDictionary()


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
        validator = _validator_of(tool)
        if validator is None or validator.is_valid(given):
            return None
        errors = _errors(validator, given, most=_MAX_PROBLEMS if size <= _LARGE else 1)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return _refusal(tool, ["the input is not JSON, or nested too deeply"])
    return _refusal(tool, [_problem(tool, error, given) for error in errors])


def _errors(validator: Validator, given: dict[str, Any], most: int) -> list[ValidationError]:
    """The first `most` errors. Two cost as much as all of them: large input may have millions."""
    from jsonschema_rs import ValidationError

    if most > 1:
        return list(islice(validator.iter_errors(given), most))
    try:
        validator.validate(given)
    except ValidationError as error:
        return [error]
    return []


def _refusal(tool: Tool, problems: list[str]) -> CallFailed:
    from codemode.tools.sketch import sketch  # 1 ms, for calls that are refused

    told = [problem[:_MAX_PROBLEM] for problem in problems]
    expected = sketch(tool.parameters)
    return CallFailed(
        "invalid_arguments",
        "InvalidArguments",
        f"{tool.name}: {'; '.join(told)}. Parameters: {expected}",
        {"problems": told, "parameters": expected},
    )


def _validator_of(tool: Tool) -> Validator | None:
    if tool not in _validators:
        _validators[tool] = _compile(tool)
    return _validators[tool]


def _compile(tool: Tool) -> Validator | None:
    """The schema's validator. A schema that cannot be used refuses nothing: its tool takes any object."""
    from jsonschema_rs import FancyRegexOptions, validator_for

    from codemode.executor.unfolding import Unusable, unfold

    try:
        schema = tool.parameters if tool.trusted else unfold(tool.parameters)
        return validator_for(
            schema, offline=True, pattern_options=FancyRegexOptions(backtrack_limit=_BACKTRACKING)
        )
    except (ValueError, Unusable) as problem:  # jsonschema_rs raises ValueErrors, with the schema in the text
        reason = str(problem).splitlines()[0][:200]
        _log.warning("the parameters of %s are no usable JSON schema: %s", tool.id, reason)
        return None


def _problem(tool: Tool, error: ValidationError, given: dict[str, Any]) -> str:
    path = ".".join(map(str, error.instance_path))
    place = f'"{path}"' if path else "the input"
    facts = error.kind.as_dict()
    match error.kind.name:
        case "additionalProperties" | "unevaluatedProperties":
            known = _properties(tool.parameters, error.schema_path[:-1])
            names = [str(name) for name in facts["unexpected"][:_MAX_PROBLEMS]]
            more = len(facts["unexpected"]) - len(names)
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
