"""The REPL without a terminal, and what it knows about a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemode.cli.repl.completion import completions
from codemode.cli.repl.text import as_expression, is_incomplete
from codemode.cli.surface import GuestSurface
from codemode.tools import Tool
from tests.cli.cli_tools import tools
from tests.harness.cli import TOOLS, as_process

OPEN = ("f(", "[1, {", "`a ${b", "`a ${`b`} ", "/* c", "if (a) {", "f('(', ", "x = /[/)]/.test(", "a / 2 + (")
CLOSED = (
    "", "1 + 1", "f('(')", '"["', "`${ {a: 1}.a }`", "// (", "/* ( */ 1", "/[(]/.test(x)", "a / b / c", ")",
    "'open", "`}`", "return /(/", "x = 1 /* a */", "a[0] / (b) / 2",
)  # fmt: skip


@pytest.mark.parametrize("text", OPEN)
def test_more_is_to_come_where_something_is_open(text: str) -> None:
    assert is_incomplete(text)


@pytest.mark.parametrize("text", CLOSED)
def test_a_closed_text_is_a_program(text: str) -> None:
    assert not is_incomplete(text)


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("1 + 1;", "return (1 + 1\n)"),
        ("{ a: 1 }", "return ({ a: 1 }\n)"),
        ("await f() // c", "return (await f() // c\n)"),
        ("constant", "return (constant\n)"),
        ("const a = 1", None),
        ("async function f() {}", None),
        (" return 1", None),
        (";", None),
    ],
)
def test_what_is_plainly_a_statement_is_not_tried_as_an_expression(text: str, program: str | None) -> None:
    assert as_expression(text) == program


async def nothing(*_: object) -> None: ...


SERVER = Tool("create_issue", "", {"type": "object"}, nothing, source="mcp", owner="git-hub")


NAMESPACES = {"fleet": ["find", "by"]}


@pytest.mark.parametrize(
    ("word", "offered"),
    [
        ("te", ["text"]),
        ("tools.e", ["tools.echo"]),
        ("tools.s", ["tools.search", "tools.shout"]),
        ("MC", ["MCP"]),
        ("MCP.", ["MCP.gitHub"]),
        ("MCP.gitHub.", ["MCP.gitHub.$api", "MCP.gitHub.createIssue"]),
        ("fl", ["fleet"]),
        ("fleet.", ["fleet.by", "fleet.find"]),
        (".t", [".tools", ".trace", ".types"]),
        ("nope", []),
    ],
)
def test_names_are_completed_one_member_at_a_time(word: str, offered: list[str]) -> None:
    assert completions(GuestSurface([*tools, SERVER], (), NAMESPACES), word, is_first=True) == offered


def test_dot_commands_are_only_offered_at_the_start_of_a_line() -> None:
    assert completions(GuestSurface(tools), ".t", is_first=False) == []


@pytest.mark.usefixtures("leaves_nothing")
def test_lines_from_a_pipe_are_programs_too(tmp_path: Path) -> None:
    lines = [
        "1 + 1", "const a = 20; return a + 1", "`a", "b`", "1; 2", ".tools ech", ".types pay", ".types nope",
        ".what", ".trace", "await tools.echo({ value: 9 })", "x y", "null", ".exit", "'not reached'",
    ]  # fmt: skip
    done = as_process("repl", "--tools", TOOLS, stdin="\n".join(lines), XDG_STATE_HOME=str(tmp_path))
    out = done.out.splitlines()
    assert out[:5] == ["2", "21", '"a\\nb"', "echo  Gives back what it gets.", "declare namespace tools {"]
    assert "completed" in out[8]
    assert out[-1] == "9"
    assert "nope: there is no such tool or server." in done.err
    assert "there is no .what; .help lists what there is" in done.err
    assert "invalid_input: SyntaxError" in done.err
    assert done.code == 0
    assert list(tmp_path.iterdir()) == []  # no history of what nobody typed


@pytest.mark.usefixtures("leaves_nothing")
def test_variables_stay_and_can_be_undone_copied_saved_and_forgotten(tmp_path: Path) -> None:
    saved = tmp_path / "programs.js"
    lines = [
        "const a = 20; let b = 1", "a + b", "function twice(n) {", "return n * 2", "}", "b = 5", "nope()",
        "twice(a + b)", ".back", ".back", "twice(a + b)", ".fork other", "b = 100; const c = 1", "a + b",
        ".vars", ".back", ".back", ".back", "typeof c + b", f".save {saved}", ".reset", "typeof a", ".back",
        ".back", "a", "exit", "'not reached'",
    ]  # fmt: skip
    store = tmp_path / "runs.sqlite"
    done = as_process(
        "repl", "--store", store, stdin="\n".join(lines), XDG_STATE_HOME=str(tmp_path / "state")
    )
    assert done.out.splitlines() == ["21", "5", "50", "42", "120", '"undefined1"', '"undefined"', "20"]
    told = [line for line in done.err.splitlines() if line.startswith(("undone", "in ", "forgotten", "b: "))]
    assert told == [
        "undone: twice(a + b)", "undone: b = 5", "in other; .back leaves it", "b: number",
        "undone: a + b", "undone: b = 100; const c = 1", "undone: .fork", "forgotten", "undone: typeof a",
        "undone: .reset",
    ]  # fmt: skip
    assert saved.read_text().splitlines()[:2] == ["const a = 20; let b = 1", "a + b"]
    assert done.code == 0
