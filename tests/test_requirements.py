"""Requirements and deviations name tests that exist, and the page of requirements is what its source says."""

from __future__ import annotations

import re

from tests.requirements.table import PAGE, is_there, page, rows

DEVIATIONS = PAGE.with_name("deviations.md")
_TEST = re.compile(r"`(tests/[\w/]+\.py::test_\w+)`")


def test_each_requirement_names_tests_that_exist() -> None:
    assert [test for row in rows() for test in row.tests if not is_there(test)] == []


def test_each_requirement_is_there_once_and_is_a_sentence() -> None:
    told = [(row.section, row.requirement) for row in rows()]
    assert len(told) == len(set(told))
    assert [requirement for _, requirement in told if not requirement.endswith(".")] == []


def test_all_sections_of_the_contract_are_covered() -> None:
    numbers = list(dict.fromkeys(int(row.section.split()[0]) for row in rows()))
    assert numbers == list(range(1, 22))


def test_the_points_settled_are_all_there() -> None:
    settled = [row.requirement for row in rows() if row.section.startswith("21 ")]
    assert {int(text.split(".")[0]) for text in settled} == set(range(1, 22))


def test_the_page_of_requirements_is_made_of_its_source() -> None:
    assert PAGE.read_text() == page(), "run: python -m tests.requirements.table"


def test_each_deviation_has_a_test_that_exists() -> None:
    table = [line for line in DEVIATIONS.read_text().splitlines() if line.startswith("| ")][1:]
    named = [_TEST.findall(line) for line in table]
    assert len(table) >= 10
    assert [line for line, tests in zip(table, named, strict=True) if not tests] == []
    assert [test for tests in named for test in tests if not is_there(test)] == []


def test_a_test_that_is_not_there_is_noticed() -> None:
    assert is_there("tests/test_requirements.py::test_a_test_that_is_not_there_is_noticed")
    assert not is_there("tests/test_requirements.py::test_nothing")
    assert not is_there("tests/nowhere.py::test_nothing")
