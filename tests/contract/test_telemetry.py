"""What telemetry tells of an input is its shape, and of tokens an estimate."""

from __future__ import annotations

import pytest

from codemode.contract.telemetry import (
    estimate_tokens_saved,
    redact,
)


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ({"password": "hunter2", "a": 1}, {"type": "object", "keys": ["a", "password"], "bytes": 28}),
        ({}, {"type": "object", "keys": [], "bytes": 2}),
        (["hunter2"], {"type": "array", "length": 1, "bytes": 11}),
        ("hunter2", {"type": "string", "length": 7, "bytes": 9}),
        (None, {"type": "null", "bytes": 4}),
        (True, {"type": "boolean", "bytes": 4}),
        (7, {"type": "number", "bytes": 1}),
        (object(), {"type": "other", "bytes": 0}),
    ],
)
def test_an_input_is_redacted_to_its_shape(value: object, shape: dict[str, object]) -> None:
    assert redact(value) == shape


def test_redaction_shows_a_bounded_number_of_short_keys() -> None:
    shape = redact({f"{number:03}" + "k" * 100: 1 for number in range(50)})
    assert len(shape["keys"]) == 20
    assert all(len(key) == 40 for key in shape["keys"])
    assert shape["moreKeys"] == 30


def test_tokens_saved_are_estimated_by_characters_and_never_negative() -> None:
    assert estimate_tokens_saved(10_000, 2_000) == 2000
    assert estimate_tokens_saved(100, 2_000) == 0
