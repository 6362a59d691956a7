"""`codemode run`: programs, their output, their results, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.cli import TOOLS, Cli

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def test_the_value_is_printed_as_json_and_nothing_else(cli: Cli) -> None:
    done = cli("run", "-e", "return { sum: 1 + 1, word: 'a' }")
    assert (done.code, done.out, done.err) == (0, '{"sum":2,"word":"a"}\n', "")


def test_a_program_that_returns_nothing_prints_nothing(cli: Cli) -> None:
    done = cli("run", "-e", "const a = 1")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_json_is_exactly_the_result_object(cli: Cli) -> None:
    result = cli("run", "-e", "text('said'); return 1 + 1", "--json").json
    assert result["status"] == "completed"
    assert result["value"] == 2
    assert result["output"] == [{"type": "text", "text": "said"}]
    assert result["telemetry"]["calls"] == []
    assert sorted(result) == ["output", "status", "telemetry", "value"]


def test_output_comes_in_its_order_and_warnings_of_the_program_go_to_stderr(cli: Cli) -> None:
    program = "text('one'); json({ two: 2 }); console.warn('three'); console.log('four'); return 5"
    done = cli("run", "-e", program)
    assert done.out == 'one\n{"two":2}\nfour\n5\n'
    assert done.err == "three\n"


def test_a_file_is_typescript_by_its_suffix_and_javascript_otherwise(cli: Cli, tmp_path: Path) -> None:
    program = "const n: number = 4; return n"
    (tmp_path / "a.ts").write_text(program)
    (tmp_path / "a.js").write_text(program)
    assert cli("run", tmp_path / "a.ts").out == "4\n"
    assert cli("run", tmp_path / "a.js", "--ts").out == "4\n"
    refused = cli("run", tmp_path / "a.js")
    assert refused.code == 1
    assert "failed (invalid_input): SyntaxError" in refused.err


def test_a_first_line_for_the_shell_is_a_comment_and_positions_stay(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/env -S codemode run\nnope()")
    assert "(2:1)" in cli("run", script).err


def test_tools_are_called_and_what_they_print_is_no_output(cli: Cli) -> None:
    done = cli("run", "-e", "return await tools.shout({ text: 'hi' })", "--tools", f"{TOOLS}:tools")
    assert (done.code, done.out) == (0, '"HI"\n')
    assert done.err == "a tool printed this\n"


def test_content_is_told_by_its_type_and_size_on_a_terminal(cli: Cli, tmp_path: Path) -> None:
    source = """
from codemode import File, tool

@tool
async def draw() -> File:
    return File(b"%PDF", "application/pdf", "a\\x1b[2J.pdf")
"""
    (tmp_path / "draw.py").write_text(source)
    done = cli("run", "-e", "file(await tools.draw({}))", "--tools", str(tmp_path / "draw.py:draw"))
    assert done.out == "[file a\\x1b[2J.pdf: application/pdf, 4 bytes]\n"


def test_a_failed_program_keeps_its_output_and_says_what_happened(cli: Cli) -> None:
    program = "text('before'); await tools.fail({ message: 'no \\u001b[31mred' })"
    done = cli("run", "-e", program, "--tools", TOOLS)
    assert (done.code, done.out) == (1, "before\n")
    assert "failed (nested_tool_failed):" in done.err
    assert "no \\x1b[31mred" in done.err
    assert "\x1b" not in done.err


def test_nothing_a_program_says_can_move_the_cursor(cli: Cli) -> None:
    program = r"text('a\u001b[2Jb\tc\nd\u0007'); json('\u009b\u202e'); return '\u009bx\u{e0001}'"
    done = cli("run", "-e", program)
    assert done.out == 'a\\x1b[2Jb\tc\nd\\x07\n"\\u009b\\u202e"\n"\\u009bx\\udb40\\udc01"\n'
    assert json.loads(done.out.splitlines()[-1]) == "\x9bx\U000e0001"


def test_a_run_of_several_legs_is_one_result_with_all_of_its_output(cli: Cli) -> None:
    program = "text('a'); await yield_control(); text('b'); await yield_control(); text('c'); return 1"
    result = cli("run", "-e", program, "--json").json
    assert [item["text"] for item in result["output"]] == ["a", "b", "c"]
    assert (result["status"], result["value"]) == ("completed", 1)
    assert cli("run", "-e", program).out == "a\nb\nc\n1\n"


def test_more_output_than_a_listener_can_hold_is_printed_once_and_in_order(cli: Cli) -> None:
    done = cli("run", "-e", "for (let n = 0; n < 5000; n++) text(n)", "--max-output", "1000000")
    assert done.out.split() == [str(n) for n in range(5000)]


def test_limits_hold_and_numbers_outside_what_is_allowed_are_clamped_aloud(cli: Cli) -> None:
    done = cli("run", "-e", "return 'x'.repeat(2000)", "--max-output", "10")
    assert done.code == 1
    assert "output_limit_exceeded" in done.err
    assert "--max-output: 10 is outside what is allowed; maxOutputBytes is 1024" in done.err
    assert "timeout" in cli("run", "-e", "while (true);", "--timeout", "200ms").err


def test_a_configuration_file_has_limits_policy_and_settings(cli: Cli, tmp_path: Path) -> None:
    document = {
        "tools": {"codeMode": {"maxPendingToolCalls": 1}},
        "policy": {"deny": ["shout"]},
        "settings": {"warmWorkers": 1},
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(document))
    names = cli("run", "-e", "return ALL_TOOLS.map(t => t.name)", "--tools", TOOLS, "--config", path)
    assert names.out == '["echo","fail","pay","until_there"]\n'
    two = "await Promise.all([tools.echo({}), tools.echo({})])"
    assert "too_many_pending_tool_calls" in cli("run", "-e", two, "--tools", TOOLS, "--config", path).err


def test_a_tool_that_needs_approval_leaves_the_run_waiting_where_nobody_can_be_asked(cli: Cli) -> None:
    done = cli("run", "-e", "return await tools.pay({ amount: 5 })", "--tools", TOOLS, "--json")
    assert done.code == 3
    assert (done.json["status"], done.json["reason"]) == ("waiting", "approval")
    assert "give --store PATH to keep what is waiting" in done.err


def test_a_trajectory_is_saved_and_shown_as_a_tree(cli: Cli, tmp_path: Path) -> None:
    saved = tmp_path / "run.json"
    cli("run", "-e", "return await tools.echo({ value: 7 })", "--tools", TOOLS, "--trace", saved)
    shown = cli("trace", saved, "--width", "80")
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert "completed" in lines[0]
    assert lines[3].startswith("|- openclaw:core:echo")
    assert all(len(line) <= 80 for line in lines)
    assert json.loads(saved.read_text())["redaction"] == "shape"


def test_values_are_recorded_only_if_asked_for(cli: Cli, tmp_path: Path) -> None:
    saved = tmp_path / "run.json"
    cli("run", "-e", "return await tools.echo({ value: 71 })", "--tools", TOOLS, "--trace", saved, "--values")
    assert '{"value":71}' in cli("trace", saved, "--width", "160").out
