"""Where a `$ref` leads within its document."""

from __future__ import annotations

from typing import Any

import pytest

from codemode.schemas.references import References, SchemaPart

DOCUMENT: dict[str, Any] = {
    "$id": "https://example.com/whole",
    "$anchor": "top",
    "properties": {"$anchor": {"type": "string"}, "$id": {"const": "$id"}},
    "enum": [{"$anchor": "data"}],
    "anyOf": [{"type": "null"}, {"$anchor": "second"}],
    "$defs": {
        "a": {"type": "string"},
        "b/c~d": {"const": 1},
        "50%": {"const": 2},
        "": {"const": 3},
        "yes": True,
        "word": "text",
        "old": {"$id": "#ancient"},
        "moving": {"$dynamicAnchor": "node"},
        "on": {"$ref": "#/$defs/further"},
        "further": {"$ref": "#/$defs/a"},
        "round": {"$ref": "#/$defs/about"},
        "about": {"$ref": "#/$defs/round"},
        "lost": {"$ref": "#/$defs/nowhere"},
        "more": {"$ref": "#/$defs/a", "minLength": 1},
    },
}
DEFS = DOCUMENT["$defs"]


@pytest.mark.parametrize(
    ("reference", "name", "schema"),
    [
        ("#", "", DOCUMENT),
        ("#/$defs/a", "a", DEFS["a"]),
        ("#/%24defs/a", "a", DEFS["a"]),
        ("#/$defs/b~1c~0d", "b/c~d", DEFS["b/c~d"]),
        ("#/$defs/50%25", "50%", DEFS["50%"]),
        ("#/$defs/", "", DEFS[""]),
        ("#/$defs/yes", "yes", True),
        ("#/anyOf/1", "1", DOCUMENT["anyOf"][1]),
        ("#/properties/$anchor", "$anchor", DOCUMENT["properties"]["$anchor"]),
        ("#top", "top", DOCUMENT),
        ("#second", "second", DOCUMENT["anyOf"][1]),
        ("#ancient", "ancient", DEFS["old"]),
        ("#node", "node", DEFS["moving"]),
    ],
)
def test_a_reference_leads_to_this_very_part(reference: str, name: str, schema: Any) -> None:
    found = References(DOCUMENT).find(reference)

    assert found == SchemaPart(name, schema)
    assert found is not None
    assert found.schema is schema


@pytest.mark.parametrize(
    "reference",
    [
        "", "a", "#a", "#data", "#/", "#/$defs/nowhere", "#/$defs/word", "#/$defs/a/type/0", "#/anyOf/2",
        "#/anyOf/01x", "#/anyOf/-1", "#/anyOf/²", "#/anyOf/999999999", "https://example.com/other", "#//",
        7, None,
    ],
)  # fmt: skip
def test_what_is_not_there_is_unknown(reference: object) -> None:
    assert References(DOCUMENT).find(reference) is None
    assert References(DOCUMENT).resolve(reference) is None


def test_places_that_only_refer_on_are_gone_through_and_others_are_not() -> None:
    references = References(DOCUMENT)

    assert references.resolve("#/$defs/on") == SchemaPart("a", DEFS["a"])
    assert references.resolve("#/$defs/more") == SchemaPart("more", DEFS["more"])
    assert references.find("#/$defs/on") == SchemaPart("on", DEFS["on"])


@pytest.mark.parametrize("reference", ["#/$defs/round", "#/$defs/about", "#/$defs/lost"])
def test_a_chain_that_ends_nowhere_or_never_is_unknown(reference: str) -> None:
    assert References(DOCUMENT).resolve(reference) is None


def test_in_a_document_with_another_document_in_it_no_reference_is_followed() -> None:
    document: dict[str, Any] = {"$defs": {"a": {"$id": "inner", "$defs": {"b": {}}}, "b": {"type": "string"}}}

    assert References(document).find("#/$defs/b") is None


def test_a_document_nested_without_end_is_searched_all_the_same() -> None:
    deep: dict[str, Any] = {"$anchor": "bottom"}
    for _ in range(50_000):
        deep = {"items": [deep]}

    assert References(deep).find("#bottom") == SchemaPart("bottom", {"$anchor": "bottom"})
