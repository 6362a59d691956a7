"""Where an error was: the guest's stack and byte columns against the model's own text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.failures.positions import Position, excerpt, find_position, locate

PROGRAM = "const a = 1;\nconst é = 'ü'; nope();\r\n\tthird();\u2028fourth()"


@pytest.mark.parametrize(
    ("line", "byte_column", "found"),
    [
        (1, 1, Position(1, 1, "const a = 1;", 0)),
        (1, 13, Position(1, 13, "const a = 1;", 12)),
        (2, 18, Position(2, 16, "const é = 'ü'; nope();", 28)),
        (2, 17, Position(2, 16, "const é = 'ü'; nope();", 28)),
        (3, 2, Position(3, 2, "\tthird();", 38)),
        (4, 1, Position(4, 1, "fourth()", 47)),
        (1, 14, None),
        (0, 1, None),
        (5, 1, None),
        (1, 0, None),
    ],
)
def test_a_byte_column_becomes_a_character_of_the_text_or_nothing(
    line: int, byte_column: int, found: Position | None
) -> None:
    assert locate(PROGRAM, line, byte_column) == found


@pytest.mark.parametrize(
    ("stack", "at"),
    [
        ("    at program (program:1:7)\n", "1:7"),
        ("    at program:1:7\n", "1:7"),
        ("    at parse (native)\n    at f (program:1:7)\n    at program (program:1:1)\n", "1:7"),
        ("    at <input>:1:2\n    at orThrow (70-url.js:18:103)\n    at program (program:1:7)\n", "1:7"),
        ("    at x (program:1:1) (program:1:7)\n", "1:7"),
        ("    at program (program:99:1)\n", None),
        ("    at program (program:1:999999999999999)\n", None),
        ("    at program (program:-1:1)\n", None),
        ("    at program (program:١:1)\n", None),
        ("    at f (notprogram:1:1)\n", None),
        ("", None),
        ("program:1:1" * 400, None),
    ],
)
def test_the_first_frame_of_the_program_is_the_place(stack: str, at: str | None) -> None:
    found = find_position(stack, PROGRAM, "Error")
    assert (str(found) if found else None) == at


def test_the_constructor_of_an_own_error_class_is_not_the_place() -> None:
    program = "class Oops extends Error {}\nthrow new Oops('x')"
    stack = "    at Oops (program:1:1)\n    at program (program:2:11)\n"
    found = find_position(stack, program, "Error")
    assert str(found) == "2:11"


def test_a_long_line_is_cut_around_the_place() -> None:
    position = locate("a" * 500 + "!" + "b" * 500, 1, 501)
    assert position is not None
    assert excerpt(position) == f"    …{'a' * 60}!{'b' * 59}…\n    {' ' * 61}^"


def test_tabs_keep_the_caret_below_its_character() -> None:
    position = locate("\t\tx()", 1, 3)
    assert position is not None
    assert excerpt(position) == "      x()\n      ^"


@given(st.text(max_size=60), st.integers(-1, 8), st.integers(-1, 80))
def test_any_position_is_inside_the_text_or_nothing(program: str, line: int, byte_column: int) -> None:
    found = locate(program, line, byte_column)
    if found is not None:
        assert found.line == line
        assert program[found.offset :].startswith(found.text[found.column - 1 :])
        quoted, caret = excerpt(found).rsplit("\n", 1)
        assert caret.strip() == "^"
        assert len(caret) <= len(quoted) + 1


@given(st.text(max_size=300))
def test_any_stack_text_is_a_position_or_nothing(stack: str) -> None:
    find_position(stack, PROGRAM, "Error")
    find_position(f"    at {stack} (program:1:1)", PROGRAM, stack)
