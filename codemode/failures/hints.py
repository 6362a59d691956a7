"""The hint under an error: what exists instead, which name was meant, how to write it. Pure.

Each function returns one hint or None. They read the error's text and the program, and both may lie. A wrong
hint costs one line; nothing else may be derived from them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any, cast

from codemode_runtime.shapes import LossyValue

from codemode.contract.notes import PROMISE_NOTE
from codemode.failures.available import Available
from codemode.failures.expressions import called_members, first_argument, holds_promise, path_at
from codemode.failures.missing import hint_for_missing
from codemode.failures.promises import hint_for_field_of_promise
from codemode.failures.wording import TOOL_METHODS, USES, call_of, is_member, listed
from codemode.nearest import nearest

_OF_UNDEFINED = re.compile(r"cannot read property '([^']{1,120})' of (?:undefined|null)(: )?")
NOT_A_FUNCTION = "not a function"
_UNTOLD = re.compile(rf"{NOT_A_FUNCTION}(: it is .*)?", re.DOTALL)  # it is not said what was called
_NAMED = re.compile(r"""[{,]\s*["']?(?:name|tool|id|tool_name)["']?\s*:\s*["'`]([\w$-]{1,120})["'`]""")
_FINDERS = ("find", "findLast", "at", "get", "pop", "shift", "match")
_QUOTED = re.compile(r"""["'`]([^"'`\n]{1,200})["'`]""")
# The topmost frame is a function of the language, which called what the program gave it.
_NATIVE = re.compile(r"\s*at ([\w$]{1,60}) \(native\)")
_MAX_READ = 2_000  # characters of a message
_MAX_ABOUT = 200
_FEW = 8  # up to this many names are listed; for more the hint names the search
CONSOLE = "log, info, warn, error, debug and table"
_BEFORE = "put `await` before the call"
_PYTHON_JSON = {"dumps": "JSON.stringify(value)", "loads": "JSON.parse(text)"}


def hint_for_call(
    message: str, program: str, offset: int | None, stack: str, available: Available
) -> str | None:
    """For `not a function`, which does not name what was called. Where it tells the shape of the value that
    has no such function, nothing is added about that value."""
    is_told = not _UNTOLD.fullmatch(message)
    if (native := _NATIVE.match(stack)) is not None:
        return f"What `{native[1]}` was given is not a function."
    path = () if offset is None else path_at(program, offset)
    match path:
        case ("tools", name, *_):
            return _unknown_member(name, available)
        case ("console", name):
            return f"`console.{name}` does not exist: console has {CONSOLE}."
        case ("MCP", server, *_):
            return _unknown_server_member(server, path, available)
        case ("tools",):
            return f"`tools` is no function: write `await {call_of(program, offset, available)}`."
        case ("json", ("dumps" | "loads") as name):
            return f"This is not Python: write `{_PYTHON_JSON[name]}`."
        case ("API", name):
            return f"`API.{name}` does not exist: API has list and read."
        case ("globalThis", name):
            return hint_for_missing(name, program, offset, available)
        case _ if is_told:
            return None
        case (name, *rest) if holds_promise(program, name):
            return _await_it(name) if rest else None
        case (_, *_):
            return f"`{'.'.join(path)}` is not a function."
        case _:
            strange = [name for name in called_members(program, "tools") if not is_member(name, available)]
            return _unknown_member(strange[0], available) if strange else None


def hint_for_property(message: str, program: str, offset: int | None, available: Available) -> str | None:
    """For `cannot read property 'x' of undefined`."""
    found = _OF_UNDEFINED.match(message)
    path = () if offset is None or found is None else path_at(program, offset)
    match path:
        case ("tools", name, *_):
            return _unknown_member(name, available)
        case ("MCP", server, *_):
            return _unknown_server_member(server, path, available)
        case ("this", *_):
            return "`this` is undefined at the top of a program."
        case (name, _, *_) if found and not found[2] and holds_promise(program, name):
            return _await_it(name)
        case (*_, method) if found and not found[2] and method in _FINDERS:
            return f"`{method}(…)` found nothing: look before you read from it, or write `?.`."
        case _:
            return hint_for_field_of_promise(program)


def _unknown_member(name: str, available: Available) -> str | None:
    if is_member(name, available):
        return None
    if name.strip("$_") in TOOL_METHODS:
        return f"There is no `tools.{name}`: write `await tools.{USES[name.strip('$_')]}`."
    if by_id := _ids_named(name, available):
        known = {identifier: word for word, identifier in available.convenience.items()}
        word = known.get(by_id[0])
        called = f"{word}({{…}})" if word else f"call({json.dumps(by_id[0])}, {{…}})"
        return f"There is no `tools.{name}`: write `await tools.{called}`."
    meant = nearest(name, (*available.convenience, *TOOL_METHODS))
    if meant:
        return f"There is no `tools.{name}`. Did you mean {listed(f'`tools.{found}`' for found in meant)}?"
    return f"There is no `tools.{name}`. {_where_tools_are(available.convenience, available)}"


def _unknown_server_member(server: str, path: Sequence[str], available: Available) -> str:
    if server in available.servers:
        if len(path) == 2:
            return f"`MCP.{server}` is a server: call one of its tools, as `MCP.{server}.tool({{…}})`."
        called = ".".join(path)
        if meant := _meant_of_server(server, path[2], available):
            return f"There is no `{called}`: write `await {meant}({{…}})`."
        return f"There is no `{called}`: `await API.read('mcp/{server}.d.ts')` shows what `MCP.{server}` has."
    meant = nearest(server, available.servers) or sorted(available.servers)[:8]
    if not meant:
        return f"There is no `MCP.{server}`: this run has no MCP servers."
    return f"There is no `MCP.{server}`. MCP has {listed(f'`MCP.{found}`' for found in meant)}."


def _ids_named(name: str, available: Available) -> list[str]:
    """The tools of this name, which have no function on `tools`: the language or another has it."""
    return [found for found in available.ids if found.rpartition(":")[2] == name]


def _meant_of_server(server: str, name: str, available: Available) -> str | None:
    """The tool that a server knows under this name, or the nearest."""
    of_server = {
        identifier.partition(":")[2].partition(":")[2]: words
        for identifier, words in available.mcp.items()
        if words.startswith(f"MCP.{server}.")
    }
    if name in of_server:
        return of_server[name]
    near = nearest(name, {words.rpartition(".")[2]: words for words in of_server.values()}, 1)
    return f"MCP.{server}.{near[0]}" if near else None


def hint_for_target(message: str, program: str, offset: int | None, available: Available) -> str | None:
    """For `tools.call({ name: "read", … })`, as other engines take it."""
    named = None if offset is None else _NAMED.search(program[offset : offset + _MAX_ABOUT])
    if named is None or named[1] not in available.convenience:
        return None
    is_call = message.startswith("tools.call")
    written = f"tools.{named[1]}({{…}})" if is_call else f"tools.describe({json.dumps(named[1])})"
    return f"Write `await {written}`."


def hint_for_query(available: Available) -> str | None:
    """For `tools.search({…})` where a tool has that name."""
    named = _ids_named("search", available)
    if not named:
        return None
    return (
        f"`tools.search` searches the tools. The tool named search is called by id: "
        f"`await tools.call({json.dumps(named[0])}, {{…}})`."
    )


def _await_it(name: str) -> str:
    return f"`{name}` is a promise: put `await` before the call that gives it."


def hint_for_tool_error(
    code: str | None, message: str, program: str, offset: int | None, available: Available
) -> str | None:
    """For an uncaught error of a nested call, by the code the executor gave it."""
    match code:
        case "unknown_tool":
            return _nearest_tools(message, program, offset, available)
        case "invalid_arguments":
            signature = _called_signature(program, offset, available)
            return None if signature is None or _says(message, signature) else f"Parameters: `{signature}`."
        case "denied":
            return "This was refused by a policy or a person; the same call will be refused again."
        case "interrupted":
            return (
                "The engine restarted during this call; it may have taken effect: check before you repeat it."
            )
        case "timeout" | "aborted" | "mcp_error":
            return None
        case _:
            return _violated(message, program, offset, available)


def _nearest_tools(message: str, program: str, offset: int | None, available: Available) -> str:
    quoted = _QUOTED.search(message)
    wanted = (first_argument(program, offset) if offset is not None else None) or (
        quoted[1] if quoted else ""
    )
    if wanted in available.mcp:
        return f"Call it as `await {available.mcp[wanted]}({{…}})`."
    bare = wanted.rpartition(":")[2]
    callable_as = {**available.mcp, **dict(zip(available.ids, available.ids, strict=True))}
    by_name = {identifier.rpartition(":")[2]: words for identifier, words in callable_as.items()}
    meant = [by_name[name] for name in nearest(bare, by_name)] if bare else []
    if meant:
        return f"Nearest: {listed(f'`{words}`' for words in meant)}."
    return _where_tools_are(available.ids, available)


def _where_tools_are(names: Collection[str], available: Available) -> str:
    if 0 < len(names) <= _FEW:
        return f"There is {listed(f'`{name}`' for name in sorted(names))}."
    found = f"`await {available.root}.search(…)` finds tools"
    return f"{found}." if available.is_bare else f"{found}, `ALL_TOOLS` lists them."


def _violated(message: str, program: str, offset: int | None, available: Available) -> str | None:
    """What a tool says of the parameter that its own error names."""
    tool = _called_tool(program, offset)
    schema = None if tool is None else available.parameters(available.convenience.get(tool, tool))
    properties: object = None if schema is None else schema.get("properties")
    named = set(re.findall(r"[A-Za-z_]\w*", message[:_MAX_READ]))
    if not isinstance(properties, dict):
        return None
    for name, own in cast("dict[str, Any]", properties).items():
        about: object = cast("dict[str, Any]", own).get("description") if isinstance(own, dict) else None
        if name in named and isinstance(about, str) and about.strip() and about.strip() not in message:
            told = " ".join(about.split())
            return f"`{name}`: {told if len(told) <= _MAX_ABOUT else told[: _MAX_ABOUT - 1] + '…'}"
    return None


def _called_signature(program: str, offset: int | None, available: Available) -> str | None:
    tool = _called_tool(program, offset)
    return None if tool is None else available.signature(tool)


def _called_tool(program: str, offset: int | None) -> str | None:
    """The name or the id of the tool that is called at a place."""
    if offset is None:
        return None
    match path_at(program, offset):
        case ("tools", "call") | ("openclaw", "tools", "call"):
            tool = first_argument(program, offset)
        case ("tools", tool):
            pass
        case _:
            return None
    return tool


def _says(message: str, signature: str) -> bool:
    """Whether the executor's message already names every parameter."""
    return all(name in message for name in re.findall(r"([\w$]+)\??:", signature))


def hint_for_parse(message: str, program: str, offset: int | None) -> str | None:
    """For the SyntaxError of `JSON.parse` that was given what a tool returned."""
    is_parse = offset is not None and path_at(program, offset) == ("JSON", "parse")
    if not is_parse or "'object'" not in message:
        return None
    return "`JSON.parse` was given an object: what tools return are values already. Leave `JSON.parse` out."


def hint_for_unawaited(raw_value: bytes, lossy: Sequence[LossyValue]) -> str | None:
    """For a value that holds a promise: it was returned before it was settled."""
    if b'"[Promise, not awaited]"' not in raw_value:
        return None
    paths = [item.path for item in lossy if item.kind == "object"][:5]
    if not paths:
        return None
    how = "`await Promise.all(list)` gives the values of a list" if paths[0].endswith("]") else _BEFORE
    return f"{PROMISE_NOTE} that was not awaited ({', '.join(paths)}): {how}."
