"""Reads a Python function as a tool: JSON schemas from its hints and docstring, and how to call it.

msgspec writes the schemas and converts arguments. A pydantic model writes its own; we never import pydantic.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, cast

import msgspec
from msgspec import Struct

from codemode.tools.content import HANDLE_SCHEMA, Content, content_of
from codemode.tools.context import CallContext
from codemode.tools.docstrings import parse_docstring
from codemode.tools.errors import InvalidArguments, ToolDefinitionError

_REFERENCE = "#/$defs/{name}"
_PYDANTIC_REFERENCE = "#/$defs/{model}"


class Parameter(Struct, frozen=True):
    name: str
    type: Any
    kind: inspect._ParameterKind  # pyright: ignore[reportPrivateUsage] - the enum has no public name
    default: Any  # Parameter.empty if the caller must give one

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


class FunctionPlan(Struct, frozen=True):
    """What `tool` needs to know about a function, read once."""

    description: str
    parameters: dict[str, Any]
    returns: dict[str, Any] | None
    taken: tuple[Parameter, ...]
    context_name: str | None
    takes_any: bool  # has **kwargs

    def bind(self, arguments: Mapping[str, Any], context: CallContext) -> tuple[list[Any], dict[str, Any]]:
        """Converts JSON values to the types the function names. Raises InvalidArguments."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        missing = 0
        for own in self.taken:
            if own.name not in arguments:
                missing += 1
                if own.required:
                    raise InvalidArguments(f'missing parameter "{own.name}"')
                if own.kind is inspect.Parameter.POSITIONAL_ONLY:
                    positional.append(own.default)
                continue
            value = _convert(own, arguments[own.name], context.contents)
            if own.kind is inspect.Parameter.POSITIONAL_ONLY:
                positional.append(value)
            else:
                named[own.name] = value
        if len(self.taken) - missing < len(arguments):
            known = {own.name for own in self.taken}
            extra = {name: value for name, value in arguments.items() if name not in known}
            if not self.takes_any:
                raise InvalidArguments(f'unknown parameter "{next(iter(extra))}"')
            named.update(extra)
        if self.context_name is not None:
            named[self.context_name] = context
        return positional, named


def plan_function(
    name: str,
    function: Callable[..., Any],
    local_names: Mapping[str, Any] | None = None,
    given: dict[str, Any] | None = None,
) -> FunctionPlan:
    """`local_names` are those around the function: annotations may name classes that exist only there.

    With `given`, the schema of the parameters, the hints need not have a schema.
    """
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(_inner(function), localns=dict(local_names or {}), include_extras=True)
    except (NameError, TypeError, ValueError, AttributeError) as problem:
        raise ToolDefinitionError(name, f"its annotations cannot be read: {problem}") from None
    taken: list[Parameter] = []
    context_name = None
    takes_any = False
    for own in signature.parameters.values():
        hint = hints.get(own.name, Any)
        match own.kind:
            case inspect.Parameter.VAR_POSITIONAL:
                raise ToolDefinitionError(name, f"*{own.name} has no place in a JSON object of arguments.")
            case inspect.Parameter.VAR_KEYWORD:
                takes_any = True
            case _ if _is_context(hint):
                context_name = own.name
            case _:
                taken.append(Parameter(own.name, hint, own.kind, own.default))
    documented = parse_docstring(function.__doc__)
    parameters = _parameters(name, taken, takes_any, documented.parameters) if given is None else given
    returns = _returned(name, hints.get("return", Any))
    return FunctionPlan(documented.description, parameters, returns, tuple(taken), context_name, takes_any)


def _inner(function: Callable[..., Any]) -> Any:
    """The object that holds the annotations: for a callable object that is its class."""
    inner = inspect.unwrap(function)
    inner = getattr(inner, "func", inner)  # functools.partial
    return inner if inspect.isroutine(inner) else type(inner).__call__


def _is_context(hint: Any) -> bool:
    return hint is CallContext or CallContext in typing.get_args(hint)


def _parameters(
    name: str, taken: list[Parameter], takes_any: bool, told: Mapping[str, str]
) -> dict[str, Any]:
    written, definitions = _write(name, [own.type for own in taken])
    properties: dict[str, Any] = {}
    for own, schema in zip(taken, written, strict=True):
        properties[own.name] = _annotated(own, schema, told.get(own.name))
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    required = [own.name for own in taken if own.required]
    if required:
        parameters["required"] = required
    parameters["additionalProperties"] = takes_any
    if definitions:
        parameters["$defs"] = definitions
    return parameters


def _returned(name: str, hint: Any) -> dict[str, Any] | None:
    if hint is Any:
        return None
    try:
        (schema,), definitions = _write(name, [hint])
    except ToolDefinitionError:
        return None  # a result type without a schema is no reason to refuse the tool
    return schema | {"$defs": definitions} if definitions else schema


def _write(name: str, types: list[Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    definitions: dict[str, Any] = {}

    def foreign(kind: Any) -> dict[str, Any]:
        if inspect.isclass(kind) and issubclass(kind, Content):
            return dict(HANDLE_SCHEMA)
        write = getattr(kind, "model_json_schema", None)
        if write is None:
            raise NotImplementedError
        schema = cast("dict[str, Any]", write(ref_template=_PYDANTIC_REFERENCE))
        definitions.update(schema.pop("$defs", {}))
        return schema

    try:
        schemas, own = msgspec.json.schema_components(types, schema_hook=foreign, ref_template=_REFERENCE)
    except (TypeError, NotImplementedError) as problem:
        raise ToolDefinitionError(name, f"a type hint has no JSON schema: {problem}") from None
    return list(schemas), definitions | own


def _annotated(own: Parameter, schema: dict[str, Any], told: str | None) -> dict[str, Any]:
    """Adds the description and the default, also beside a `$ref`: drafts since 2019 allow siblings."""
    described = dict(schema)
    description = _described_in_hint(own.type) or told
    if description and "description" not in described:
        described["description"] = description
    if not own.required:
        try:
            described["default"] = msgspec.to_builtins(own.default)
        except (TypeError, ValueError, RecursionError):
            described.pop("default", None)  # the default is a sentinel object, which the schema cannot show
    return described


def _described_in_hint(hint: Any) -> str | None:
    if typing.get_origin(hint) is not Annotated:
        return None
    for note in typing.get_args(hint)[1:]:
        if isinstance(note, str):
            return note
        description = getattr(note, "description", None)  # pydantic's Field
        if isinstance(description, str):
            return description
    return None


def _convert(own: Parameter, value: Any, contents: Mapping[str, Content]) -> Any:
    if type(value) is own.type:  # a text for `str`, a list for a bare `list`: nothing to convert
        return value
    try:
        return msgspec.convert(value, own.type, dec_hook=partial(_build, contents))
    except msgspec.ValidationError as problem:
        raise InvalidArguments(f'parameter "{own.name}": {problem}') from None


def _build(contents: Mapping[str, Content], kind: Any, value: Any) -> Any:
    if inspect.isclass(kind) and issubclass(kind, Content):
        return _taken(kind, value, contents)
    validate = getattr(kind, "model_validate", None)
    if validate is None:
        raise NotImplementedError
    try:
        return validate(value)
    except ValueError as problem:  # pydantic's ValidationError is a ValueError
        raise InvalidArguments(str(problem)) from None


def _taken(kind: type[Content], value: Any, contents: Mapping[str, Content]) -> Content:
    found = content_of(value, contents)
    if found is None:
        raise InvalidArguments("no content of this run has this handle: pass on one that a tool returned")
    if kind is Content or isinstance(found, kind):
        return found
    try:
        return kind(found.data, found.mime_type, found.name)
    except ValueError as problem:
        raise InvalidArguments(str(problem)) from None
