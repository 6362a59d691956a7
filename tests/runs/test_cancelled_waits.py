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


async def test_a_wait_that_is_cancelled_in_whichever_turn_of_the_loop_costs_its_run_nothing() -> None:
    program = "await yield_control(); text('once'); return (await tools.echo({ value: 5 })) + (await tools.echo({ value: 2 }))"
    async with engine(settings={"workerReuse": 1_000}) as made:
        turns = cancelled = 0
        while True:
            turns += 1
            run_id = waiting(await made.exec(program)).run_id
            calls = made.stats()["totals"]["counts"].get("call", 0)
            caller = asyncio.create_task(made.wait(run_id))
            for _ in range(turns):
                await asyncio.sleep(0)
            if not caller.cancel():
                break
            with pytest.raises(asyncio.CancelledError):
                await caller
            cancelled += 1
            result = await made.wait(run_id)
            assert (value_of(result), texts(result)) == (7, ["once"])
            assert made.stats()["totals"]["counts"]["call"] == calls + 2
        assert cancelled > 1  # how many turns a wait takes depends on how busy the machine is


@pytest.mark.parametrize("stopped_by", ["abort", "close"])
async def test_a_leg_of_a_wait_can_be_stopped_before_and_after_its_caller_was_cancelled(
    stopped_by: str,
) -> None:
    for is_alone in (False, True):
        desk = Desk()
        async with engine(desk.tools) as made:
            first = waiting(await made.exec("await yield_control(); await tools.hold({ name: 'a' })"))
            caller = asyncio.create_task(made.wait(first.run_id))
            await desk.asked("a")
            if is_alone:
                caller.cancel()
                await asyncio.wait([caller])
            if stopped_by == "abort":
                assert await made.abort(first.run_id)
            else:
                await made.close()
            assert (desk.cancelled, desk.joined) == (["a"], ["a"])
            if not is_alone:
                failure_of(await caller, "aborted")
                assert caller.cancelling() == 0


async def test_a_timeout_around_a_wait_ends_the_wait_alone_and_the_caller_goes_on() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        first = waiting(await made.exec("await yield_control(); return await tools.hold({ name: 'a' })"))
        patience = asyncio.timeout(None)

        async def impatient() -> tuple[bool, int]:
            current = asyncio.current_task()
            assert current is not None
            try:
                async with patience:
                    await made.wait(first.run_id)
            except TimeoutError:
                await asyncio.sleep(0)
            return patience.expired(), current.cancelling()

        caller = asyncio.create_task(impatient())
        await desk.asked("a")
        patience.reschedule(0)
        assert await caller == (True, 0)
        desk.answer("a", 3)
        assert value_of(await made.wait(first.run_id)) == 3
