"""The TypeScript declarations of MCP servers, as `API.read` serves them. Pure: equal tools, equal text.

The text is compact: one function per tool, required parameters first. Each tool and each file is bounded in
size and parses as TypeScript, even for a hostile server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from codemode.declarations.schema_types import MAX_PROPERTIES, SchemaTypes, told_of
from codemode.declarations.type_words import MAX_KEY, comment, doc_comment, key, one_line, quoted
from codemode.tools import Tool

_MAX_TOOL = 12 << 10
_MAX_FILE = 256 << 10
_MAX_DESCRIPTION = 600

INDEX_TYPES = """\
type McpContent =
  | { type: "text"; text: string }
  | ContentHandle
  | { type: "resource_link"; uri: string; name: string; [key: string]: unknown }
  | { type: "resource"; resource: McpResourceContents };
/** Stands for an image, audio or a file, which stay outside: show it with image(handle) or file(handle). */
type ContentHandle = {
  type: "image" | "audio" | "file"; mimeType: string; bytes: number; name?: string; id: string;
};
/** What a tool without a declared result type gives. A result with isError is thrown as an Error. */
type McpToolResult = { content: McpContent[]; structuredContent?: unknown };
type McpResourceContents = { uri: string; mimeType?: string; text?: string };
type McpResource = { uri: string; name: string; description?: string; mimeType?: string };
type McpResources = { resources: McpResource[]; nextCursor?: string };
type McpContents = { contents: Array<McpResourceContents | ContentHandle> };
type McpPrompts = { prompts: Array<{ name: string; description?: string }>; nextCursor?: string };
type McpMessage = { role: "user" | "assistant"; content: McpContent };
type McpPrompt = { description?: string; messages: McpMessage[] };
type McpApi = { header: string; [key: string]: unknown };
"""

_SHARED = frozenset(re.findall(r"^type (\w+)", INDEX_TYPES, re.MULTILINE))

# By MCP method: where a program finds it, and its declaration there.
METHODS: Mapping[str, tuple[str, str, str]] = {
    "resources/list": ("resources", "list", "(input?: { cursor?: string }): Promise<McpResources>"),
    "resources/read": ("resources", "read", "(input: { uri: string }): Promise<McpContents>"),
    "prompts/list": ("prompts", "list", "(input?: { cursor?: string }): Promise<McpPrompts>"),
    "prompts/get": (
        "prompts", "get", "(input: { name: string; arguments?: Record<string, string> }): Promise<McpPrompt>",
    ),
}  # fmt: skip


def declare_index(servers: Mapping[str, int]) -> str:
    """Writes `mcp/index.d.ts`: the shared types, and each server with its number of tools."""
    lines = [
        f'  /** {count} tools: API.read("mcp/{name}.d.ts") */\n  namespace {name} {{}}'
        for name, count in servers.items()
    ]
    body = "\n".join(["  function $api(): Promise<McpApi>;", *lines])
    head = "/** Call as: await MCP.<server>.<tool>({ ... }) */"
    return f"{INDEX_TYPES}{head}\ndeclare namespace MCP {{\n{body}\n}}\n"


def declare_server(identifier: str, name: str, tools: Mapping[str, Tool], methods: Mapping[str, Tool]) -> str:
    """Writes `mcp/<server>.d.ts`. `tools` by identifier; `methods` are those for resources and prompts."""
    head = comment(
        f"MCP server {quoted(one_line(name, 100))}. Call as: await MCP.{identifier}.<tool>({{ ... }}). "
        f'Shared types: API.read("mcp/index.d.ts").',
        "",
    )
    parts: list[str] = []
    size = 0
    taken = set(_SHARED)
    for own, tool in tools.items():
        declared = declare_tool(own, tool, taken)
        size += len(declared.encode())
        if size > _MAX_FILE:
            left = len(tools) - len(parts)
            parts.append(
                f"  // {left} more tools: MCP.{identifier}.$api() names them, $api(name) declares one\n"
            )
            break
        parts.append(declared)
    parts += declare_methods(methods)
    parts.append("  function $api(tool?: string, options?: { schema?: boolean }): Promise<McpApi>;\n")
    return f"{head}declare namespace MCP.{identifier} {{\n{''.join(parts)}}}\n"


class TypeText(NamedTuple):
    """The text of a type, and the aliases to write before it."""

    text: str
    aliases: str = ""


_ANY_INPUT = TypeText("Record<string, unknown>")
_ANY_RESULT = TypeText("unknown")


def declare_tool(identifier: str, tool: Tool, taken: set[str] | None = None) -> str:
    """Writes one function and before it the types it needs, indented for its server's namespace.

    A text that is too long says less of the result, else of the input, else of both. `taken` has the names of
    types in that namespace; the function's own are added.
    """
    prefix = identifier[:1].upper() + identifier[1:]
    taken = set(_SHARED) if taken is None else taken
    takes, params = _typed(tool.parameters, prefix, taken, has_top_notes=False), _params(tool.parameters)
    gives = TypeText("McpToolResult")
    if tool.returns is not None:
        gives = _typed(tool.returns, f"{prefix}Result", taken)
    if takes.text == "unknown":
        takes = _ANY_INPUT
    mark = "" if _is_needed(tool, takes.text) else "?"
    declared = ""
    for given, result, cut in (
        (takes, gives, ""),
        (takes, _ANY_RESULT, "result type"),
        (_ANY_INPUT, gives, "input type"),
        (_ANY_INPUT, _ANY_RESULT, "types"),
    ):
        told = one_line(tool.description, 200) + f" ({cut} too long: see $api)" if cut else tool.description
        note = doc_comment([one_line(told, _MAX_DESCRIPTION), *(params if given is takes else ())], "  ")
        signature = f"(input{mark}: {given.text}): Promise<{result.text}>"
        declared = f"{given.aliases}{result.aliases}{note}  function {identifier}{signature};\n"
        if len(declared) <= _MAX_TOOL:
            break
    return declared


def _params(schema: dict[str, Any]) -> list[str]:
    """A line for each parameter that the schema says something about; required ones first."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return []
    named = cast("dict[str, Any]", properties)
    needed = set(cast("list[Any]", required)) if _is_texts(required) else set[Any]()
    names = sorted(list(named)[:MAX_PROPERTIES], key=lambda name: name not in needed)
    told = [(name, told_of(named[name])) for name in names if len(name) <= MAX_KEY]
    return [f"@param input{_member(name)} - {text}" for name, text in told if text]


def _is_texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(one, str) for one in cast("list[Any]", found))


def _member(name: str) -> str:
    return f".{name}" if key(name) == name else f"[{quoted(name)}]"


def _typed(schema: dict[str, Any], prefix: str, taken: set[str], *, has_top_notes: bool = True) -> TypeText:
    types = SchemaTypes(schema, prefix, taken, has_top_notes=has_top_notes)
    text = types.of(schema, "  ")
    return TypeText(text, "".join(f"  type {name} = {body};\n" for name, body in types.aliases.items()))


def _is_needed(tool: Tool, given: str) -> bool:
    """Whether every correct call has an input."""
    return bool(tool.parameters.get("required")) or given.startswith("(") or " | " in given.partition("{")[0]


def declare_methods(methods: Mapping[str, Tool]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for method in methods:
        group, member, signature = METHODS[method]
        groups.setdefault(group, []).append(f"    function {member}{signature};\n")
    return [f"  namespace {group} {{\n{''.join(members)}  }}\n" for group, members in groups.items()]
