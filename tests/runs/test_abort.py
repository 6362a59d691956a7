"""Abort and cancellation in every state: nothing goes on running, tools are cancelled and joined."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from codemode import Engine
from codemode.contract.results import CodeModeResult
from tests.harness.engine import Desk, engine, failure_of, statuses, texts, value_of, waiting
from tests.harness.loops import until

pytestmark = pytest.mark.usefixtures("leaves_nothing")
Reach = Callable[[Engine, Desk], Awaitable["asyncio.Task[CodeModeResult]"]]
HOLDING = "text('said'); const value = await tools.hold({ name: 'a' }); return value"
COMPUTING = "text('said'); await tools.echo({}); for (;;);"


def busy(made: Engine) -> int:
    return made.stats()["workers"]["busy"]


async def queued(made: Engine, _: Desk) -> asyncio.Task[CodeModeResult]:
    """The only worker computes for another session."""
    other = asyncio.create_task(made.exec("for (;;);", session="other"))
    await until(lambda: busy(made) == 1)
    task = asyncio.create_task(made.exec("return 1", session="s"))
    await until(lambda: made.stats()["workers"]["queued"] == 1)
    task.add_done_callback(lambda _: other.cancel())
    return task


async def computing(made: Engine, _: Desk) -> asyncio.Task[CodeModeResult]:
    listening = made.events()
    task = asyncio.create_task(made.exec(COMPUTING, session="s"))
    async for event in listening:
        if event.type == "call_finished":
            break
    return task


async def waiting_for_tools(made: Engine, desk: Desk) -> asyncio.Task[CodeModeResult]:
    task = asyncio.create_task(made.exec(HOLDING, session="s"))
    await desk.asked("a")
    return task


async def waiting_in_wait(made: Engine, desk: Desk) -> asyncio.Task[CodeModeResult]:
    """Suspended; a wait has nothing to deliver yet."""
    program = "await Promise.all([tools.hold({ name: 'a' }), tools.pay({ amount: 1 })])"
    result = waiting(await made.exec(program, session="s"), "approval")
    task = asyncio.create_task(made.wait(result.run_id, session="s"))
    await asyncio.sleep(0)
    return task


async def resumed(made: Engine, desk: Desk) -> asyncio.Task[CodeModeResult]:
    """In its second leg, with a snapshot that is claimed."""
    result = waiting(await made.exec("await yield_control(); " + HOLDING, session="s"), "yield")
    task = asyncio.create_task(made.wait(result.run_id, session="s"))
    await desk.asked("a")
    return task


STATES: dict[str, Reach] = {
    "queued": queued,
    "computing": computing,
    "waiting for tools": waiting_for_tools,
    "waiting in wait": waiting_in_wait,
    "resumed": resumed,
}
IN_EACH_STATE = pytest.mark.parametrize("state", STATES)
# cancelling a wait costs its run nothing: tests/runs/test_cancelled_waits.py
OF_EXEC = [state for state in STATES if state not in ("waiting in wait", "resumed")]
IN_EACH_STATE_OF_EXEC = pytest.mark.parametrize("state", OF_EXEC)
ONE_WORKER = {"maxWorkers": 1}


async def is_quiet(made: Engine, desk: Desk) -> None:
    """No leg, no run, no tool goes on; and the engine still works."""
    await until(lambda: busy(made) == 0 and made.stats()["runs"] == {})
    assert await made.runs() == []
    assert desk.joined == desk.cancelled == desk.started
    assert value_of(await made.exec("return 'next'", session="s")) == "next"


@pytest.mark.guarantee("ends-leave-nothing")
@IN_EACH_STATE
async def test_aborting_the_session_ends_the_run_wherever_it_is(state: str) -> None:
    desk = Desk()
    async with engine(desk.tools, settings=ONE_WORKER) as made:
        task = await STATES[state](made, desk)
        assert await made.abort_session("s") == 1
        failure_of(await task, "aborted")
        await is_quiet(made, desk)
        assert await made.abort_session("s") == 0


@pytest.mark.guarantee("ends-leave-nothing")
@IN_EACH_STATE_OF_EXEC
async def test_cancelling_the_caller_ends_the_run_wherever_it_is(state: str) -> None:
    desk = Desk()
    async with engine(desk.tools, settings=ONE_WORKER) as made:
        task = await STATES[state](made, desk)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await is_quiet(made, desk)


@pytest.mark.guarantee("ends-leave-nothing")
@IN_EACH_STATE_OF_EXEC
async def test_a_caller_cancelled_over_and_over_ends_the_run_just_as_well(state: str, tmp_path: Path) -> None:
    """As anyio does with each task of a cancelled scope, at each await, until it has ended."""
    desk = Desk()
    async with engine(desk.tools, settings=ONE_WORKER, store=tmp_path / "runs.sqlite") as made:
        task = await STATES[state](made, desk)
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
        assert task.cancelled()
        await is_quiet(made, desk)


async def test_a_caller_goes_on_after_somebody_has_aborted_its_run() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:

        async def caller() -> Any:
            async with asyncio.timeout(30):
                result = await made.exec(HOLDING, session="s")
            failure_of(result, "aborted")
            current = asyncio.current_task()
            assert current is not None
            assert not current.cancelling()
            return value_of(await made.exec("return await tools.echo({ value: 2 })", session="s"))

        task = asyncio.create_task(caller())
        await desk.asked("a")
        aborts = [made.abort_session("s"), made.abort_session("s")]
        assert await asyncio.gather(*aborts) == [1, 1]
        assert await task == 2


async def test_a_caller_cancelled_while_its_run_is_aborted_is_cancelled() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        task = await waiting_for_tools(made, desk)
        aborting = asyncio.create_task(made.abort_session("s"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await aborting == 1
        await is_quiet(made, desk)


@pytest.mark.guarantee("ends-leave-nothing")
@IN_EACH_STATE
async def test_closing_the_engine_ends_the_run_wherever_it_is(state: str) -> None:
    desk = Desk()
    async with engine(desk.tools, settings=ONE_WORKER) as made:
        task = await STATES[state](made, desk)
        await made.close()
        failure_of(await task, "aborted")
        assert desk.joined == desk.cancelled == desk.started


async def test_an_aborted_exec_keeps_its_output_and_its_ledger() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        task = await waiting_for_tools(made, desk)
        assert await made.abort_session("s") == 1
        result = failure_of(await task, "aborted")
        assert texts(result) == ["said"]
        assert statuses(result) == [("hold", "aborted")]


@pytest.mark.parametrize("state", ["waiting in wait", "resumed"])
async def test_a_run_aborted_in_its_second_leg_is_aborted_for_the_next_wait_too(state: str) -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        task = await STATES[state](made, desk)
        (found,) = await made.runs("s")
        assert await made.abort(found["runId"], session="s")
        failure_of(await task, "aborted")
        failure_of(await made.wait(found["runId"], session="s"), "aborted")


async def test_aborting_a_suspended_run_cancels_and_joins_its_calls() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        result = waiting(await made.exec("tools.hold({ name: 'a' }); await yield_control()", session="s"))
        await desk.asked("a")
        assert await made.abort(result.run_id, session="s")
        assert desk.joined == ["a"]
        await is_quiet(made, desk)


@pytest.mark.guarantee("aborted-runs-fail")
@pytest.mark.parametrize("store", [None, "runs.sqlite"])
async def test_a_suspended_run_whose_session_was_aborted_is_aborted_for_the_next_wait(
    store: str | None, tmp_path: Path
) -> None:
    desk = Desk()
    async with engine(desk.tools, store=tmp_path / store if store else None) as made:
        result = waiting(await made.exec("tools.hold({ name: 'a' }); await yield_control()", session="s"))
        await desk.asked("a")
        assert await made.abort_session("s") == 1
        failure_of(await made.wait(result.run_id, session="s"), "aborted")
        failure_of(await made.wait(result.run_id, session="t"), "invalid_input")
        await is_quiet(made, desk)


async def test_aborting_one_session_leaves_the_others_alone() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        mine = asyncio.create_task(made.exec("return await tools.hold({ name: 'mine' })", session="s"))
        kept = asyncio.create_task(made.exec("return await tools.hold({ name: 'kept' })", session="t"))
        other_agent = waiting(await made.exec("await yield_control(); return 1", session="s", agent="b"))
        await desk.asked("mine", "kept")
        assert await made.abort_session("s") == 1
        failure_of(await mine, "aborted")
        desk.answer("kept", 2)
        assert value_of(await kept) == 2
        assert value_of(await made.wait(other_agent.run_id, session="s", agent="b")) == 1


async def test_a_sync_tool_hears_of_the_abort_and_its_thread_ends() -> None:
    from codemode import CallContext, tool

    heard: list[str] = []
    began: list[str] = []

    @tool
    def block(context: CallContext) -> None:
        """Blocks its thread until it is aborted."""
        began.append("block")
        assert context.abort.wait(20)
        heard.append("abort")

    async with engine([block]) as made:
        task = asyncio.create_task(made.exec("await tools.block()", session="s"))
        await until(lambda: began == ["block"])
        assert await made.abort_session("s") == 1
        failure_of(await task, "aborted")
        assert heard == ["abort"]


async def test_closing_drops_suspended_runs_and_joins_their_calls() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        waiting(await made.exec("tools.hold({ name: 'a' }); await yield_control()"))
        await desk.asked("a")
    assert desk.joined == ["a"]


async def test_a_closed_engine_answers_with_results() -> None:
    async with engine() as made:
        result = waiting(await made.exec("await yield_control()"))
    failure_of(await made.exec("return 1"), "aborted")
    failure_of(await made.wait(result.run_id), "aborted")
    assert not await made.abort(result.run_id)
    assert await made.abort_session("default") == 0
    assert made.health()["status"] == "unavailable"
    await made.close()


async def test_an_engine_that_was_never_started_answers_with_results() -> None:
    made = Engine(config=True)
    failure_of(await made.exec("return 1"), "aborted")
    failure_of(await made.wait("run_x"), "aborted")
    await made.close()


async def test_a_hundred_runs_aborted_at_once_leave_nothing() -> None:
    desk = Desk()
    async with engine(desk.tools, settings={"maxWorkers": 4}) as made:
        programs = [COMPUTING, HOLDING, "await yield_control()", "return 1"]
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(made.exec(programs[number % 4], session="s")) for number in range(100)
        ]
        await until(lambda: busy(made) == 4 and desk.started)
        await made.abort_session("s")
        codes = {getattr(result, "code", result.status) for result in await asyncio.gather(*tasks)}
        assert codes <= {"aborted", "completed", "waiting"}
        await made.abort_session("s")
        await is_quiet(made, desk)
