"""A schema without its references refuses nothing that it accepts with them."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema_rs import validator_for

from codemode.executor.unfolding import Unusable, unfold

names = st.sampled_from(["a", "b", "c"])
references = st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#here"])
kinds = st.sampled_from(["object", "array", "string", "number"])
leaves = st.one_of(
    st.booleans(),
    st.fixed_dictionaries({"type": kinds}),
    st.fixed_dictionaries({"$ref": references}),
    st.fixed_dictionaries({"const": st.just(1)}),
)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    several, named = st.lists(inner, min_size=1, max_size=2), st.dictionaries(names, inner, max_size=2)
    schemas = ["additionalProperties", "items", "not", "if", "then", "else", "contains", "propertyNames"]
    return st.fixed_dictionaries(
        {},
        optional={
            "$ref": references,
            "type": kinds,
            "required": st.lists(names, max_size=1),
            "maxContains": st.just(1),
            "unevaluatedProperties": st.just(False) | inner,
            "unevaluatedItems": st.just(False) | inner,
            **dict.fromkeys(["properties", "dependentSchemas"], named),
            **dict.fromkeys(["anyOf", "oneOf", "allOf", "prefixItems"], several),
            **dict.fromkeys(schemas, inner),
        },
    )


schemas = st.recursive(leaves, nested, max_leaves=8)


def document_of(own: dict[str, Any], a: Any, b: dict[str, Any]) -> dict[str, Any]:
    return {**own, "$defs": {"a": a, "b": {**b, "$anchor": "here"}}}


documents = st.builds(document_of, nested(schemas), schemas, nested(schemas))
values = st.recursive(
    st.sampled_from([1, 2, "s", None, True]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=6,
)


@given(documents, st.lists(st.dictionaries(names, values, max_size=3), min_size=3, max_size=6))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_a_schema_accepts_it_accepts_unfolded(
    document: dict[str, Any], instances: list[dict[str, Any]]
) -> None:
    try:
        unfolded = unfold(document)
    except Unusable:  # and then it refuses nothing at all
        return
    whole, tree = validator_for(document, offline=True), validator_for(unfolded, offline=True)

    assert [one for one in instances if whole.is_valid(one) and not tree.is_valid(one)] == []
