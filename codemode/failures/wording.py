"""How calls of tools are written in hints. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable

from codemode.failures.available import Available
from codemode.failures.expressions import first_argument

TOOL_METHODS = ("search", "describe", "call")
USES = {"search": 'search("words")', "describe": 'describe("id")', "call": 'call("id", {…})'}


def is_member(name: str, available: Available) -> bool:
    return name in TOOL_METHODS or name in available.convenience


def signature_of(name: str, available: Available) -> str:
    """How it is called: `search("words")`, `web_search({ query: string })`."""
    if name in USES:
        return USES[name]
    return available.signature(name) or f"{name}(…)"


def call_of(program: str, offset: int | None, available: Available) -> str:
    """`tools.read({…})` where the call at a place names the tool in its first argument, as `run("read", …)`
    does; else how any tool is called."""
    named = None if offset is None else first_argument(program, offset)
    if named is not None and named in available.convenience:
        return f"tools.{named}({{…}})"
    if named is not None and named in available.ids:
        return f"tools.call({json.dumps(named)}, {{…}})"
    return "tools.name({…})"


def listed(names: Iterable[str]) -> str:
    items = list(names)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"
