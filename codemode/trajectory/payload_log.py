"""Shows what a model is sent: with CODEMODE_DEBUG_MODEL_PAYLOAD=tools the names of its tools, with
full-redacted the request without what was said in it, cut to a size. Adapters, raw loops and servers tell it.

It never fails and never changes what is sent: a payload may have any shape.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from codemode.trajectory.debug_variables import MODEL_PAYLOAD
from codemode.trajectory.escape import plain
from codemode.trajectory.redacting import MAX_BYTES, redacted

_log = logging.getLogger("codemode.payload")
_MAX_NAMES = 200
_MAX_NAME = 80
_WRAPPERS = ("config", "result")


def log_payload(payload: object, origin: str) -> None:
    """`origin` says who sends it: `langchain`, `mcp`, `raw loop`."""
    wanted = MODEL_PAYLOAD.read()
    if wanted is None:
        return
    names = list(tool_names(payload))
    listed = [plain(name)[:_MAX_NAME] for name in names[:_MAX_NAMES]]
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    facts: dict[str, Any] = {"event": "payload", "origin": origin, "count": len(names), "tools": listed}
    line = f"payload of {origin}: {len(names)} tools: {', '.join(listed) or 'none'}{more}"
    if wanted == "full-redacted":
        text = plain(_json(redacted(payload)))
        line = f"{line}\n{text}"
        facts["payload"] = text
    _log.info("%s", line, extra={"codemode": facts})


def tool_names(payload: object) -> Iterator[str]:
    """The names in the shapes that providers use; of a built-in tool its type."""
    if not isinstance(payload, Mapping):
        return
    holder = cast("Mapping[str, object]", payload)
    inner = [
        holder[key] for key in _WRAPPERS if "tools" not in holder and isinstance(holder.get(key), Mapping)
    ]
    for found in (holder, *cast("list[Mapping[str, object]]", inner)):
        for key in ("tools", "functions"):
            listed = found.get(key)
            for item in cast("list[object]", listed) if isinstance(listed, list | tuple) else ():
                yield from _names_of(item)


def _names_of(item: object) -> Iterator[str]:
    if not isinstance(item, Mapping):
        yield "?"
        return
    tool = cast("Mapping[str, object]", item)
    declared = tool.get("functionDeclarations", tool.get("function_declarations"))
    if isinstance(declared, list | tuple):
        for one in cast("list[object]", declared):
            yield from _names_of(one)
    elif isinstance(tool.get("function"), Mapping):
        yield from _names_of(tool["function"])
    elif isinstance(tool.get("name"), str):
        yield cast("str", tool["name"])
    else:
        yield f"built-in {tool.get('type') or ', '.join(map(str, tool))}"


def _json(value: object) -> str:
    try:
        text = msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError, UnicodeEncodeError) as problem:
        return f"[not JSON: {type(problem).__name__}]"
    if len(text) <= MAX_BYTES:
        return text.decode()
    return f"{text[:MAX_BYTES].decode(errors='ignore')}… [{len(text)} bytes]"
