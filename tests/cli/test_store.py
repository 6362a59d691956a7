"""Runs that outlive a command: left in a store, listed, shown, decided, gone on with, aborted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.harness.cli import TOOLS, Cli

pytestmark = pytest.mark.usefixtures("leaves_nothing")
PAY = "text('before'); const paid = await tools.pay({ amount: 5 }); text('after'); return paid"


def left(cli: Cli, program: str, *options: str) -> str:
    """The id of a run that now waits in runs.sqlite."""
    done = cli("run", "-e", program, "--tools", TOOLS, "--store", "runs.sqlite", "--json", *options)
    assert (done.code, done.json["status"]) == (3, "waiting")
    return done.json["runId"]


def test_a_run_that_yields_is_left_and_gone_on_with_until_it_is_over(cli: Cli) -> None:
    program = "text('a'); await yield_control(); text('b'); await yield_control(); return 3"
    run_id = left(cli, program, "--no-wait")
    once = cli("wait", run_id, "--store", "runs.sqlite", "--no-wait", "--json")
    assert (once.code, once.json["output"]) == (3, [{"type": "text", "text": "b"}])
    done = cli("wait", run_id, "--store", "runs.sqlite")
    assert (done.code, done.out, done.err) == (0, "3\n", "")


def test_what_is_left_says_how_to_go_on_with_the_same_tools(cli: Cli) -> None:
    done = cli("run", "-e", PAY, "--tools", TOOLS, "--store", "runs.sqlite")
    assert (done.code, done.out) == (3, "before\n")
    run_id = re.findall(r"^(run_\S+) is waiting: approval$", done.err, re.MULTILINE)[0]
    assert f"  go on:   codemode wait {run_id} --store runs.sqlite --tools {TOOLS}\n" in done.err
    assert f"  approve: codemode runs approve {run_id} --store runs.sqlite --tools {TOOLS}\n" in done.err


def test_an_approval_makes_the_call_and_the_run_goes_on(cli: Cli) -> None:
    run_id = left(cli, PAY)
    waited = cli("wait", run_id, "--tools", TOOLS, "--store", "runs.sqlite")
    assert waited.code == 3
    done = cli("runs", "approve", run_id, "--tools", TOOLS, "--store", "runs.sqlite")
    assert (done.code, done.out, done.err) == (0, 'after\n"paid 5"\n', "")
    assert cli("runs", "--store", "runs.sqlite", "--json").json == []


def test_a_denial_is_told_to_the_program_with_its_reason(cli: Cli) -> None:
    program = "try { await tools.pay({ amount: 5 }) } catch (e) { return [e.code, e.message] }"
    run_id = left(cli, program)
    done = cli(
        "runs", "deny", run_id, "--reason", "too much", "--tools", TOOLS, "--store", "runs.sqlite", "--json"
    )  # fmt: skip
    code, message = done.json["value"]
    assert code == "denied"
    assert "too much" in message


def test_of_several_questions_one_has_to_be_named(cli: Cli) -> None:
    both = "return await Promise.all([tools.pay({ amount: 1 }), tools.pay({ amount: 2 })])"
    run_id = left(cli, both)
    asked = cli("runs", "approve", run_id, "--tools", TOOLS, "--store", "runs.sqlite")
    assert asked.code == 2
    first, second = re.findall(
        r"^  (apr_\w+)  openclaw:core:pay\n    Run pay\(amount\)\n      amount: \d$", asked.err, re.MULTILINE
    )
    waits = cli("runs", "approve", run_id, first, "--tools", TOOLS, "--store", "runs.sqlite")
    assert waits.code == 3
    done = cli("runs", "approve", run_id, second, "--tools", TOOLS, "--store", "runs.sqlite")
    assert (done.code, done.out) == (0, '["paid 1","paid 2"]\n')


def test_a_run_is_listed_shown_and_aborted(cli: Cli) -> None:
    run_id = left(cli, PAY, "--session", "other\x1b[31m")
    listed = cli("runs", "--store", "runs.sqlite")
    assert listed.out.splitlines()[0].split()[:2] == ["RUN", "STATE"]
    assert listed.out.splitlines()[1].startswith(f"{run_id}  waiting")
    assert "main/other\\x1b[31m" in listed.out
    shown = cli("runs", "show", run_id, "--store", "runs.sqlite")
    assert "pending, asks" in shown.out
    assert (
        "\nasks for approval: openclaw:core:pay\n  Run pay(amount)\n    amount: 5\n  codemode runs"
        in shown.out
    )
    assert re.match(
        r"waiting \(approval\) · started .* ago · expires in .* · calls: 1 pending · no eng", shown.out
    )
    as_json = cli("runs", "show", run_id, "--store", "runs.sqlite", "--json").json
    assert [call["name"] for call in as_json["calls"][0]["calls"]] == ["pay"]
    assert (as_json["run"]["status"], as_json["run"]["place"]) == ("waiting", "store")
    aborted = cli("runs", "abort", run_id, "--store", "runs.sqlite")
    assert (aborted.code, aborted.err) == (0, f"{run_id} is aborted\n")
    gone = cli("wait", run_id, "--store", "runs.sqlite", "--session", "other\x1b[31m", "--json")
    assert (gone.code, gone.json["code"]) == (1, "aborted")


def test_a_run_is_found_in_any_session_unless_one_is_named(cli: Cli) -> None:
    run_id = left(cli, "await yield_control(); return 1", "--no-wait", "--session", "a")
    assert cli("runs", "--store", "runs.sqlite", "--session", "b", "--json").json == []
    refused = cli("wait", run_id, "--store", "runs.sqlite", "--session", "b", "--json")
    assert (refused.code, refused.json["code"]) == (1, "invalid_input")
    assert cli("wait", run_id, "--store", "runs.sqlite").out == "1\n"


def test_calls_in_flight_are_interrupted_and_those_of_idempotent_tools_start_again(
    cli: Cli, tmp_path: Path
) -> None:
    program = f"return await tools.until_there({{ path: {json.dumps(str(tmp_path / 'flag'))} }})"
    run_id = left(cli, program, "--timeout", "100ms", "--no-wait")
    (tmp_path / "flag").touch()
    done = cli("wait", run_id, "--tools", TOOLS, "--store", "runs.sqlite")
    assert (done.code, done.out) == (0, '"there"\n')


@pytest.mark.parametrize("action", ["show", "abort", "approve", "deny"])
def test_an_unknown_run_is_a_failure_and_not_a_usage_error(cli: Cli, action: str) -> None:
    left(cli, "await yield_control()", "--no-wait")
    done = cli("runs", action, "run_none", "--store", "runs.sqlite", "--tools", TOOLS)
    assert (done.code, done.out) == (1, "")
    assert "there is no such run" in done.err


def test_an_unknown_approval_is_refused(cli: Cli) -> None:
    run_id = left(cli, PAY)
    done = cli("runs", "approve", run_id, "apr_none", "--store", "runs.sqlite", "--tools", TOOLS)
    assert done.code == 1
    assert "apr_none cannot be decided here" in done.err
