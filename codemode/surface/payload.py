"""The last check of what goes to a provider: our `exec` and `wait`, and nothing else. Fails closed.

It knows the shapes of OpenAI chat and responses, Anthropic, Gemini and MCP. It refuses a payload in any other
shape, because it cannot see which tools are in it. It also refuses a shell tool that happens to be called
exec: ours is recognised by its parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from codemode.surface.controls import EXEC_PARAMETERS, WAIT_PARAMETERS

_OURS = {"exec": frozenset(EXEC_PARAMETERS), "wait": frozenset(WAIT_PARAMETERS)}
# These only configure the tool list; any other key that sounds like tools may bring some in.
_LIMITS = ("parallel_tool_calls", "max_tool_calls")
_SETTINGS = ("tool_choice", "toolChoice", "function_call", "tool_config", "toolConfig", *_LIMITS)
_SUSPICIOUS = ("tool", "function", "mcp", "plugin", "connector", "web_search", "skill")
# Keys under which the list may lie deeper: Gemini's SDK, an MCP response.
_WRAPPERS = ("config", "result")
_FUNCTION_TYPES = (None, "function", "custom")


class PayloadRefused(Exception):
    """The payload must not be sent: it would show the model other tools than exec and wait."""

    code = "internal_error"

    def __init__(self, problem: str) -> None:
        super().__init__(f"code mode: the provider payload {problem}")


def check_payload(payload: object) -> None:
    """Raises PayloadRefused, and nothing else, unless the tools in the payload are exactly ours."""
    if not isinstance(payload, Mapping):
        raise PayloadRefused("is not an object")
    found: list[str] = []
    for name, schema in _declarations(cast("Mapping[str, Any]", payload)):
        if name not in _OURS:
            raise PayloadRefused(f'contains the tool "{name[:80]}"')
        if name in found:
            raise PayloadRefused(f'contains "{name}" twice')
        if _parameter_names(schema) != _OURS[name]:
            raise PayloadRefused(f'contains another tool under the name "{name}"')
        found.append(name)
    missing = [name for name in _OURS if name not in found]
    if missing:
        raise PayloadRefused(f"lacks {' and '.join(missing)}")


def _declarations(payload: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    wrapper = None if "tools" in payload else next((key for key in _WRAPPERS if key in payload), None)
    _refuse_other_ways(payload, wrapper)
    holder: object = payload if wrapper is None else payload[wrapper]
    if wrapper is not None and isinstance(holder, Mapping):
        _refuse_other_ways(cast("Mapping[str, Any]", holder), None)
    listed: object = cast("Mapping[str, Any]", holder).get("tools") if isinstance(holder, Mapping) else None
    if not isinstance(listed, list | tuple):
        raise PayloadRefused("has no tool list in a known place")
    for item in cast("list[object]", listed):
        if not isinstance(item, Mapping):
            raise PayloadRefused("has a tool in an unknown shape")
        yield from _declared(cast("Mapping[str, Any]", item))


def _refuse_other_ways(holder: Mapping[str, Any], wrapper: str | None) -> None:
    """Refuses a second list beside the checked one, and keys that bring tools by themselves."""
    for key in holder:
        value: object = holder[key]
        if key in ("tools", wrapper) or not value:
            continue
        is_list = isinstance(value, Mapping) and "tools" in value
        is_suspicious = key not in _SETTINGS and any(part in str(key).lower() for part in _SUSPICIOUS)
        if is_list or is_suspicious:
            raise PayloadRefused(f'brings tools in through "{str(key)[:80]}"')


def _declared(item: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    gemini = item.get("functionDeclarations", item.get("function_declarations"))
    if isinstance(gemini, list | tuple):
        if len(item) != 1:
            raise PayloadRefused("has a built-in tool beside its functions")
        for declared in cast("list[object]", gemini):
            yield _named(declared, ("parameters", "parametersJsonSchema", "parameters_json_schema"))
        return
    if item.get("type") not in _FUNCTION_TYPES:
        raise PayloadRefused(f'contains a built-in tool of type "{str(item["type"])[:80]}"')
    if "function" in item:  # OpenAI chat
        yield _named(item["function"], ("parameters",))
    else:  # OpenAI responses, Anthropic, MCP
        yield _named(item, ("parameters", "input_schema", "inputSchema"))


def _named(declared: object, schema_keys: tuple[str, ...]) -> tuple[str, object]:
    if not isinstance(declared, Mapping):
        raise PayloadRefused("has a tool in an unknown shape")
    words = cast("Mapping[str, Any]", declared)
    schemas = [words[key] for key in schema_keys if key in words]
    name = words.get("name")
    if not isinstance(name, str) or len(schemas) != 1:
        raise PayloadRefused("has a tool in an unknown shape")
    return name, schemas[0]


def _parameter_names(schema: object) -> frozenset[str]:
    properties = (
        cast("Mapping[str, object]", schema).get("properties") if isinstance(schema, Mapping) else None
    )
    return frozenset(cast("Mapping[str, object]", properties) if isinstance(properties, Mapping) else ())
