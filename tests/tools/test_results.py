"""Return values as JSON."""

import dataclasses
import datetime
import enum
import uuid
from collections import OrderedDict, UserDict
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from codemode.tools.results import NotJson, encode_result


class Colour(enum.Enum):
    RED = "red"


class Point(msgspec.Struct):
    x: int


@dataclasses.dataclass
class Place:
    name: str
    at: Point


class Model:
    """What pydantic's models look like from outside."""

    def model_dump(self, *, mode: str) -> dict[str, str]:
        return {"mode": mode}


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (None, b"null"),
        ({"a": [1, 2.5, True, None, "é"]}, '{"a":[1,2.5,true,null,"é"]}'.encode()),
        (Place("here", Point(1)), b'{"name":"here","at":{"x":1}}'),
        ([Model()], b'[{"mode":"json"}]'),
        (datetime.date(2024, 2, 29), b'"2024-02-29"'),
        (uuid.UUID(int=1), b'"00000000-0000-0000-0000-000000000001"'),
        (Decimal("1.50"), b'"1.50"'),
        (Colour.RED, b'"red"'),
        ((1, 2), b"[1,2]"),
        ({7}, b"[7]"),
        (b"\x00\x01", b'"AAE="'),
        (float("nan"), b"null"),
        (OrderedDict([("a", 1)]), b'{"a":1}'),
        (UserDict({"a": 1}), b'{"a":1}'),
        ({1: "one"}, b'{"1":"one"}'),
        (10**30, b"1" + b"0" * 30),
    ],
)
def test_a_value_becomes_json(value: Any, encoded: bytes) -> None:
    assert encode_result(value) == encoded


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert encode_result({"\ud800": ["x\udc00y", Point(1)]}) == '{"�":["x�y",{"x":1}]}'.encode()


def test_keys_that_are_no_strings_become_strings() -> None:
    assert encode_result({(1, 2): "pair"}) == b'{"(1, 2)":"pair"}'


def test_an_object_that_is_not_json_is_refused_by_its_type() -> None:
    with pytest.raises(NotJson, match="holds a object, which is not JSON"):
        encode_result({"handle": object()})


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)

    with pytest.raises(NotJson, match="contains itself"):
        encode_result(value)


def test_a_model_whose_dump_fails_is_refused() -> None:
    class Broken:
        def model_dump(self, *, mode: str) -> Any:
            raise KeyError("/home/somebody/secret")

    with pytest.raises(NotJson, match=r"^the result cannot be written as JSON: KeyError$"):
        encode_result(Broken())
