"""The JSON-RPC backend as hosts use it: reference clients in Python and JavaScript, as processes."""

import signal
from pathlib import Path

import pytest

from tests.harness.serve import run_host, serve

pytestmark = [
    pytest.mark.usefixtures("leaves_nothing"),
    pytest.mark.parametrize("language", ["python", "javascript"]),
]


def test_a_program_calls_tools_of_the_host_side_by_side_and_the_host_hears_of_it(
    language: str,
) -> None:
    seen = run_host(language, "nested", serve("--stdio"))
    updates = sorted(seen.pop("updates"), key=lambda update: update["adding"])
    assert updates == [{"adding": 1}, {"adding": 2}, {"adding": 3}]
    assert seen == {
        "protocol": 1,
        "shown": ["exec", "wait"],
        "value": [11, 12, 13],
        "toolCall": "call-7",
        "code": 0,
    }


def test_a_suspended_run_goes_on_with_wait_and_is_unknown_to_another_session(language: str) -> None:
    seen = run_host(language, "waiting", serve("--stdio"))
    assert seen == {
        "first": ["waiting", "yield", ["call", "yield"]],
        "foreign": ["failed", "invalid_input"],
        "second": ["completed", "late"],
    }


def test_an_abort_ends_the_run_and_cancels_the_tool_in_the_host(language: str) -> None:
    seen = run_host(language, "abort", serve("--stdio"))
    assert seen == {"aborted": True, "code": "aborted", "cancelled": 1, "again": False}


def test_a_cancelled_request_ends_the_run_and_cancels_the_tool_in_the_host(language: str) -> None:
    assert run_host(language, "cancel", serve("--stdio")) == {"cancelled": 1, "runs": []}


def test_an_approval_is_given_or_denied_by_a_request_of_the_host(language: str) -> None:
    seen = run_host(language, "approval", serve("--stdio"))
    assert seen == {
        "reason": "approval",
        "summary": "Run pay(amount)",
        "decided": True,
        "yes": "paid 3",
        "no": "denied",
        "unknown": False,
    }


def test_a_host_that_wants_to_be_asked_sees_the_arguments_and_decides_at_once(language: str) -> None:
    seen = run_host(language, "asked", serve("--stdio"))
    assert seen == {
        "yes": "paid 3",
        "no": "denied",
        "asked": [["pay", {"amount": 3}], ["pay", {"amount": 40}]],
    }


def test_a_failing_tool_is_an_error_that_the_program_can_catch(language: str) -> None:
    seen = run_host(language, "failure", serve("--stdio"))
    assert seen == {
        "caught": {"name": "ToolError", "message": "out of paper", "code": "tool_error", "data": {"tray": 2}},
        "uncaught": "nested_tool_failed",
        "refused": "invalid_arguments",
        "protocol": -32602,
    }


def test_with_a_store_another_engine_goes_on_and_an_idempotent_call_runs_again(
    language: str, tmp_path: Path
) -> None:
    command = serve("--stdio", "--store", tmp_path / "runs.sqlite")
    left = run_host(language, "leave", command)
    assert left["cancelled"] == 1
    seen = run_host(language, "come_back", command, left["runId"])
    assert seen == {"value": "later", "keys": [left["key"]]}


def test_a_host_that_is_killed_leaves_no_process_behind(language: str) -> None:
    assert run_host(language, "die", serve("--stdio")) == -signal.SIGKILL
