"""The debug log: silent unless asked for, telling enough to follow a run, and never what was in it.

Run as a program this is a host with a secret: python -m tests.trajectory.test_logging
"""

from __future__ import annotations

import asyncio
import logging
import re

import pytest

from codemode import ToolError, tool
from codemode.trajectory.debug_log import note
from tests.harness.engine import Desk, engine, failure_of, value_of, waiting
from tests.harness.processes import python

SECRET = "hunter2-hunter2"


@tool
async def leak(value: str) -> str:
    """Says too much as it fails."""
    raise ToolError(f"no such user: {value}")


@tool
def crash(value: str) -> str:
    """The same, by accident and in a thread."""
    raise ValueError(value)


async def host() -> None:
    """A run that has a secret in its program, calls, results, failures, output, value and environment."""
    desk = Desk()
    program = f"""
    const secret = "{SECRET}"; text(secret); json({{ secret }});
    await tools.echo({{ value: secret }});
    for (const name of ["leak", "crash"]) await tools[name]({{ value: secret }}).catch(() => 0);
    await tools.call(secret).catch(() => 0); await tools.search(secret); await yield_control(secret);
    return [secret]
    """
    async with engine([*desk.tools, leak, crash]) as made:
        run_id = waiting(await made.exec(program)).run_id
        assert value_of(await made.wait(run_id)) == [SECRET]
        failure_of(await made.exec(f"throw new Error('{SECRET}')"), "guest_error")
        result = waiting(await made.exec("return await tools.pay({ amount: 1 })"), "approval")
        (call,) = result.pending_tool_calls
        assert call.approval is not None
        assert await made.deny(result.run_id, call.approval.id, reason=SECRET)
        failure_of(await made.wait(result.run_id), "nested_tool_failed")


def log_of(**variables: str) -> str:
    given = {"API_KEY": SECRET, **variables}
    done = python("-m", "tests.trajectory.test_logging", env=given, without="CODEMODE_DEBUG")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return done.stderr


@pytest.mark.guarantee("debug-log-is-discreet")
def test_the_debug_log_follows_the_run_and_never_says_what_was_in_it() -> None:
    log = log_of(CODEMODE_DEBUG="1")
    assert SECRET not in log
    assert re.search(r"codemode\.run run_started run=run_\S+ language=javascript bytes=\d+ tools=7\n", log)
    assert re.search(r"codemode\.run leg_started run=run_\S+ worker=\d+\n", log)
    assert "call=1 tool=openclaw:core:echo input={'type': 'object', 'keys': ['value']}\n" in log
    assert "call=1 tool=openclaw:core:echo status=ok bytes=17\n" in log
    assert "tool=openclaw:core:leak status=error code=tool_error bytes=" in log
    assert re.search(
        r"codemode\.executor openclaw:core:leak failed: ToolError at test_logging\.py:\d+\n", log
    )
    assert re.search(
        r"codemode\.executor openclaw:core:crash failed: ValueError at test_logging\.py:\d+\n", log
    )
    assert re.search(r"codemode\.snapshots taken run=run_\S+ bytes=\d+ us=\d+\n", log)
    assert re.search(r"codemode\.snapshots restored run=run_\S+ us=\d+\n", log)
    assert re.search(r"codemode\.run leg_ended run=run_\S+ status=waiting why=yield calls=\d\n", log)
    assert re.search(r"codemode\.run run_ended run=run_\S+ status=completed\n", log)
    assert re.search(r"codemode\.calls approval_decided run=run_\S+ call=1 approved=False\n", log)


@pytest.mark.parametrize("variables", [{}, {"CODEMODE_DEBUG": ""}, {"CODEMODE_DEBUG": "0"}])
def test_without_the_variable_nothing_is_printed(variables: dict[str, str]) -> None:
    assert log_of(**variables) == ""


def test_a_line_is_one_line_whatever_a_program_calls_its_tools(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "codemode.calls")
    name = "a\nFAKE codemode.run run_ended\x1b[2J" + "x" * 9999
    note(logging.getLogger("codemode.calls"), "call_started", "run_1", call=1, tool=name)
    (record,) = caplog.records
    assert record.getMessage().isprintable()
    assert len(record.getMessage()) < 400


def test_a_record_carries_its_facts_as_data(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "codemode.calls")
    facts = {"call": 3, "tool": "openclaw:core:echo", "status": "ok", "code": "", "bytes": 7}
    note(logging.getLogger("codemode.calls"), "call_ended", "run_1", **facts)
    (record,) = caplog.records
    assert vars(record)["codemode"] == {
        "event": "call_ended",
        "run": "run_1",
        "call": 3,
        "tool": "openclaw:core:echo",
        "status": "ok",
        "bytes": 7,
    }


def test_importing_the_library_configures_no_logging() -> None:
    logger = logging.getLogger("codemode")
    assert [type(handler) for handler in logger.handlers] == [logging.NullHandler]
    assert logger.level == logging.NOTSET
    assert logger.propagate


if __name__ == "__main__":
    asyncio.run(host())
