"""The one call `codemode.run`: a program from its start to its end, without an event loop."""

from __future__ import annotations

import asyncio

import pytest

from codemode import CallContext, ConfigError, tool
from codemode.blocking import run as run_once
from tests.harness.engine import failure_of, pay, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def yes(_: object) -> bool:
    return True


@tool
async def slow(ms: int) -> int:
    """Takes its time."""
    await asyncio.sleep(ms / 1000)
    return ms


def test_run_tells_tools_the_session_it_was_given() -> None:
    @tool
    async def session(context: CallContext) -> str:
        """Of the caller."""
        return context.session_id

    program = "await yield_control(); return await tools.session()"
    assert value_of(run_once(program, tools=[session], session="s1")) == "s1"
    assert value_of(run_once(program, tools=[session])) == "default"


def test_run_refuses_a_configuration_with_an_unknown_key_before_anything_runs() -> None:
    with pytest.raises(ConfigError, match="x"):
        run_once("return 1", config={"x": 1})


def test_run_goes_on_waiting_until_the_program_has_ended() -> None:
    result = run_once(
        "const v = await tools.slow({ ms: 250 }); await yield_control(); return v",
        tools=[slow],
        config={"enabled": True, "timeoutMs": 100},
    )
    assert value_of(result) == 250
    assert result.to_dict()["telemetry"]["counts"]["wait"] >= 2


def test_run_ends_where_an_approval_is_asked_for_that_nobody_can_give() -> None:
    waiting(run_once("return await tools.pay({ amount: 1 })", tools=[pay]), "approval")
    assert value_of(run_once("return await tools.pay({ amount: 1 })", tools=[pay], approve=yes)) == "paid 1"


def test_run_says_what_is_wrong_with_a_program() -> None:
    failure_of(run_once("let x = ;"), "invalid_input")
    failure_of(run_once("return 1 as number"), "invalid_input")
    assert value_of(run_once("return 1 as number", language="typescript")) == 1
