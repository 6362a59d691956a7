"""What a person who decides about a call is shown of its arguments."""

from __future__ import annotations

from typing import Any

import pytest

from codemode.contract.shown_json import MAX_KEYS, MAX_PARTS, shown_arguments, shown_names


def test_every_argument_has_a_line_in_the_order_of_the_call() -> None:
    given = {"to": "ada", "amount": 5, "list": [1, {"a": None}], "when": True}
    assert shown_arguments(given) == ['to: "ada"', "amount: 5", 'list: [1,{"a":null}]', "when: true"]


def test_a_long_value_is_shortened_by_itself_and_hides_no_other() -> None:
    given = {"note": "x" * 3_000 + "the end", "to": "mallory"}
    note, to = shown_arguments(given)
    assert note == f'note: "{"x" * 120} … 2,827 characters left out … {"x" * 53}the end"'
    assert to == 'to: "mallory"'


def test_a_long_text_inside_a_value_hides_no_member_after_it() -> None:
    (line,) = shown_arguments({"mail": {"body": "x" * 100_000, "to": "mallory"}})
    assert line.endswith('x","to":"mallory"}')
    assert len(line) < 300


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("amount\nto", r'"amount\nto"'),
        ("a\u2028b", r'"a\u2028b"'),
        ("\u202eevil", r'"\u202eevil"'),
        ("a\u200bb", r'"a\u200bb"'),
        ("\x1b[31m", r'"\u001b[31m"'),
        ("a b", '"a b"'),
        ("ａmount", '"ａmount"'),
        ("$ok_1", "$ok_1"),
    ],
)
def test_no_name_and_no_value_can_write_a_line_of_its_own(name: str, shown: str) -> None:
    value = shown if shown.startswith('"') else f'"{shown}"'
    assert shown_arguments({name: name}) == [f"{shown}: {value}"]
    assert shown_names([name], 1) == shown


def test_very_many_names_parts_and_levels_are_counted_and_not_shown() -> None:
    lines = shown_arguments({f"k{at}": at for at in range(MAX_KEYS + 2_000)})
    assert (len(lines), lines[-1]) == (MAX_KEYS + 1, "and 2,000 more that are not shown")
    (wide,) = shown_arguments({"a": [0] * 249_000})
    assert wide == f'a: [{"0," * MAX_PARTS}"{249_000 - MAX_PARTS:,} more"]'
    deep: Any = 0
    for _ in range(200):
        deep = [deep]
    assert shown_arguments({"a": deep}) == [f'a: {"[" * (MAX_PARTS + 1)}"1 more"{"]" * (MAX_PARTS + 1)}']
    many = {f"m{at}" * 30: "\U0001f600\n" * 500 for at in range(200)}
    assert len(shown_arguments({"a": many})[0]) < 700


def test_a_sentence_has_the_first_names_and_counts_the_others() -> None:
    assert shown_names(["a", "b"], 2) == "a, b"
    names = [f"n{at}" for at in range(15)]
    assert shown_names(names, 15) == f"{', '.join(names[:12])}, 3 more"
