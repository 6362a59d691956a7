"""JSON Schema as TypeScript: each keyword, exactly."""

from __future__ import annotations

import re
from typing import Any

import pytest

from codemode.declarations.declarations import declare_server, declare_tool
from codemode.declarations.schema_types import SchemaTypes
from codemode.tools import CallContext, Tool
from tests.harness.grammar import problems


def type_of(schema: Any) -> str:
    return SchemaTypes({}, "T").of(schema)


async def nothing(arguments: dict[str, Any], context: CallContext) -> None: ...


def declared(parameters: dict[str, Any], returns: dict[str, Any] | None = None, description: str = "") -> str:
    tool = Tool("t", description, parameters, nothing, returns, "mcp", "server")
    text = declare_tool("doIt", tool)
    assert problems(f"declare namespace N {{\n{text}}}\n") == []
    return text


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, "unknown"),
        (True, "unknown"),
        (False, "never"),
        ({"type": "string"}, "string"),
        ({"type": "integer"}, "number"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "null"}, "null"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"type": "string", "nullable": True}, "string | null"),
        ({"enum": ["a", "b", 1, None, True]}, '"a" | "b" | 1 | null | true'),
        ({"const": "x"}, '"x"'),
        ({"const": {"a": [1, -2.5]}}, "{ a: [1, -2.5] }"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, 'Array<"a" | "b">'),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array"}, "unknown[]"),
        ({"prefixItems": [{"type": "string"}, {"type": "number"}]}, "[string, number]"),
        ({"items": [{"type": "string"}], "additionalItems": {"type": "number"}}, "[string, ...number[]]"),
        ({"prefixItems": [{"type": "string"}, {"const": 1}], "minItems": 1}, "[string, (1)?]"),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "null"}}, "[string, ...null[]]"),
        ({"prefixItems": [{"type": "string"}, {"type": "null"}], "items": True},
         "[string, null, ...unknown[]]"),
        ({"prefixItems": [{"type": "string"}], "items": False}, "[string]"),
        ({"prefixItems": [{"type": "string"}], "items": {"enum": ["a", 1]}}, '[string, ...("a" | 1)[]]'),
        ({"items": [{"type": "string"}], "additionalItems": True}, "[string, ...unknown[]]"),
        ({"anyOf": [{"const": n} for n in range(101)]}, "unknown"),
        ({"oneOf": [{"type": "string"}, {"type": "number"}]}, "string | number"),
        ({"anyOf": [{"type": "string"}, {}]}, "unknown"),
        ({"allOf": [{"type": "string"}, {"enum": ["a", "b"]}]}, 'string & ("a" | "b")'),
        ({"type": "object"}, "Record<string, unknown>"),
        ({"type": "object", "properties": {}}, "{}"),
        ({"type": "object", "additionalProperties": False}, "{}"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "Record<string, number>"),
        ({"patternProperties": {"^x": {"type": "number"}}}, "Record<string, unknown>"),
        ({"patternProperties": {"^x": {"type": "number"}}, "additionalProperties": False},
         "Record<string, number>"),
        ({"patternProperties": {"^x": {"type": "number"}}, "additionalProperties": {"type": "string"}},
         "Record<string, number | string>"),
        ({"properties": {"a": {"type": "string"}}, "patternProperties": {"^x": {"type": "number"}}},
         "{ a?: string; [key: string]: unknown }"),
        ({"properties": {"b": {"type": "number"}, "a": {"type": "string"}}, "required": ["a"]},
         "{ a: string; b?: number }"),
        ({"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
         "{ a?: string; [key: string]: string | undefined }"),
        ({"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"},
          "required": ["a"]}, "{ a: string; [key: string]: string }"),
        ({"properties": {"foo": {"type": "string"}}, "additionalProperties": {"type": "boolean"}},
         "{ foo?: string; [key: string]: boolean | string | undefined }"),
        ({"properties": {"foo": {"enum": ["x" * 70]}}, "additionalProperties": {"type": "boolean"}},
         f'{{\n  foo?: "{"x" * 70}";\n  [key: string]: unknown;\n}}'),
        ({"properties": {}, "additionalProperties": {"type": "boolean"}, "required": ["x"]},
         "{ x: unknown; [key: string]: unknown }"),
        ({"required": ["x"]}, "{ x: unknown }"),
        ({"properties": {"a-b": {}, "new": {}, "get": {}, "__proto__": {}, "ok": {}}},
         '{\n  "a-b"?: unknown;\n  "new"?: unknown;\n  "get"?: unknown;\n'
         '  __proto__?: unknown;\n  ok?: unknown;\n}'),
        ({"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
         "{ a?: unknown } & ({ a: unknown } | { b: unknown })"),
    ],
)  # fmt: skip
def test_a_schema_becomes_this_type(schema: Any, expected: str) -> None:
    assert type_of(schema) == expected


def test_required_parameters_come_first_with_notes_and_defaults() -> None:
    parameters = {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "description": "At most.", "default": 10},
            "query": {"type": "string", "description": "What to find. */ evil"},
        },
        "required": ["query"],
    }
    assert declared(parameters, description="Finds\nthings. */") == (
        "  /**\n"
        "   * Finds things. *\\/\n"
        "   * @param input.query - What to find. *\\/ evil\n"
        "   * @param input.limit - At most. @default 10\n"
        "   */\n"
        "  function doIt(input: { query: string; limit?: number }): Promise<McpToolResult>;\n"
    )


def test_references_become_aliases_also_where_they_lead_back() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "v": {"type": "string"}}}
    parameters = {
        "properties": {"root": {"$ref": "#/$defs/Node"}},
        "required": ["root"],
        "$defs": {"Node": node},
    }
    assert declared(parameters) == (
        "  type DoItNode = { next?: DoItNode; v?: string };\n"
        "  function doIt(input: { root: DoItNode }): Promise<McpToolResult>;\n"
    )


@pytest.mark.parametrize(
    "loop",
    [
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"$ref": "#/nowhere"},
        {"$ref": "http://example.invalid/schema.json"},
        {"$ref": 7},
    ],
)
def test_a_reference_that_leads_nowhere_is_anything(loop: dict[str, Any]) -> None:
    assert declared(loop) == "  function doIt(input?: Record<string, unknown>): Promise<McpToolResult>;\n"


def test_a_schema_that_is_itself_again_is_one_alias() -> None:
    found = declared({"type": "object", "properties": {"child": {"$ref": "#"}}})
    assert found == (
        "  type DoItSelf = { child?: DoItSelf };\n"
        "  function doIt(input?: { child?: DoItSelf }): Promise<McpToolResult>;\n"
    )


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (
            {"anyOf": [{"type": "object"}, {"$ref": "#"}]},
            "  type DoItSelf = Record<string, unknown>;\n"
            "  function doIt(input: Record<string, unknown> | DoItSelf): Promise<McpToolResult>;\n",
        ),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"oneOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}},
            "  type DoItA = null;\n  function doIt(input?: DoItA): Promise<McpToolResult>;\n",
        ),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {
                    "a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "string"}]},
                    "b": {"allOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]},
                },
            },
            "  type DoItB = null;\n"
            "  type DoItA = DoItB | string;\n"
            "  function doIt(input?: DoItA): Promise<McpToolResult>;\n",
        ),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"additionalProperties": {"$ref": "#/$defs/a"}}}},
            "  type DoItA = { [key: string]: DoItA };\n"
            "  function doIt(input?: DoItA): Promise<McpToolResult>;\n",
        ),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"prefixItems": [{"const": 1}], "items": {"$ref": "#/$defs/a"}}},
            },
            "  type DoItA = [1, ...DoItA[]];\n  function doIt(input?: DoItA): Promise<McpToolResult>;\n",
        ),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"prefixItems": [{"items": {"$ref": "#/$defs/a"}}], "minItems": 0}},
            },
            "  type DoItA = [unknown?];\n  function doIt(input?: DoItA): Promise<McpToolResult>;\n",
        ),
    ],
)
def test_an_alias_never_leads_to_itself_outside_of_braces(parameters: dict[str, Any], expected: str) -> None:
    assert declared(parameters) == expected


def test_an_anchor_and_a_pointer_to_the_same_place_are_one_alias() -> None:
    parameters = {
        "properties": {"a": {"$ref": "#point"}, "b": {"$ref": "#/$defs/a~1b%25"}},
        "$defs": {"a/b%": {"$anchor": "point", "type": "object", "properties": {"x": {"type": "number"}}}},
    }
    assert declared(parameters) == (
        "  type DoItPoint = { x?: number };\n"
        "  function doIt(input?: { a?: DoItPoint; b?: DoItPoint }): Promise<McpToolResult>;\n"
    )


def test_a_result_that_is_too_long_is_left_out_and_the_input_stays() -> None:
    wide = {"properties": {"z": {"enum": [f"{n:03}" * 60 for n in range(99)]}}}
    short = {"properties": {"q": {"type": "string"}}, "required": ["q"]}
    assert declared(short, wide, "Finds.") == (
        "  /** Finds. (result type too long: see $api) */\n"
        "  function doIt(input: { q: string }): Promise<unknown>;\n"
    )
    assert declared(wide, short, "Finds.") == (
        "  /** Finds. (input type too long: see $api) */\n"
        "  function doIt(input?: Record<string, unknown>): Promise<{ q: string }>;\n"
    )
    assert declared(wide, wide, "Finds.") == (
        "  /** Finds. (types too long: see $api) */\n"
        "  function doIt(input?: Record<string, unknown>): Promise<unknown>;\n"
    )


def test_types_of_two_tools_of_a_server_never_have_one_name() -> None:
    def tool(name: str, part: str) -> Tool:
        parameters = {"properties": {"x": {"$ref": f"#/$defs/{part}"}}, "$defs": {part: {"type": "string"}}}
        return Tool(name, "", parameters, nothing, None, "mcp", "server")

    tools = {"get": tool("get", "UserItem"), "getUser": tool("getUser", "Item")}
    text = declare_server("server", "server", tools, {})
    assert problems(text) == []
    assert re.findall(r"type (\w+) = string", text) == ["GetUserItem", "GetUserItem2"]


def test_a_declared_result_is_the_type_of_the_promise() -> None:
    returns = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    assert declared({"type": "object", "properties": {}}, returns) == (
        "  function doIt(input?: {}): Promise<{ ok: boolean }>;\n"
    )


def test_what_is_too_deep_or_too_large_says_less_and_stays_small() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"inner": deep}}
    wide = {
        "type": "object",
        "properties": {f"property_{n}": {"enum": ["x" * 150] * 99} for n in range(5000)},
    }
    assert len(declared(deep)) < 2_000
    assert len(declared(wide)) < 14_000
    assert len(declared({"enum": ["y" * 150 + str(n) for n in range(99)]})) < 14_000
