"""Whatever a server says: names stay apart, and declarations are TypeScript, bounded, the same every time."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemode.declarations.declarations import declare_server
from codemode.declarations.identifiers import SERVER_MEMBERS, assign
from codemode.declarations.schema_types import SchemaTypes
from codemode.mcp.library import Library
from codemode.tools import CallContext, Tool
from tests.harness.grammar import problems

EVIL = [
    "*/",
    "/*",
    "`",
    "${x}",
    "\n",
    "\u2028",
    "__proto__",
    "then",
    "delete",
    "\\",
    '"',
    "//",
    "}",
    "$api",
    "\x00",
]
words = st.one_of(st.text(max_size=12), st.sampled_from(EVIL), st.lists(st.sampled_from(EVIL)).map("".join))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words
references = st.sampled_from(
    ["#", "#/$defs/a", "#/$defs/b", "#/properties/x", "#/nope", "http://h/x", "", "#here", "#/anyOf/0"]
)
kinds = st.sampled_from(["object", "array", "string", "number", "integer", "boolean", "null", "odd"])


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, max_size=3)
    named = st.dictionaries(words, inner, max_size=3)
    anything = st.one_of(inner, scalars, several)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": kinds | st.lists(kinds, max_size=3) | scalars,
            "description": words | scalars,
            "default": scalars,
            "enum": st.lists(scalars, max_size=4) | scalars,
            "const": scalars | st.lists(scalars, max_size=2),
            "properties": named | scalars,
            "required": st.lists(words, max_size=2) | scalars,
            "additionalProperties": inner | st.booleans(),
            "patternProperties": named,
            "items": inner | several | st.just(True),
            "prefixItems": several,
            "additionalItems": inner,
            "minItems": st.integers(-1, 3),
            "anyOf": several | anything,
            "oneOf": several,
            "allOf": several,
            "$ref": references | words,
            "$anchor": st.just("here"),
            "nullable": st.booleans(),
            "$defs": st.fixed_dictionaries({"a": inner, "b": inner}),
        },
    )


schemas = st.recursive(st.booleans() | st.fixed_dictionaries({"type": kinds}), nested, max_leaves=12)
objects = nested(schemas)


async def nothing(arguments: dict[str, Any], context: CallContext) -> None: ...


@given(st.lists(words, unique=True, max_size=12))
def test_generated_names_are_identifiers_and_never_collide(names: list[str]) -> None:
    found = assign(names, taken=SERVER_MEMBERS)
    assert found.keys() == set(names)
    assert len(set(found.values())) == len(names)
    assert all(name.replace("$", "_").isidentifier() for name in found.values())
    assert assign(reversed(names), taken=SERVER_MEMBERS) == found


@given(objects)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_the_type_of_any_schema_parses(schema: dict[str, Any]) -> None:
    types = SchemaTypes(schema, "T")
    body = types.of(schema)
    aliases = "".join(f"type {name} = {text};\n" for name, text in types.aliases.items())
    assert problems(f"{aliases}declare const x: {body};\n") == []


@given(st.lists(st.tuples(words, words, objects, st.none() | objects), max_size=4), words)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_the_declarations_of_any_server_parse_and_are_the_same_every_time(
    listed: list[tuple[str, str, Any, Any]], server: str
) -> None:
    tools = [
        Tool(name, text, takes, nothing, gives, "mcp", server.replace(":", "") or "s")
        for name, text, takes, gives in {entry[0]: entry for entry in listed}.values()
        if name
    ]
    library, again = Library(tools), Library(reversed(tools))
    assert library.list_files("") == again.list_files("")
    names = assign([tool.name for tool in tools], taken=SERVER_MEMBERS)
    text = declare_server("server", server, {names[tool.name]: tool for tool in tools}, {})
    assert problems(text) == []
    assert len(text) < 64 << 10
