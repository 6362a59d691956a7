"""The hint for a name that does not exist: what there is in its place, or which name was meant. Pure.

Models bring habits of Node, browsers, Python and other engines. Where one line does what they wanted, the
hint is that line; else it lists what there is.
"""

from __future__ import annotations

import re

from codemode.failures.available import Available
from codemode.failures.expressions import called_members, declared_names
from codemode.failures.wording import TOOL_METHODS, call_of, is_member, listed, signature_of
from codemode.nearest import nearest

_NOT_DEFINED = re.compile(r"([\w$]{1,120}) is not defined")
_KEYWORD = re.compile(r"\s*=(?![=>])")  # behind the name, in a call: `read(path="x")`
_CALL_BEFORE = re.compile(r"tools\.([\w$]+)\([^()\n]*$")

NETWORK = "There is no network here; call a tool instead (`tools.search(…)` finds one)."
FILES = (
    "There are no files, processes or environment here; call a tool instead (`tools.search(…)` finds one)."
)
_ABSENT = {
    **dict.fromkeys(
        ("fetch", "axios", "XMLHttpRequest", "WebSocket", "EventSource", "request", "requests", "http"),
        NETWORK,
    ),
    **dict.fromkeys(("fs", "process", "path", "os", "child_process", "Deno", "Bun", "exec", "spawn"), FILES),
    **dict.fromkeys(
        ("require", "module", "exports", "__dirname", "__filename", "importScripts"),
        "There are no modules here.",
    ),
    **dict.fromkeys(
        ("window", "document", "navigator", "localStorage", "location", "alert"), "This is not a browser."
    ),
    "WebAssembly": "There is no `WebAssembly`.",
}
_SLEEP = "await new Promise((done) => setTimeout(done, ms))"
_DATES = "There are no libraries here: write it with `Date`, in UTC."
_IN_PLACE = {
    **dict.fromkeys(("global", "self"), "The global object is `globalThis`."),
    **dict.fromkeys(
        ("setInterval", "setImmediate", "requestAnimationFrame", "clearInterval"),
        f"Use `setTimeout`, or a loop with `{_SLEEP}`.",
    ),
    **dict.fromkeys(("sleep", "delay"), f"Write `{_SLEEP}`."),
    "Buffer": "Write `btoa(text)` and `atob(base64)`, or `new TextEncoder().encode(text)` for bytes.",
    "print": "Write `text(value)` or `console.log(value)`.",
    **dict.fromkeys(
        ("_", "lodash", "R", "Ramda"),
        "There are no libraries here: write it with the language, as `Object.groupBy(list, key)`, "
        "`list.toSorted(order)`, `structuredClone(value)`.",
    ),
    **dict.fromkeys(("moment", "dayjs", "luxon", "DateTime", "dateFns"), _DATES),
    **dict.fromkeys(("uuid", "uuidv4", "nanoid"), "Write `crypto.randomUUID()`."),
    "None": "Write `null`.",
    "True": "Write `true`.",
    "False": "Write `false`.",
    "len": "Write `list.length`.",
    "str": "Write `String(value)`.",
    **dict.fromkeys(("int", "float"), "Write `Number(value)`."),
    "range": "Write `Array.from({ length: n }, (_, i) => i)`.",
    "sorted": "Write `list.toSorted((a, b) => a - b)`.",
    "sum": "Write `list.reduce((sum, value) => sum + value, 0)`.",
    "enumerate": "Write `list.entries()`.",
}
_OF_INTL = {
    "NumberFormat": 'write `value.toLocaleString("en-US", { style: "currency", currency: "USD" })`',
    "DateTimeFormat": 'write `date.toLocaleString("en-US", { month: "long" })`, which is in UTC',
    "Collator": "write `a.localeCompare(b)`",
}
# What models call to call a tool, in other engines.
_CALLERS = frozenset(
    [
        "callTool",
        "call_tool",
        "useTool",
        "use_tool",
        "invokeTool",
        "invoke_tool",
        "invoke",
        "runTool",
        "run_tool",
        "executeTool",
        "execute_tool",
        "callFunction",
        "call_function",
        "tool",
        "call",
    ]
)


def hint_for_name(message: str, program: str, offset: int | None, available: Available) -> str | None:
    """For `x is not defined`."""
    found = _NOT_DEFINED.fullmatch(message)
    return hint_for_missing(found[1], program, offset, available) if found else None


def hint_for_missing(name: str, program: str, offset: int | None, available: Available) -> str | None:
    if name in available.convenience or name in TOOL_METHODS:
        return f"Tools are called through `tools`: `await tools.{signature_of(name, available)}`."
    if (called := called_members(program, name)) and is_member(called[0], available):
        return f"There is no `{name}` here: write `await tools.{signature_of(called[0], available)}`."
    if name in available.servers:
        return f"MCP servers are reached through `MCP`: `MCP.{name}`."
    if name in _CALLERS:
        return f"There is no `{name}` here: write `await {call_of(program, offset, available)}`."
    if (keyword := _keyword(name, program, offset)) is not None:
        return keyword
    if name == "Intl":
        return _intl(program)
    if name in _IN_PLACE:
        return _IN_PLACE[name]
    if name in _ABSENT:
        return f"{_ABSENT[name]} Available: {', '.join(available.globals)}."
    return _meant(name, program, available)


def _meant(name: str, program: str, available: Available) -> str | None:
    own = nearest(name, [*available.globals, *declared_names(program)], 1)
    if own:
        return f"Did you mean `{own[0]}`?"
    of_tools = nearest(name, available.convenience)
    return f"Did you mean {listed(f'`tools.{found}`' for found in of_tools)}?" if of_tools else None


def _keyword(name: str, program: str, offset: int | None) -> str | None:
    """For `tools.read(path="x")`, as Python writes it."""
    if offset is None or not _KEYWORD.match(program[offset + len(name) : offset + len(name) + 20]):
        return None
    before = _CALL_BEFORE.search(program[max(0, offset - 240) : offset])
    if before is None:
        return None
    return f"A tool takes one object: write `await tools.{before[1]}({{ {name}: … }})`."


def _intl(program: str) -> str:
    for member, instead in _OF_INTL.items():
        if f"Intl.{member}" in program:
            return f"There is no `Intl`: {instead}."
    return "There is no `Intl`; format by hand."
