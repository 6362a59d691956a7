"""A wait that is cancelled costs its run nothing, and a result can be asked for again."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.harness.engine import Desk, engine, failure_of, texts, until, value_of, waiting
from tests.harness.faults import Clock

pytestmark = pytest.mark.usefixtures("leaves_nothing")


async def test_a_run_that_ended_gives_its_result_again_to_its_own_scope_and_runs_nothing() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        result = waiting(await made.exec("await yield_control(); text('t'); return tools.echo({ value: 1 })"))
        first = await made.wait(result.run_id)
        assert value_of(first) == 1
        assert await made.wait(result.run_id) == first
        other = failure_of(await made.wait(result.run_id, session="other"), "invalid_input")
        assert "no such run" in other.error
        assert made.stats()["totals"]["counts"]["call"] == 1


async def test_a_kept_result_is_forgotten_when_a_suspended_run_would_have_expired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with engine() as made:
        result = waiting(await made.exec("await yield_control(); return 1"))
        assert value_of(await made.wait(result.run_id)) == 1
        Clock(monkeypatch).ahead = 3600.0
        failure_of(await made.wait(result.run_id), "invalid_input")


async def test_kept_results_are_bounded_in_number_and_bytes() -> None:
    async with engine(config={"maxOutputBytes": 10 << 20}) as made:
        large = "await yield_control(); return 'x'.repeat(9_000_000)"
        ids = [waiting(await made.exec(large)).run_id for _ in range(3)]
        for run_id in ids:
            assert len(value_of(await made.wait(run_id))) == 9_000_000
        failure_of(await made.wait(ids[0]), "invalid_input")
        assert len(value_of(await made.wait(ids[2]))) == 9_000_000


async def test_cancelling_a_wait_for_an_approval_leaves_the_run_as_it_was(tmp_path: Path) -> None:
    for store in (None, tmp_path / "runs.sqlite"):
        async with engine(store=store) as made:
            asked = waiting(await made.exec("return await tools.pay({ amount: 5 })"), "approval")
            for _ in range(3):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(made.wait(asked.run_id), 0.05)
            (call,) = asked.pending_tool_calls
            assert call.approval is not None
            assert await made.approve(asked.run_id, call.approval.id)
            assert value_of(await made.wait(asked.run_id)) == "paid 5"


async def test_a_leg_whose_caller_was_cancelled_goes_on_and_its_result_is_kept() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        program = "await yield_control(); text('on its way'); return await tools.hold({ name: 'a' })"
        first = waiting(await made.exec(program))
        caller = asyncio.create_task(made.wait(first.run_id))
        await desk.asked("a")
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert desk.cancelled == []
        desk.answer("a", 7)
        result = await made.wait(first.run_id)  # joins the leg, or finds its result
        assert (value_of(result), texts(result)) == (7, ["on its way"])
        assert await made.wait(first.run_id) == result


async def test_output_of_a_leg_that_nobody_followed_comes_with_the_next_wait() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        program = "await yield_control(); await tools.hold({ name: 'a' }); text('unseen'); await yield_control(); return 2"
        first = waiting(await made.exec(program))
        caller = asyncio.create_task(made.wait(first.run_id))
        await desk.asked("a")
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        desk.answer("a")
        await until(lambda: made.stats()["runs"] == {"waiting": 1})
        assert texts(waiting(await made.wait(first.run_id), "yield")) == ["unseen"]
        assert value_of(await made.wait(first.run_id)) == 2
