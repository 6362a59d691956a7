"""Each hostile program ends with the verdict in its header, straight and suspended, and harms nobody."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.harness.leftovers import nothing_left
from tests.hostile.arena import Arena, Verdict
from tests.hostile.corpus import FOLDER, HeaderRefused, HostileProgram, load_all, read

PROGRAMS = load_all()


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """One for all programs; when it is closed, nothing of any of them may be left."""
    with nothing_left(tmp_path_factory.mktemp("temporary")):
        made = Arena()
        yield made
        made.close()


@pytest.mark.guarantee("hostile-programs-end-as-promised")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_hostile_program_ends_as_its_header_says_straight_and_suspended(
    arena: Arena, program: HostileProgram
) -> None:
    straight, *others = arena.run(program)
    check(program, straight)
    if program.error is not None:
        assert program.error in straight.error
    for suspended in others:
        check(program, suspended)
        assert suspended.suspensions > straight.suspensions


def check(program: HostileProgram, verdict: Verdict) -> None:
    assert verdict.code in program.verdicts, verdict
    if program.has_value:  # as JSON, where 1, 1.0 and true are not the same
        assert json.dumps(verdict.value) == json.dumps(program.value)
    if program.value_contains is not None:
        assert program.value_contains in json.dumps(verdict.value)
    if program.output is not None:
        assert verdict.output == program.output
    if program.calls is not None:
        assert verdict.calls == program.calls


def test_there_are_hundreds_of_programs_and_no_two_are_the_same() -> None:
    assert len(PROGRAMS) >= 250
    assert len({(program.text, tuple(program.limits.items())) for program in PROGRAMS}) == len(PROGRAMS)


def test_each_program_lies_in_a_folder_that_the_readme_explains() -> None:
    listed = re.findall(
        r"^\| `(\w+)` \|", (FOLDER / "README.md").read_text().partition("## ")[0], re.MULTILINE
    )
    assert sorted({program.name.rpartition("/")[0] for program in PROGRAMS}) == listed


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("for (;;);", "the first line must be"),
        ("// why: x\n// expect: completed\n1", "the first line must be"),
        ("// expect: failed badly\n1", "expect `completed <JSON>`"),
        ("// expect: completed {\n1", "is no JSON"),
        ("// expect: completed\n// expect: completed\n1", "twice"),
        ("// expect: completed\n// with: patience\n1", "not 'patience'"),
        ("// expect: completed\n// output: {}\n1", "a JSON array"),
        ("// expect: completed\n// value: 1\n1", "contains <text>"),
    ],
)
def test_a_header_that_cannot_be_read_is_refused_by_name(content: str, complaint: str) -> None:
    with pytest.raises(HeaderRefused, match=r"x\.js: ") as refused:
        read("x.js", content)
    assert complaint in str(refused.value)


def test_a_header_is_read_and_the_program_begins_behind_it() -> None:
    header = '// expect: failed timeout or guest_error\n// with: timeoutMs=100 escaped\n// output: ["a"]\n'
    program = read("x.ts", header + "<U+0041>/* half-way */b\n")
    assert (program.text, program.language) == ("A/* half-way */b\n", "typescript")
    assert (program.verdicts, program.limits, program.output) == (
        ("timeout", "guest_error"),
        {"timeoutMs": 100},
        ["a"],
    )
    assert program.suspended_text == "Aawait yield_control();b\n"
