"""Signatures carry what decides a program."""

# ruff: noqa: E501 - schemas and their texts read best side by side

from typing import Any

import pytest

from codemode.tools.constraints import clause_of, pattern_in_words
from codemode.tools.sketch import sketch


def member(schema: dict[str, Any], name: str = "x") -> str:
    return sketch({"type": "object", "properties": {name: schema}, "required": [name]})[2:-2]


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 20}, "x: integer 1..20"),
        ({"type": "integer", "minimum": 1, "maximum": 20, "default": 10}, "x: integer 1..20 = 10"),
        ({"type": "number", "exclusiveMinimum": 0}, "x: number > 0"),
        ({"type": "number", "maximum": 0.5}, "x: number <= 0.5"),
        ({"type": "string", "format": "date-time"}, "x: string /* ISO date-time */"),
        ({"type": "string", "format": "email"}, "x: string /* email */"),
        ({"type": "string", "pattern": "^[A-Z]{3}$"}, "x: string /* 3 capital letters */"),
        ({"type": "string", "pattern": "^(a|b)+$"}, "x: string /* matches ^(a|b)+$ */"),
        ({"type": "string", "maxLength": 80}, "x: string at most 80 characters"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 5}, "x: string[] at most 5 items"),
        ({"enum": ["open", "closed"], "default": "open"}, 'x: "open" | "closed" = "open"'),
        ({"type": "string", "description": "owner/name. For example a/b."}, "x: string /* owner/name */"),
        ({"type": "string", "description": "The x."}, "x: string"),
        ({"type": "boolean", "description": "Whether it is so"}, "x: boolean"),
        ({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None}, "x: integer | null >= 1"),
        ({"type": "string", "description": "ends */ here"}, "x: string /* ends * / here */"),
        ({"type": "integer", "minimum": "1", "maximum": True, "default": {"a": "x" * 99}}, "x: integer"),
    ],
)  # fmt: skip
@pytest.mark.guarantee("signatures-decide")
def test_a_parameter_tells_what_decides_a_program(schema: dict[str, Any], text: str) -> None:
    assert member(schema) == text


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"^\d{4}-\d{2}$", "4 digits, -, 2 digits"),
        ("^[a-z]+$", "small letters"),
        ("^ORD-[0-9]{1,6}$", "ORD, -, 1..6 digits"),
        ("[a-z]", "matches [a-z]"),
        ("a*/b", ""),
    ],
)
def test_simple_patterns_are_told_in_words(pattern: str, words: str) -> None:
    assert pattern_in_words(pattern) == words


def test_a_clause_is_short_and_says_more_than_the_name() -> None:
    assert clause_of("Name of the report (see list_reports)", "report", 40) == "Name of the report"
    assert clause_of("The page size", "page_size", 40) == ""
    assert clause_of("x" * 100, "a", 20) == "x" * 19 + "…"
