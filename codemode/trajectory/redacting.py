"""A request to a model, or an event of its answer, without what was said in it: fit for a log. Pure.

Kept are names, kinds, numbers of settings, and declared tools with their schemas, which one looks for. Texts,
arguments, results and whatever may be a credential become a few words about their size.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from codemode.contract.telemetry import redact

MAX_BYTES = 32 << 10
_MAX_TEXT = 6_000  # characters of one description
_MAX_ITEMS = 100
_MAX_DEPTH = 12
_MAX_WORD = 100
# Where conversations are: inside them only words of the protocol are kept.
_SAID = frozenset(
    ("messages", "input", "contents", "system", "instructions", "prompt", "metadata", "output", "content",
     "systemInstruction", "system_instruction", "choices", "delta", "item", "message", "candidates",
     "response", "result", "params"),
)  # fmt: skip
_TOOLS = frozenset(("tools", "functions", "functionDeclarations", "function_declarations"))
_WORDS = frozenset(
    ("role", "type", "name", "model", "id", "object", "status", "tool_choice", "toolChoice", "mode", "effort",
     "event", "method", "jsonrpc", "tool_call_id", "tool_use_id", "call_id", "finish_reason",
     "finishReason", "stop_reason", "service_tier"),
)  # fmt: skip
# Objects whose members are not of the protocol: only their shape is kept.
_GIVEN = frozenset(("arguments", "args", "input", "response", "output", "result", "metadata", "params"))
_SECRET = re.compile(r"key|secret|passw|authorization|cookie|credential|bearer", re.IGNORECASE)
_TOKEN = re.compile(r"token", re.IGNORECASE)  # a text of that name; a number of them is a setting


def redacted(value: object) -> Any:
    """JSON of a bounded size and depth. Takes whatever a host gives."""
    return _any(value, "", is_said=False, depth=0)


def redacted_event(value: object) -> Any:
    """The same for an event: everything in it was said."""
    return _any(value, "", is_said=True, depth=0)


def _any(value: object, key: str, *, is_said: bool, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        return "[nested deeper]"
    match value:
        case str():
            return _text(value, key)
        case None | bool():
            return value
        case int() | float():
            return "[number]" if is_said else value
        case Mapping():
            found = cast("Mapping[object, object]", value)
            return (
                redact(found) if is_said and key in _GIVEN else _members(found, is_said=is_said, depth=depth)
            )
        case list() | tuple():
            items = list(cast("list[object]", value))
            shown = [_any(item, key, is_said=is_said, depth=depth + 1) for item in items[:_MAX_ITEMS]]
            return [*shown, f"[{len(items) - _MAX_ITEMS} more]"] if len(items) > _MAX_ITEMS else shown
        case _:
            return f"[{type(value).__name__}]"


def _members(found: Mapping[object, object], *, is_said: bool, depth: int) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, value in list(found.items())[:_MAX_ITEMS]:
        key = str(name)[:_MAX_WORD]
        if not is_said and key in _TOOLS:
            shown[key] = _declared(value, depth + 1)
        elif _is_secret(key, value) or (is_said and key == "name" and "role" in found):
            shown[key] = "[redacted]"  # beside a role it is a person's name
        else:
            shown[key] = _any(value, key, is_said=is_said or key in _SAID, depth=depth + 1)
    if len(found) > _MAX_ITEMS:
        shown["…"] = f"[{len(found) - _MAX_ITEMS} more]"
    return shown


def _is_secret(key: str, value: object) -> bool:
    if value is None or isinstance(value, bool):
        return False
    return bool(_SECRET.search(key)) or (not isinstance(value, int | float) and bool(_TOKEN.search(key)))


def _declared(value: object, depth: int) -> Any:
    """Tools as they are declared; only long texts are cut."""
    if depth > 3 * _MAX_DEPTH:
        return "[nested deeper]"
    match value:
        case str():
            left = len(value) - _MAX_TEXT
            return value if left <= 0 else f"{value[:_MAX_TEXT]}… [{left} more]"
        case None | bool() | int() | float():
            return value
        case Mapping():
            found = cast("Mapping[object, object]", value)
            return {str(key)[:_MAX_WORD]: _declared(item, depth + 1) for key, item in found.items()}
        case list() | tuple():
            return [_declared(item, depth + 1) for item in cast("list[object]", value)]
        case _:
            return f"[{type(value).__name__}]"


def _text(value: str, key: str) -> str:
    if key in _WORDS and len(value) <= _MAX_WORD:
        return value
    return f"[text of {len(value)} characters]"
