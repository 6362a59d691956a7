"""JSON text is measured before it is decoded: never too low, exact where it matters."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest
from codemode_runtime import parts
from codemode_runtime.parts import (
    MAX_CONTAINERS,
    MAX_DEPTH,
    MAX_PARTS,
    exceeds_depth,
    measure,
    most_parts,
    refusal_of,
    refusal_of_passing,
)
from hypothesis import given
from hypothesis import strategies as st

_SCALARS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text()
_TRICKY = st.text(alphabet='[]{},:"\\ \n\tué')
VALUES = st.recursive(
    _SCALARS | _TRICKY,
    lambda inner: st.lists(inner) | st.dictionaries(_TRICKY | st.text(max_size=3), inner),
    max_leaves=40,
)


def _parts(value: Any) -> int:
    """What a decoder makes: one object for each value and for each key."""
    match value:
        case list():
            return 1 + sum(map(_parts, cast("list[Any]", value)))
        case dict():
            return 1 + sum(1 + _parts(inner) for inner in cast("dict[str, Any]", value).values())
        case _:
            return 1


def _exactly(json: bytes) -> int:
    outside = parts._outside(json)  # pyright: ignore[reportPrivateUsage] - small text is not looked into
    assert outside is not None
    return parts._count(outside)  # pyright: ignore[reportPrivateUsage]


@given(VALUES)
def test_the_bound_is_never_too_low_and_the_count_is_exact(value: Any) -> None:
    json = msgspec.json.encode(value)
    assert most_parts(json) >= _parts(value)
    assert measure(json).parts >= _parts(value)
    assert _exactly(json) == _parts(value)


@given(VALUES)
def test_white_space_can_only_make_the_count_higher(value: Any) -> None:
    spaced = msgspec.json.format(msgspec.json.encode(value), indent=2)
    assert _exactly(spaced) == _parts(value)


@given(st.binary())
def test_any_bytes_can_be_measured(data: bytes) -> None:
    found = measure(data)
    assert found.parts >= 1
    assert found.weight >= len(data)
    assert most_parts(memoryview(data)) == most_parts(bytearray(data)) == most_parts(data)


@pytest.mark.parametrize(
    ("item", "each"),
    [(b"[]", 1), (b"{}", 1), (b"1", 1), (b'"a"', 1), (b'"a,[{:"', 1), (b'"\\",\\\\"', 1), (b'{"a":1}', 3)],
)
def test_a_value_of_exactly_the_cap_may_be_decoded_and_one_part_more_may_not(item: bytes, each: int) -> None:
    count, rest = divmod(MAX_PARTS - 1, each)
    most = b"[" + b",".join([item] * count + [b"0"] * rest) + b"]"
    assert measure(most).parts == MAX_PARTS
    assert refusal_of(most) is None
    refused = refusal_of(most[:-1] + b",0]")
    assert refused == "made of more than 250,000 parts: lists, objects, keys, strings and numbers"


def test_signs_inside_of_strings_are_no_parts() -> None:
    json = b'["' + b'[{,:\\"' * 300_000 + b'"]'
    assert most_parts(json) > MAX_PARTS
    assert measure(json).parts == 2
    assert refusal_of(json) is None


def test_text_with_millions_of_escapes_counts_as_what_it_may_be() -> None:
    assert refusal_of(b'["' + b"\\n,[" * 1_000_001 + b'"]') is not None


def test_what_is_only_passed_on_is_counted_in_lists_and_objects() -> None:
    assert refusal_of_passing(b"[" + b",".join([b"1"] * 2 * MAX_PARTS) + b"]") is None
    most = b"[" + b",".join([b"[]"] * (MAX_CONTAINERS - 1)) + b"]"
    assert refusal_of_passing(most) is None
    assert refusal_of_passing(most[:-1] + b",{}]") == "made of more than 250,000 lists and objects"
    assert refusal_of_passing(b'"' + b"[{" * MAX_CONTAINERS + b'"') is None


@pytest.mark.parametrize(
    "json", [b"[]", b"[[],[]]", b'{"a":1}', b'{"abcdefgh":[1.5,"x"]}', b'["\xe2\x82\xac"]']
)
def test_a_value_takes_no_more_memory_than_its_weight(json: bytes) -> None:
    import sys

    def size(value: Any) -> int:
        own = sys.getsizeof(value)
        match value:
            case list():
                return own + sum(map(size, cast("list[Any]", value)))
            case dict():
                found = cast("dict[str, Any]", value)
                return own + sum(size(key) + size(inner) for key, inner in found.items())
            case _:
                return own

    many = b"[" + b",".join([json] * 1000) + b"]"
    assert size(msgspec.json.decode(many)) <= measure(many).weight


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth_is_measured_exactly(opening: bytes, closing: bytes) -> None:
    deepest = opening * MAX_DEPTH + b"1" + closing * MAX_DEPTH
    deeper = opening + deepest + closing
    assert not exceeds_depth(deepest)
    assert exceeds_depth(deeper)
    assert refusal_of(deepest) is refusal_of_passing(deepest) is None
    assert refusal_of(deeper) == refusal_of_passing(deeper) == "nested more than 256 levels deep"


def test_brackets_in_strings_and_side_by_side_are_no_depth() -> None:
    assert not exceeds_depth(b'["' + b'[{\\"' * 1000 + b'"]')
    assert not exceeds_depth(b"[" + b"[]," * 1000 + b"[]]")
