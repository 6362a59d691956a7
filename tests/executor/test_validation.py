"""Arguments are checked before anything happens, and a refusal says what would be right."""

import logging
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.catalog import Catalog
from codemode.executor import CallFailed
from codemode.executor.unfolding import Unusable, unfold
from codemode.executor.validation import refuse_arguments
from codemode.surface import describe_exec
from codemode.tools import Source, Tool
from tests.harness.loop_meter import unit
from tests.harness.tool_samples import make, takes

SEARCH = make(
    "web_search",
    parameters=takes(
        "query",
        kind={"enum": ["images", "videos"]},
        limit={"type": "integer", "minimum": 1},
        where=takes("city"),
    ),
)
SKETCH = '{ query: string, kind?: "images" | "videos", limit?: integer >= 1, where?: { city: string } }'


def refusal(tool: Tool, arguments: object) -> CallFailed:
    refused = refuse_arguments(tool, arguments)
    assert refused is not None
    return refused


def problems(refused: CallFailed) -> list[str]:
    return refused.data["problems"]


def test_of_many_unknown_parameters_the_first_are_told_and_the_rest_counted() -> None:
    tool = make("one", parameters=takes(a={"type": "integer"}))
    told = [f'unknown parameter "x{at}"' for at in range(5)]
    assert problems(refusal(tool, {f"x{at}": 0 for at in range(1000)})) == [
        "; ".join([*told, "and 995 more"]),
    ]


def test_of_many_wrong_items_in_large_input_the_first_is_told() -> None:
    tool = make("sum", parameters=takes(values={"type": "array", "items": {"type": "integer"}}))
    wrong = '"values.{}" must be integer, not string'
    assert problems(refusal(tool, {"values": ["x"] * 500_000})) == [wrong.format(0)]
    assert problems(refusal(tool, {"values": ["x"] * 10})) == [wrong.format(at) for at in range(5)]


_NUMBER = {"type": "integer"}
_LARGE: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "unknown names": (
        takes(a=_NUMBER),
        {f"k{at}": at for at in range(124_990)},
        "; ".join([*(f'unknown parameter "k{at}"' for at in range(5)), "and 124985 more"]),
    ),
    "unknown names below": (
        takes(a=takes(b=_NUMBER)),
        {"a": {"b": 1} | {f"k{at}": at for at in range(124_990)}},
        "; ".join([*(f'unknown parameter "a.k{at}"' for at in range(5)), "and 124985 more"]),
    ),
    "a list for a number": (takes(a=_NUMBER), {"a": [[]] * 249_000}, '"a" must be integer, not array'),
    "objects for a number": (
        takes(a=_NUMBER),
        {"a": [{"x": at} for at in range(83_000)]},
        '"a" must be integer, not array',
    ),
    "a long text for a number": (
        takes(a=_NUMBER),
        {"a": "x" * 16_000_000},
        '"a" must be integer, not string',
    ),
    "a name is missing": (
        takes("b", a={"type": "array"}),
        {"a": ["x" * 9] * 240_000},
        'missing parameter "b"',
    ),
    "none of several": (
        takes(a={"anyOf": [{"type": "array", "items": _NUMBER}, {"type": "string"}]}),
        {"a": [*range(240_000), "x"]},
        "{size:,} bytes of input that do not fit, too large to say where",
    ),
}


@pytest.mark.parametrize("name", _LARGE)
def test_saying_what_is_wrong_with_large_arguments_takes_less_than_decoding_them(name: str) -> None:
    parameters, given, told = _LARGE[name]
    tool = make("one", parameters=parameters)
    size = len(msgspec.json.encode(given))
    found = [_measured(lambda: refuse_arguments(tool, given, size)) for _ in range(3)]
    assert problems(found[0][0]) == [told.format(size=size)]
    assert min(spent for _, spent in found) < 1.5 * unit()


def _measured(work: Callable[[], CallFailed | None]) -> tuple[CallFailed, float]:
    began = time.thread_time()
    refused = work()
    spent = time.thread_time() - began
    assert refused is not None
    return refused, spent


def test_arguments_with_more_parts_than_can_be_checked_are_refused_but_a_server_gets_them() -> None:
    pairs = {"enum": [{"pair": [at, at + 1]} for at in range(500)]}
    schema = takes(a={"type": "array", "items": pairs})
    own = make("own", parameters=schema)
    theirs = make("theirs", parameters=schema, source="mcp")
    many = {"a": [{"pair": [0, 1]}] * 5_000}
    assert problems(refusal(own, many)) == [
        "the input has more parts than can be checked against these parameters; send less at once"
    ]
    assert refuse_arguments(theirs, many) is None
    few = {"a": [{"pair": [0, 1]}] * 100}
    assert (refuse_arguments(own, few), refuse_arguments(theirs, few)) == (None, None)
    wrong = {"a": [{"pair": [1, 0]}]}
    assert problems(refusal(own, wrong)) == problems(refusal(theirs, wrong))


def test_a_missing_parameter_is_looked_for_among_a_bounded_number_of_names() -> None:
    tool = make("one", parameters=takes("query"))
    given = {f"y{at}": 0 for at in range(100)} | {"qurey": 1}
    told = problems(refusal(tool, given))
    assert 'missing parameter "query"' in told


def test_arguments_that_fit_are_not_refused() -> None:
    given = {"query": "cats", "kind": "images", "limit": 3, "where": {"city": "Rome"}}

    assert refuse_arguments(SEARCH, given) is None


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"query": "x", "limt": 3}, 'unknown parameter "limt". Did you mean "limit"?'),
        ({"query": "x", "zzz": 3}, 'unknown parameter "zzz"'),
        ({"query": "x", "where": {"city": "a", "town": 1}}, 'unknown parameter "where.town"'),
        ({}, 'missing parameter "query"'),
        ({"query": "x", "where": {}}, 'missing parameter "where.city"'),
        ({"query": "x", "kind": "image"}, '"kind" must be one of images, videos. Did you mean "images"?'),
        ({"query": "x", "kind": 3}, '"kind" must be one of images, videos'),
        ({"query": 3}, '"query" must be string, not number'),
        ({"query": "x", "limit": "3"}, '"limit" must be integer, not string'),
        ({"query": "x", "limit": 0}, '"limit": 0 is less than the minimum of 1'),
        ([1], "takes one object, not array"),
        ("cats", "takes one object, not string"),
        (None, "takes one object, not null"),
    ],
)
def test_a_refusal_names_the_problem_and_the_parameters(arguments: Any, problem: str) -> None:
    refused = refusal(SEARCH, arguments)

    assert (refused.code, refused.name) == ("invalid_arguments", "InvalidArguments")
    ended = problem if problem.endswith("?") else f"{problem}."
    assert refused.message == f"web_search: {ended} Parameters: {SKETCH}"
    assert refused.data == {"problems": [problem], "parameters": SKETCH}


def test_a_misspelt_parameter_is_named_where_it_is_missing() -> None:
    assert refusal(SEARCH, {"qurey": "x"}).data["problems"] == [
        'unknown parameter "qurey". Did you mean "query"?',
        'missing parameter "query", perhaps given as "qurey"',
    ]


def test_at_most_five_problems_are_told() -> None:
    tool = make("many", parameters=takes(*(f"p{number}" for number in range(20))))

    assert len(refusal(tool, {}).data["problems"]) == 5


def test_a_value_in_a_problem_is_cut() -> None:
    assert len(refusal(SEARCH, {"query": "x", "limit": -(10**2000)}).message) < 1_000


@pytest.mark.parametrize(
    "value", ["\ud800", {"a": object()}, 10**5000], ids=["surrogate", "object", "long number"]
)
def test_what_is_not_json_is_refused(value: Any) -> None:
    anything = make("anything", parameters={"type": "object"})

    assert "not JSON" in refusal(anything, {"value": value}).message


def test_arguments_nested_without_end_are_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    anything = make("anything", parameters={"type": "object"})

    assert "nested too deeply" in refusal(anything, deep).message


@pytest.mark.parametrize("source", ["openclaw", "mcp"])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strin"},
        {"properties": {"a": {"pattern": "["}}},
        {"$ref": "#/$defs/nowhere"},
        {"required": "a"},
    ],
)
def test_an_unusable_schema_refuses_nothing_and_is_reported(
    source: Source, schema: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    tool = make("odd", source=source, parameters=schema)

    with caplog.at_level(logging.WARNING, "codemode.executor"):
        assert refuse_arguments(tool, {"a": 1}) is None
        assert refuse_arguments(tool, {"a": 2}) is None
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith(f"the parameters of {tool.id} are no usable JSON schema")


@pytest.mark.parametrize("source", ["openclaw", "mcp"])
@pytest.mark.parametrize("reference", ["http://127.0.0.1:9/schema.json", "file:///etc/passwd"])
def test_other_documents_are_never_fetched(source: Source, reference: str) -> None:
    """An attempt would fail the call; offline, the reference means nothing."""
    assert refuse_arguments(make("far", source=source, parameters={"$ref": reference}), {"a": 1}) is None


def test_a_servers_schema_that_explodes_is_not_used() -> None:
    """Sixty doublings: checking it would outlast the universe."""
    defs: dict[str, Any] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(60)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": defs | {"d60": {"type": "object"}}}

    assert refuse_arguments(make("bomb", source="mcp", parameters=schema), {}) is None


def test_a_servers_pattern_that_backtracks_for_ever_is_cut_short() -> None:
    schema = {"properties": {"a": {"pattern": "^(a|a)*b(?=c)$"}}}

    assert "a" in refusal(make("slow", source="mcp", parameters=schema), {"a": "a" * 60 + "!"}).message


def test_references_of_a_server_are_unfolded() -> None:
    schema = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/point", "description": "where"}, "$ref": {"type": "string"}},
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}},
    }

    assert unfold(schema) == {
        "type": "object",
        "properties": {
            "at": {
                "description": "where",
                "allOf": [{"type": "object", "properties": {"x": {"type": "number"}}}],
            },
            "$ref": {"type": "string"},
        },
    }
    refused = refusal(make("go", source="mcp", parameters=schema), {"at": {"x": "1"}})
    assert '"at.x" must be number, not string' in refused.message


def test_a_reference_back_to_its_container_accepts_anything() -> None:
    schema = {
        "$ref": "#/$defs/node",
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    }

    anything = {"unevaluatedProperties": True, "unevaluatedItems": True}
    assert unfold(schema) == {"type": "object", "properties": {"next": anything}}


POINT = {"type": "object", "properties": {"x": {"type": "number"}}}
LIST = {"type": "object", "properties": {"next": {"$ref": "#/$defs/list"}, "end": {"const": True}}}


@pytest.mark.parametrize(
    ("own", "accepted", "refused"),
    [
        (  # a sibling of a reference sees what the reference names
            {"$ref": "#/$defs/point", "properties": {"y": {}}, "unevaluatedProperties": False},
            {"x": 1, "y": 2},
            {"x": 1, "z": 2},
        ),
        ({"$ref": "#point", "unevaluatedProperties": False}, {"x": 1}, {"x": "1"}),
        (  # and so it does where the reference cannot be followed
            {"$ref": "http://example.invalid/x", "unevaluatedProperties": False, "required": ["x"]},
            {"x": 1},
            {},
        ),
        (
            {"allOf": [{"$ref": "#"}], "unevaluatedProperties": False, "required": ["x"]},
            {"x": 1},
            {},
        ),
        # of a list within a list nothing is known, so that only its container can refuse
        ({"not": {"$ref": "#/$defs/list"}, "required": ["x"]}, {"x": 1, "next": {"end": 1}}, {}),
        (
            {"properties": {"a": {"oneOf": [{"$ref": "#/$defs/list"}, {"required": ["next"]}]}}},
            {"a": {"next": {"end": 1}}},
            {"a": {"end": 1}},
        ),
        (
            {"if": {"$ref": "#/$defs/list"}, "then": {"maxProperties": 0}, "required": ["x"]},
            {"x": 1, "next": {"end": 1}},
            {},
        ),
        (
            {
                "properties": {"a": {"contains": {"$ref": "#/$defs/list"}, "maxContains": 1}},
                "required": ["a"],
            },
            {"a": [{"next": {"end": 1}}, {"end": True}]},
            {},
        ),
    ],
)
def test_what_a_servers_schema_accepts_is_never_refused_for_its_references(
    own: dict[str, Any], accepted: dict[str, Any], refused: dict[str, Any]
) -> None:
    schema = {**own, "$defs": {"point": {"$anchor": "point", **POINT}, "list": LIST}}
    tool = make("go", source="mcp", parameters=schema)

    assert refuse_arguments(tool, accepted) is None
    assert refusal(tool, refused).code == "invalid_arguments"


def test_a_schema_nested_too_deeply_cannot_be_unfolded() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"items": deep}

    with pytest.raises(Unusable, match="nested more than"):
        unfold(deep)


KEYWORDS = (
    "type properties items enum const anyOf allOf oneOf not $ref $defs required additionalProperties "
    "prefixItems pattern minimum format default if then else patternProperties a b $schema $id description"
)
WORDS = ["object", "array", "string", "#", "#/$defs/a", "#/properties/a", "[", "(a+)+$", "http://x/y"]
leaves = st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS) | st.text(max_size=3)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYWORDS.split()), inner, max_size=5)
    ),
    max_leaves=25,
)
schemas = st.dictionaries(st.sampled_from(KEYWORDS.split()), values, max_size=6)


@given(schemas, st.dictionaries(st.sampled_from("abx"), values), st.sampled_from(["openclaw", "mcp"]))
@settings(max_examples=200)
def test_any_schema_and_any_arguments_give_a_verdict(
    schema: dict[str, Any], arguments: dict[str, Any], source: Source
) -> None:
    tool = make("any", source=source, parameters=schema)

    refused = refuse_arguments(tool, arguments)

    assert refused is None or refused.code == "invalid_arguments"
    assert len(describe_exec(Catalog([tool]))) < 5_000
