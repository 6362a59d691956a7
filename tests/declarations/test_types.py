"""JSON Schema as TypeScript: each keyword, exactly."""

from __future__ import annotations

from typing import Any

import pytest

from codemode.declarations.declarations import declare_tool
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
        ({"oneOf": [{"type": "string"}, {"type": "number"}]}, "string | number"),
        ({"anyOf": [{"type": "string"}, {}]}, "unknown"),
        ({"allOf": [{"type": "string"}, {"enum": ["a", "b"]}]}, 'string & ("a" | "b")'),
        ({"type": "object"}, "Record<string, unknown>"),
        ({"type": "object", "properties": {}}, "{}"),
        ({"type": "object", "additionalProperties": False}, "{}"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "Record<string, number>"),
        ({"patternProperties": {"^x": {"type": "number"}}}, "Record<string, number>"),
        ({"properties": {"b": {"type": "number"}, "a": {"type": "string"}}, "required": ["a"]},
         "{ a: string; b?: number }"),
        ({"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
         "{ a?: string; [key: string]: string }"),
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
        "  /** Finds things. *\\/ */\n"
        "  function doIt(input: {\n"
        "    /** What to find. *\\/ evil */\n"
        "    query: string;\n"
        "    /** At most. @default 10 */\n"
        "    limit?: number;\n"
        "  }): Promise<McpToolResult>;\n"
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
