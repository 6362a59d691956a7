"""Tool lists of MCP servers: what cannot be offered is left out, and the declarations of the rest parse."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from random import Random
from typing import Any, cast

import msgspec
from codemode_runtime.shapes import Lookup

from codemode.catalog import Catalog
from codemode.mcp.library import Library
from codemode.mcp.listing import Listing
from codemode.mcp.servers import Server, Stdio
from codemode.tools import CallContext
from tests.fuzz.mutation import any_json, any_text, change_bytes, change_json, encode_json
from tests.fuzz.runner import Subject
from tests.harness.grammar import problems

_KINDS = ("object", "array", "string", "number", "integer", "boolean", "null", "odd")
_REFERENCES = (
    "#", "#/$defs/a", "#/$defs/b", "#/properties/x", "#/nope", "http://h/x", "#/a~1b", "#//", "", "#here",
    "#/$defs/50%25", "#/anyOf/0", "#/$defs/a/items",
)  # fmt: skip
_NAMES = (
    "get",
    "class",
    "then",
    "__proto__",
    "create_issue",
    "create-issue",
    "createIssue",
    "1st",
    "résumé",
    "$api",
)


def make_schema(dice: Random, depth: int = 0) -> Any:
    if depth > 5 or dice.random() < 0.1:
        return any_json(dice)

    def inner() -> Any:
        return make_schema(dice, depth + 1)

    def several() -> list[Any]:
        return [inner() for _ in range(dice.randrange(4))]

    def named() -> dict[str, Any]:
        return {_name(dice): inner() for _ in range(dice.randrange(4))}

    words: dict[str, Any] = {
        "type": lambda: dice.choice((dice.choice(_KINDS), [dice.choice(_KINDS), "null"])),
        "description": lambda: any_text(dice),
        "default": lambda: any_json(dice),
        "enum": lambda: [any_json(dice) for _ in range(dice.choice((0, 1, 3, 150)))],
        "const": lambda: any_json(dice),
        "properties": named,
        "required": lambda: [_name(dice) for _ in range(dice.randrange(4))],
        "additionalProperties": lambda: dice.choice((True, False, inner())),
        "patternProperties": named,
        "items": lambda: dice.choice((True, inner(), several())),
        "additionalItems": lambda: dice.choice((True, inner())),
        "prefixItems": several,
        "minItems": lambda: dice.choice((-1, 0, 1, 5)),
        "anyOf": several,
        "oneOf": several,
        "allOf": several,
        "$ref": lambda: dice.choice(_REFERENCES),
        "$defs": lambda: {"a": inner(), "b": inner(), "50%": inner()},
        "$anchor": lambda: "here",
        "$id": lambda: dice.choice(("#here", "https://h/x")),
        "nullable": lambda: True,
    }
    chosen = dice.sample(list(words), dice.randrange(1, 5))
    return {word: words[word]() for word in chosen}


def _name(dice: Random) -> str:
    return dice.choice(_NAMES) if dice.random() < 0.5 else any_text(dice)


def _make_tool(dice: Random) -> Any:
    tool: dict[str, Any] = {
        "name": _name(dice),
        "description": any_text(dice),
        "inputSchema": make_schema(dice),
    }
    if dice.random() < 0.4:
        tool["outputSchema"] = make_schema(dice)
    if dice.random() < 0.2:
        tool["annotations"] = any_json(dice)
    return change_json(dice, tool) if dice.random() < 0.2 else tool


class Declarations:
    """An input is the JSON-RPC answer with a server's tool list."""

    def __init__(self) -> None:
        self._last = b"{}"

    def make(self, dice: Random) -> bytes:
        tools = [_make_tool(dice) for _ in range(dice.randrange(5))]
        made = encode_json(dice, {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}})
        if dice.random() < 0.1:
            made = change_bytes(dice, made, (self._last,))
        self._last = made
        return made

    def check(self, data: bytes) -> None:
        listed = _listed(data)
        server = Server(_server_name(data), Stdio("x"))
        listing = Listing(server, _no_send)
        tools = listing.read(listed)
        library = Library(tools)
        for identifier in library.server_names:
            found = library.read_file(f"mcp/{identifier}.d.ts")
            assert found is not None
            text: str = msgspec.json.decode(found)["content"]
            assert problems(text) == [], problems(text)[:3]
            assert len(text.encode()) < 512 << 10
            for wanted in (f'["{identifier}"]', f'["{identifier}", {{"schema": true}}]', "[null]"):
                assert library.lookup(Lookup.API, wanted) is not None
            assert library.server(identifier) is not None
        index = library.read_file("mcp/index.d.ts")
        assert index is not None
        assert problems(msgspec.json.decode(index)["content"]) == []
        again = Library(reversed(tools))
        assert again.list_files("") == library.list_files("")
        Catalog(tools).search("echo issue", 8)


def _server_name(data: bytes) -> str:
    """A server is called by its user, so its name is almost any text; which one follows from the input."""
    names = ("git-hub", "class", "*/", "a b", "é", "1", "$api", "__proto__")
    return names[len(data) % len(names)]


def _listed(data: bytes) -> list[dict[str, Any]]:
    """As a connection hands it on: no other shapes come through."""
    try:
        message: Any = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return []
    result: Any = cast("dict[str, Any]", message).get("result") if isinstance(message, dict) else None
    tools: Any = cast("dict[str, Any]", result).get("tools") if isinstance(result, dict) else None
    if not isinstance(tools, list):
        return []
    return [cast("dict[str, Any]", tool) for tool in cast("list[Any]", tools) if isinstance(tool, dict)]


async def _no_send(method: str, arguments: dict[str, Any], context: CallContext) -> dict[str, Any]:
    raise AssertionError("nothing is called here")


@contextmanager
def declarations() -> Generator[Subject]:
    logger = logging.getLogger("codemode.mcp")
    before, logger.disabled = logger.disabled, True  # every tool left out is a warning
    try:
        yield Declarations()
    finally:
        logger.disabled = before
