"""The table of exit codes in docs/cli.md: it has all of them, and each is what a command really ends with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codemode.cli.errors import ExitCode, exit_code_of
from codemode.contract.results import failed
from tests.harness.cli import TOOLS, Cli

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
ENDINGS = {
    0: ("run", "-e", "return 1"),
    1: ("run", "-e", "throw new Error('no')"),
    2: ("run", "-e", "return 1", "--config", "gone.json"),
    3: ("run", "-e", "await yield_control()", "--store", "runs.sqlite", "--no-wait"),
    4: ("run", "-e", "return 1", "--store", "notes.txt"),
}
ELSEWHERE = {
    130: "test_control_c_aborts_a_run_and_keeps_its_output",
    141: "test_a_reader_that_goes_away_ends_the_command_quietly",
}


def test_the_table_has_every_exit_code_and_each_has_a_test() -> None:
    table = PAGE.read_text().partition("## Exit codes")[2]
    listed = [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)]
    assert listed == sorted(ExitCode)
    assert listed == [*ENDINGS, *ELSEWHERE]
    sources = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert [name for name in ELSEWHERE.values() if f"def {name}(" not in sources] == []


@pytest.mark.usefixtures("leaves_nothing")
@pytest.mark.parametrize("code", ENDINGS)
def test_a_command_ends_with_the_code_of_the_table(
    code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("no database" * 100)
    assert Cli(capsys)(*ENDINGS[code], "--tools", TOOLS).code == code


def test_failures_of_the_engine_are_not_failures_of_the_program() -> None:
    assert exit_code_of(failed("runtime_unavailable", "")) == ExitCode.UNAVAILABLE
    assert exit_code_of(failed("internal_error", "")) == ExitCode.UNAVAILABLE
    assert exit_code_of(failed("timeout", "")) == ExitCode.FAILED
