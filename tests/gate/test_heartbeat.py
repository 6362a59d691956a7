"""The loop's lateness is measured and told, and no deadline is judged while it was late."""

from __future__ import annotations

import asyncio

import pytest
from codemode_runtime import wire

from codemode import Completed, Engine, LoopLate, tool
from codemode.gate.heartbeat import Alarm, heartbeat, within
from tests.harness.engine import Desk, engine, value_of
from tests.harness.late_loop import LateLoop
from tests.harness.loops import until
from tests.harness.mcp_servers import fast, servers
from tests.harness.workers import start, supervisor


async def test_an_alarm_that_rings_after_a_stall_first_gives_the_loop_the_time_it_lost() -> None:
    loop, rung = LateLoop(), list[float]()
    began = loop.time()
    Alarm(0.01, lambda: rung.append(loop.time() - began))
    loop.hold_up(5.0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert rung == []
    loop.hold_up(4.9)
    await until(lambda: rung)
    assert rung[0] >= 9.9


async def test_an_alarm_knows_of_a_stall_that_was_over_before_it_was_due() -> None:
    loop, rung, late = LateLoop(), list[str](), list[float]()
    heart = heartbeat()
    heart.join(late.append)
    Alarm(10.0, lambda: rung.append("rung"))
    loop.hold_up(9.0)
    await until(lambda: late)
    assert 8.8 < late[0] < 9.1
    loop.hold_up(1.2)  # due, were it not for the stall
    await asyncio.sleep(0.01)
    heart.leave(late.append)
    assert rung == []


async def test_an_alarm_that_is_cancelled_never_rings() -> None:
    loop, rung = LateLoop(), list[str]()
    alarm = Alarm(0.0, lambda: rung.append("rung"))
    loop.hold_up(1.0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # it was put off once
    alarm.cancel()
    loop.hold_up(5.0)
    await asyncio.sleep(0.01)
    assert rung == []


@pytest.mark.guarantee("late-loops-judge-no-deadline")
async def test_a_worker_whose_answer_lies_in_the_socket_is_not_overdue_after_a_stall() -> None:
    async with supervisor() as found:
        loop = LateLoop()
        with await found.lease() as worker:
            leg = asyncio.create_task(start(worker, "return 7", budget_ms=1000))
            await asyncio.sleep(0)
            loop.hold_up(20.0)
            outcome = await leg
        assert isinstance(outcome, wire.Done)
        assert bytes(outcome.result.value) == b"7"
        assert found.stats().killed == 0


@pytest.mark.guarantee("late-loops-judge-no-deadline")
async def test_a_tool_that_answered_during_a_stall_has_not_timed_out() -> None:
    answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    asked = asyncio.Event()

    @tool(timeout_ms=500)
    async def slow() -> str:
        """Answers when it is told to."""
        asked.set()
        return await answer

    async with engine((slow,)) as made:
        loop = LateLoop()
        running = asyncio.create_task(made.exec("return await tools.slow()"))
        await asked.wait()
        loop.hold_up(3.0)
        asyncio.get_running_loop().call_later(0.001, answer.set_result, "late")
        assert value_of(await running) == "late"


async def test_a_stall_is_in_the_stats_the_health_and_the_events() -> None:
    async with engine() as made:
        loop, events = LateLoop(), made.events()
        assert "event loop" not in {check.name for check in made.health().checks}
        loop.hold_up(2.5)
        told = await anext(events)
        assert isinstance(told, LoopLate)
        assert told.run_id == ""
        assert 2300 < told.ms < 2600
        found = made.stats().loop
        assert (found.stalls, found.worst_lag_ms, found.stalled_ms) == (1, told.ms, told.ms)
        (check,) = [check for check in made.health().checks if check.name == "event loop"]
        assert check.status == "degraded"
        assert check.reason.startswith(f"held up for {told.ms / 1000:.1f} s, 0 s ago")
        assert isinstance(await made.exec("return 1"), Completed)


@pytest.mark.guarantee("late-loops-judge-no-deadline")
async def test_a_program_whose_tool_answered_during_a_stall_goes_on_in_its_leg() -> None:
    desk = Desk()
    async with engine(desk.tools, config={"timeoutMs": 500}) as made:
        loop = LateLoop()
        running = asyncio.create_task(made.exec("return await tools.hold({ name: 'a' })"))
        await desk.asked("a")
        loop.hold_up(3.0)
        asyncio.get_running_loop().call_later(0.001, desk.answer, "a", "late")
        assert value_of(await running) == "late"


@pytest.mark.guarantee("late-loops-judge-no-deadline")
async def test_a_tool_search_program_whose_tool_answered_during_a_stall_has_not_timed_out() -> None:
    desk = Desk()
    async with Engine(desk.tools, {}, settings={"warmWorkers": 1}) as made:
        prepared = await made.tool_search({"mode": "code", "codeTimeoutMs": 1000}).prepare()
        program = "return await openclaw.tools.call('hold', { name: 'a' })"
        loop = LateLoop()
        running = asyncio.create_task(prepared.call("tool_search_code", {"code": program}))
        await desk.asked("a")
        loop.hold_up(5.0)
        asyncio.get_running_loop().call_later(0.001, desk.answer, "a", "late")
        answer = await running
        assert (answer.error, answer.value) == (None, "late")


@pytest.mark.guarantee("late-loops-judge-no-deadline")
async def test_an_mcp_server_that_answered_during_a_stall_is_connected() -> None:
    loop, link = LateLoop(), servers(fast=fast(connectTimeoutMs=5_000))
    made = Engine((), {"enabled": True}, mcp=link, settings={"warmWorkers": 0})
    starting = asyncio.create_task(made.start())
    try:
        await until(lambda: [one["state"] for one in made.health().mcp] == ["connecting"])
        loop.hold_up(30.0)
        await starting
        assert [(one["state"], one["reason"]) for one in made.health().mcp] == [("connected", "")]
    finally:
        await made.close()


async def test_time_that_the_loop_lost_is_not_counted_in_a_limit() -> None:
    loop, answer = LateLoop(), asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(0.001, loop.hold_up, 9.0)
    asyncio.get_running_loop().call_later(0.002, answer.set_result, 7)
    async with within(0.5):
        assert await answer == 7
    with pytest.raises(TimeoutError):
        async with within(0.001):
            await asyncio.get_running_loop().create_future()
