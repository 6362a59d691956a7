"""Every requirement of the contract, one sentence each, with the tests that show it.

`python -m tests.requirements.table` makes docs/requirements.md of the .txt files beside this module. A line
is `requirement :: folder/test_file name_of_the_test, …`, the name without its `test_`; `# 3 exec` begins a
section.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
PAGE = TESTS.parent / "docs" / "requirements.md"

_HEAD = """\
# Requirements

Every requirement of [the contract](glossary.md#the-contract), section by section, with the tests that show
it. A requirement is one sentence; where a later point of the contract changes an earlier one, the later one
is here. What differs from the letter on purpose is in [deviations](deviations.md).

`python -m tests.requirements.table` makes this page, and a test keeps it true: each row names tests that are
there.
"""


class Row(NamedTuple):
    section: str
    requirement: str
    tests: tuple[str, ...]  # as tests/folder/test_file.py::test_name


@cache
def rows() -> tuple[Row, ...]:
    """Raises ValueError for a line that is none."""
    found: list[Row] = []
    section = ""
    for path in sorted(HERE.glob("*.txt")):
        for line in path.read_text().splitlines():
            if line.startswith("# "):
                section = line[2:]
            elif line:
                requirement, colons, tests = line.partition(" :: ")
                named = tuple(_full(name) for name in tests.split(", "))
                if not (section and requirement and colons):
                    raise ValueError(line)
                found.append(Row(section, requirement, named))
    return tuple(found)


def _full(name: str) -> str:
    file, _, test = name.partition(" ")
    if not re.fullmatch(r"[\w/]*test_\w+", file) or not test.isidentifier():
        raise ValueError(name)
    return f"tests/{file}.py::test_{test}"


@cache
def tests_of(file: str) -> frozenset[str]:
    """The names of the tests in a file; none if there is no such file."""
    path = TESTS.parent / file
    if not path.is_file():
        return frozenset()
    nodes = ast.walk(ast.parse(path.read_text()))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def is_there(test: str) -> bool:
    file, _, name = test.partition("::")
    return name in tests_of(file)


def page() -> str:
    parts = [_HEAD]
    section = ""
    for row in rows():
        if row.section != section:
            section = row.section
            parts.append(f"\n## {section}\n\n| requirement | test |\n|---|---|\n")
        parts.append(f"| {_cell(row.requirement)} | {'<br>'.join(map(_link, row.tests))} |\n")
    return "".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _link(test: str) -> str:
    file, _, name = test.partition("::")
    words = name.removeprefix("test_").replace("_", " ")
    return f"[{words}](../{file})"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"{PAGE.name}: {len(rows())} requirements")
