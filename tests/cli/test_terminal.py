"""On a terminal that the test types into: the live tree, questions, Ctrl-C, and the REPL."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.cli import CONTROL_C, TOOLS, as_process, terminal

pytestmark = pytest.mark.usefixtures("leaves_nothing")
ERASE = "\x1b[J"


def waits_for(path: Path) -> str:
    return f"await tools.until_there({{ path: {json.dumps(str(path))} }})"


def test_calls_are_drawn_while_they_run_and_the_tree_stays_when_they_are_over(tmp_path: Path) -> None:
    program = f"text('out'); await tools.echo({{}}); {waits_for(tmp_path / 'flag')}; return 41 + 1"
    with terminal("run", "-e", program, "--tools", TOOLS, NO_COLOR="") as shown:
        shown.wait_for(r"out\n")
        shown.wait_for(r"exec javascript \d+ B +running .*=>\n")
        shown.wait_for(r"\|- openclaw:core:echo +ok +.*-\n")
        shown.wait_for(r"`- openclaw:core:until_there +pending .*->\n")
        shown.wait_for(r'openclaw:core:until_there: \{"waits for":"flag"\}\n')
        assert ERASE in shown.shown or shown.wait_for("pending")
        (tmp_path / "flag").touch()
        shown.wait_for(r"exec javascript \d+ B +completed .*=\n")
        shown.wait_for(r"\|- openclaw:core:until_there +ok .*-\n")
        shown.wait_for(r"\n42\n")
        assert shown.end() == 0
    assert ERASE in shown.shown
    assert "\x1b[32m" in shown.shown  # what went well is green


def test_without_colour_lines_still_fit_and_hold_no_colour(tmp_path: Path) -> None:
    program = f"await tools.echo({{ value: '{'x' * 200}' }}); {waits_for(tmp_path / 'flag')}"
    with terminal("run", "-e", program, "--tools", TOOLS, "--values", columns=70, NO_COLOR="1") as shown:
        shown.wait_for(r"until_th… pending")
        (tmp_path / "flag").touch()
        assert shown.end() == 0
    assert "\x1b[3" not in shown.shown
    assert max(map(len, shown.text.splitlines())) < 70


def test_more_calls_than_rows_are_cut_to_the_height_of_the_terminal(tmp_path: Path) -> None:
    program = f"for (let n = 0; n < 30; n++) await tools.echo({{}}); {waits_for(tmp_path / 'flag')}"
    with terminal("run", "-e", program, "--tools", TOOLS, rows=12) as shown:
        shown.wait_for(r"\|  \.\.\. \d+ rows\n")
        shown.wait_for(r"until_there +pending")
        (tmp_path / "flag").touch()
        assert shown.end() == 0


def test_a_run_without_calls_draws_nothing() -> None:
    with terminal("run", "-e", "return 6 * 7", NO_COLOR="1") as shown:
        assert shown.end() == 0
    assert "exec" not in shown.text
    assert shown.text.endswith("42\n")


@pytest.mark.parametrize(("answer", "said"), [("y", '"paid 5"'), ("n", '"denied"')])
def test_approvals_are_asked_for_with_what_would_be_done(answer: str, said: str) -> None:
    program = "try { return await tools.pay({ amount: 5 }) } catch (e) { return e.code }"
    with terminal("run", "-e", program, "--tools", TOOLS, "--quiet") as shown:
        shown.wait_for(r"openclaw:core:pay asks for approval\n")
        shown.wait_for(r"  Run pay\(amount\)\n    amount: 5\n")
        shown.wait_for(r"approve\? \[y/n\] ")
        shown.type("what\n")
        shown.wait_for(r"approve\? \[y/n\] ")
        shown.type(f"{answer}\n")
        shown.wait_for(said)
        assert shown.end() == 0


def test_a_question_left_by_another_command_is_asked_with_its_arguments(tmp_path: Path) -> None:
    options = ("--tools", TOOLS, "--store", tmp_path / "runs.sqlite")
    left = as_process("run", "-e", "return await tools.pay({ amount: 5 })", *options, "--json")
    # asked before it waits: else the question would come after the sixty seconds of a leg, which is too late
    with terminal("wait", left.json["runId"], *options, "--quiet", "--timeout", "60") as shown:
        shown.wait_for(r"  Run pay\(amount\)\n    amount: 5\n")
        shown.wait_for(r"approve\? \[y/n\] ")
        shown.type("y\n")
        shown.wait_for('"paid 5"')
        assert shown.end() == 0


def test_control_c_at_a_question_aborts_the_run_or_leaves_it_in_its_store(tmp_path: Path) -> None:
    program = ("run", "-e", "return await tools.pay({ amount: 5 })", "--tools", TOOLS, "--quiet")
    for options, ending in (
        ((), r"\nfailed \(aborted\)"),
        (("--store", tmp_path / "runs.sqlite"), "is waiting"),
    ):
        with terminal(*program, *options) as shown:
            shown.wait_for(r"approve\? \[y/n\] ")
            shown.type(CONTROL_C)
            shown.wait_for(ending)
            assert shown.end() == 130


def test_control_c_aborts_a_run_and_keeps_its_output(tmp_path: Path) -> None:
    program = f"text('out'); {waits_for(tmp_path / 'flag')}"
    with terminal("run", "-e", program, "--tools", TOOLS) as shown:
        shown.wait_for("until_there +pending")
        shown.type(CONTROL_C)
        shown.wait_for(r"failed \(aborted\)")
        assert shown.end() == 130


def test_control_c_ends_a_program_that_only_computes() -> None:
    with terminal(
        "run", "-e", "text('looping'); await tools.echo({}); while (true);", "--tools", TOOLS
    ) as shown:
        shown.wait_for("core:echo +ok")
        shown.type(CONTROL_C)
        shown.wait_for(r"failed \(aborted\)")
        assert shown.end() == 130


def test_control_c_leaves_a_suspended_run_in_the_store_and_says_how_to_go_on(tmp_path: Path) -> None:
    store, program = tmp_path / "runs.sqlite", f"return {waits_for(tmp_path / 'flag')}"
    options = ("--tools", TOOLS, "--store", store)
    with terminal("run", "-e", program, *options, "--timeout", "100ms", columns=200) as shown:
        shown.wait_for("waiting: pending_tools")
        shown.type(CONTROL_C)
        shown.wait_for("run_.* is waiting: pending_tools\n")
        run_id = shown.wait_for(r"go on:   codemode wait \S+ --store").split()[-2]
        assert shown.end() == 130
    (tmp_path / "flag").touch()
    with terminal("wait", run_id, *options, "--quiet", NO_COLOR="1") as shown:
        assert shown.end() == 0
    assert shown.shown == '"there"\r\n'


def test_a_second_control_c_aborts_the_run_that_was_to_be_left(tmp_path: Path) -> None:
    options = ("--tools", TOOLS, "--store", tmp_path / "runs.sqlite")
    with terminal("run", "-e", "await tools.echo({}); while (true);", *options, "--timeout", "60") as shown:
        shown.wait_for("core:echo +ok")
        shown.type(CONTROL_C)
        shown.wait_for("once more aborts it")
        shown.type(CONTROL_C)
        shown.wait_for(r"failed \(aborted\)")
        assert shown.end() == 130


def test_the_repl_completes_goes_on_over_lines_and_remembers(tmp_path: Path) -> None:
    with terminal("repl", "--tools", TOOLS, NO_COLOR="1", XDG_STATE_HOME=str(tmp_path)) as shown:
        shown.wait_for(r"5 tools; \.help says more\n")
        shown.wait_for("> ")
        shown.type("await tools.ech\t({ value: 3 })\n")
        shown.wait_for(r"tools\.echo\(\{ value: 3 \}\)")
        shown.wait_for("core:echo +ok")
        shown.wait_for(r"\n3\n> ")
        shown.type("[1, 2].map(n => {\n")
        shown.wait_for(r"\.\.\. ")
        shown.type("return n * 2\n})\n")
        shown.wait_for(r"\n\[2,4\]\n> ")
        shown.type("never run")
        shown.wait_for("never run")
        shown.interrupt_the_line()
        shown.type("await tools.echo({}); while (true);\n")
        shown.wait_for(r"exec javascript \d+ B +running")
        shown.wait_for("core:echo +ok")
        shown.type(CONTROL_C)
        shown.wait_for(r"aborted: .*\n> ")
        shown.type("await tools.pay({ amount: 2 })\n")
        shown.wait_for(r"approve\? \[y/n\] ")
        shown.type("y\n")
        shown.wait_for('"paid 2"\n> ')
        shown.type("\x04")
        assert shown.end() == 0
    history = tmp_path / "codemode" / "history"
    assert history.stat().st_mode & 0o077 == 0
    assert "await tools.echo({ value: 3 })\n" in history.read_text()
