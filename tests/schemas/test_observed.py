"""Shapes of results: names of fields and broad types, never a value, and no key that is data."""

# ruff: noqa: E501 - samples and their shapes read best side by side

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.schemas.observed import ObservedShape, observe, tellable, words_of
from codemode.tools.sketch import sketch


def learned(*samples: object) -> ObservedShape:
    shape = ObservedShape()
    for sample in samples:
        observe(shape, sample)
    return shape


def told(*samples: object) -> str:
    return sketch(learned(*samples).schema(), longest=2_000)


CASES: list[tuple[list[Any], str]] = [
    (["x"], "string"),
    ([None, 3], "null | number"),
    ([[]], "any[]"),
    ([{"items": [{"id": "a"}], "total": 1}], "{ items: Array<{ id: string }>, total: number }"),
    ([{"id": 1, "a": "x"}, {"id": 2}], "{ id: number, a?: string }"),
    ([{"id": 1, "a": "x"}, {"id": 2, "a": None}], "{ id: number, a: string | null }"),
    ([{"error": "no"}, {"items": [1], "total": 1}], "{ error?: string, items?: number[], total?: number }"),
    ([{"ada@example.org": 3}], "Record<string, number>"),
    ([{"content-type": "x", "id": "y"}], "Record<string, string>"),
    ([{"u_4711": {"age": 1, "name": "x"}}], "Record<string, { age: number, name: string }>"),
    ([{"alice": 3, "bob": 4}], "Record<string, number>"),
    ([{"alice": 3}, {"bob": 4}], "Record<string, number>"),
    ([{"width": 3, "height": 4}, {"width": 1, "height": 2}], "{ width: number, height: number }"),
    ([{"customers": [1, 2]}], "{ customers: number[] }"),
    ([{f"f{chr(97 + n)}": n for n in range(26)} | {f"g{chr(97 + n)}{chr(97 + m)}": n for n in range(9) for m in range(9)}], "Record<string, number>"),
    ([{"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}, "x": 1}, "id": 1}], "{ a: { b: Record<string, Record<string, …>>, x: number }, id: number }"),
]  # fmt: skip


@pytest.mark.parametrize(("samples", "text"), CASES)
def test_a_shape_is_learned_from_samples(samples: list[Any], text: str) -> None:
    assert told(*samples) == text


def test_only_news_is_news() -> None:
    shape = ObservedShape()
    page = {"items": [{"id": 1, "name": "x"}], "next": None}

    assert [observe(shape, page), observe(shape, page), observe(shape, page)] == [True, False, False]
    assert observe(shape, {"items": [{"id": 1}], "next": "x"}) is True


SECRET = "s3cr3t"
data_keys = st.one_of(
    st.emails(),
    st.uuids().map(str),
    st.integers().map(str),
    st.text(min_size=33),
    st.text().map(lambda text: f"{text} {text}"),
    st.from_regex(r"[a-z]{2,4}_[0-9]{4,8}", fullmatch=True),
    st.from_regex(r"sk_live_[A-Za-z]{4}[0-9]{1,3}[A-Za-z]{4}[0-9]{1,3}", fullmatch=True),
).filter(lambda key: len(key) > 4)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.just(SECRET)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["id", "name", "rows", "next_page", "ok"]), inner, max_size=4),
    ),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(data_keys, values, min_size=1, max_size=5), min_size=1, max_size=4), values)
@settings(max_examples=200, deadline=None)
@pytest.mark.guarantee("shapes-hold-no-values")
def test_no_value_and_no_key_that_is_data_is_in_a_shape(maps: list[dict[str, Any]], other: Any) -> None:
    samples = [{"id": 1, "by_owner": found, "rows": [found, other]} for found in maps]
    shape = learned(*samples, *maps)
    kept, shown = msgspec.json.encode(shape).decode(), json.dumps(shape.schema(), ensure_ascii=False)

    assert SECRET not in kept + shown + told(*samples)
    names = {name for found in maps for name in found}
    quoted = {json.dumps(name, ensure_ascii=False) for name in names} | {json.dumps(name) for name in names}
    assert [name for name in quoted if name in kept or name in shown] == []


words = st.sampled_from(["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy"])


@given(st.lists(st.dictionaries(words, st.integers(), min_size=1), min_size=2, max_size=6))
@pytest.mark.guarantee("shapes-hold-no-values")
def test_a_map_whose_keys_are_plain_words_tells_none_of_them_once_they_differ(
    maps: list[dict[str, int]],
) -> None:
    if not set(maps[0]).intersection(*maps[1:]):
        shown = json.dumps(learned(*maps).schema())
        assert [name for found in maps for name in found if name in shown] == []


def test_keys_that_the_tool_itself_names_are_told_after_one_sample() -> None:
    known = words_of("get_customer", "Stock levels of one customer.")
    told = learned({"customer": {"levels": {"A-1": 1}}}).schema(known)
    other = learned({"ada": {"id": 1}}).schema(known)

    assert told["properties"]["customer"]["properties"]["levels"] == {
        "type": "object",
        "additionalProperties": {"type": "number"},
    }
    assert "properties" not in other
    assert other["additionalProperties"]["required"] == ["id"]


@given(st.dictionaries(words, st.one_of(st.integers(), st.just(SECRET)), min_size=1), values)
@pytest.mark.guarantee("shapes-hold-no-values")
def test_what_leaves_an_engine_has_no_key_of_an_object_that_was_seen_once_and_may_be_a_map(
    found: dict[str, Any], other: Any
) -> None:
    alike = len({isinstance(value, str) for value in found.values()}) == 1
    left = msgspec.json.encode(tellable(learned({"by_owner": found, "other": other}))).decode()

    assert SECRET not in left
    assert not alike or [name for name in found if f'"{name}"' in left] == []


@given(values, values)
@settings(max_examples=100, deadline=None)
def test_a_shape_is_bounded_and_can_be_written_and_read_again(one: Any, other: Any) -> None:
    shape = learned(one, [one, other] * 30, {"rows": [other] * 100})

    assert len(msgspec.json.encode(shape.schema())) <= 4_096
    assert msgspec.json.decode(msgspec.json.encode(shape), type=ObservedShape) == shape


def test_wide_deep_and_long_results_cost_a_bounded_shape() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = {"id": deep, "other": [deep]}
    wide = {
        "id": 1,
        **{f"field_{chr(97 + n // 26)}{chr(97 + n % 26)}": {"id": n, "name": "x"} for n in range(50)},
    }
    shape = learned(deep, [wide] * 1_000, {"rows": [wide] * 1_000})

    assert len(msgspec.json.encode(shape.schema())) <= 4_096
    assert len(msgspec.json.encode(shape)) < 40_000
