"""Schemas in a line of text."""

from typing import Any

import pytest

from codemode.tools.sketch import sketch


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, "any"),
        (True, "any"),
        (False, "never"),
        ({"type": "integer"}, "integer"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"const": "x"}, '"x"'),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, 'Array<"a" | "b">'),
        ({"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]}, "[number, string]"),
        ({"type": "object"}, "object"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "Record<string, number>"),
        (
            {"type": "object", "properties": {"b": {}, "a-b": {"type": "string"}}, "required": ["a-b"]},
            '{ "a-b": string, b?: any }',
        ),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"allOf": [{"type": "object"}, {"$ref": "#/$defs/x"}], "$defs": {"x": {"const": 1}}}, "object & 1"),
        ({"$ref": "#x", "$defs": {"y": {"$anchor": "x", "const": 1}}}, "1"),
        ({"$ref": "#/$defs/a~1%25", "$defs": {"a/%": {"const": 1}}}, "1"),
        ({"$ref": "#/$defs/no"}, "any"),
        ({"$ref": "https://example.com/x"}, "any"),
    ],
)
def test_a_schema_is_sketched(schema: Any, text: str) -> None:
    assert sketch(schema) == text


def test_a_schema_that_contains_itself_ends() -> None:
    schema = {
        "$ref": "#/$defs/n",
        "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}},
    }

    assert sketch(schema) == "{ n?: { n?: … } }"


def test_members_options_and_length_are_bounded() -> None:
    wide: dict[str, Any] = {"type": "object", "properties": {f"p{number}": {} for number in range(20)}}
    many = {"enum": list(range(100))}

    assert sketch(wide).endswith("p11?: any, … 8 more }")
    assert sketch(many) == "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | …"
    assert len(sketch(wide, longest=50)) <= 50
