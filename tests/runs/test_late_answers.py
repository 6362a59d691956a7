"""A tool that answers at the end of the budget does not turn a small computation into a timeout."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import asyncio

import pytest

from codemode import tool
from tests.harness.engine import engine, failure_of, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")

# how long a program computes, in a way that a busy machine does not change
COMPUTE = "const end = performance.now() + {ms}; while (performance.now() < end);"


@tool
async def late(ms: int) -> int:
    """Answers after so many milliseconds."""
    answered = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(ms / 1000, answered.set_result, ms)
    return await answered


async def test_a_program_goes_on_for_a_quarter_of_its_budget_with_an_answer_that_came_late() -> None:
    async with engine([late], {"timeoutMs": 2000}) as made:
        result = await made.exec(
            f"const n = await tools.late({{ ms: 1900 }}); {COMPUTE.format(ms=250)} return n"
        )
        assert value_of(result) == 1900


async def test_a_program_that_computes_for_longer_with_it_is_ended_and_told_what_took_the_time() -> None:
    async with engine([late], {"timeoutMs": 1000}) as made:
        error = failure_of(await made.exec("await tools.late({ ms: 800 }); for (;;);"), "timeout").error
        assert error.startswith("The program was still computing after 1000 ms (")
        assert " ms of waiting) and was ended." in error


async def test_a_program_that_never_waited_has_its_budget_and_no_more() -> None:
    async with engine([late], {"timeoutMs": 1000}) as made:
        error = failure_of(await made.exec(f"{COMPUTE.format(ms=1150)} return 1"), "timeout").error
        assert error.startswith("The program was still computing after 1000 ms and was ended.")


async def test_a_wait_whose_news_came_late_has_the_same_quarter() -> None:
    async with engine([late], {"timeoutMs": 1000}) as made:
        program = f"const n = tools.late({{ ms: 900 }}); await yield_control(); await tools.late({{ ms: 1 }}); await n; {COMPUTE.format(ms=150)} return await n"
        left = waiting(await made.exec(program))
        assert value_of(await made.wait(left.run_id)) == 900
