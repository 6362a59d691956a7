"""Work that its caller's task does, and that goes on in a task of its own when the caller is cancelled."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from codemode.runs.movable import Movable

Future = asyncio.Future[Any]
who: contextvars.ContextVar[str] = contextvars.ContextVar("who")


def future() -> Future:
    return asyncio.get_running_loop().create_future()


def movable(work: Coroutine[Any, Any, Any]) -> Movable[Any]:
    return Movable(work, "moved")


async def led(work: Movable[Any]) -> Any:
    return await work


async def turn(times: int = 1) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


async def waiting_caller(work: Movable[Any]) -> asyncio.Task[Any]:
    """A task that awaits the work, and has come to the work's first await."""
    caller = asyncio.create_task(led(work), name="caller")
    await turn()
    return caller


async def cancelled(caller: asyncio.Task[Any]) -> None:
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller


def moved(work: Movable[Any]) -> asyncio.Task[Any]:
    assert work.task is not None
    return work.task


async def test_work_runs_in_the_task_of_its_caller_and_gives_its_result() -> None:
    async def run() -> list[str]:
        names = [current_name()]
        await asyncio.sleep(0)
        names.append(current_name())
        await asyncio.sleep(0.001)
        return [*names, current_name()]

    work = movable(run())
    assert await asyncio.create_task(led(work), name="caller") == ["caller"] * 3
    assert work.task is None


async def test_work_that_never_waits_lets_no_turn_pass() -> None:
    async def run() -> int:
        return 7

    passed: list[int] = []
    asyncio.get_running_loop().call_soon(passed.append, 1)
    assert (await movable(run()), passed) == (7, [])


async def test_awaiting_work_takes_no_turn_more_than_awaiting_the_coroutine() -> None:
    async def turns_of(lead: Callable[[Coroutine[Any, Any, int]], Any]) -> int:
        awaited, turns = future(), 0

        async def run() -> int:
            await asyncio.sleep(0)
            return await awaited

        async def caller() -> int:
            return await lead(run())

        task = asyncio.create_task(caller())
        await turn(3)
        awaited.set_result(1)
        while not task.done():
            turns += 1
            await turn()
        return turns

    assert await turns_of(movable) == await turns_of(lambda work: work)


async def test_an_exception_of_the_work_reaches_its_caller_and_makes_no_task() -> None:
    async def run() -> None:
        await asyncio.sleep(0)
        raise KeyError("mine")

    work = movable(run())
    with pytest.raises(KeyError, match="mine"):
        await work
    assert work.task is None


@pytest.mark.parametrize("end", ["fails", "is cancelled"])
async def test_work_hears_from_its_own_future_how_that_ended(end: str) -> None:
    awaited = future()

    async def run() -> str:
        try:
            await awaited
        except (ValueError, asyncio.CancelledError) as error:
            await asyncio.sleep(0)
            return type(error).__name__
        return ""

    work = movable(run())
    caller = await waiting_caller(work)
    if end == "fails":
        awaited.set_exception(ValueError("no"))
    else:
        awaited.cancel()
    assert await caller == ("ValueError" if end == "fails" else "CancelledError")
    assert (work.task, caller.cancelling()) == (None, 0)


async def test_a_cancelled_caller_leaves_the_work_at_its_await_and_a_task_goes_on_with_it() -> None:
    awaited = future()
    heard: list[str] = []

    async def run() -> tuple[int, str]:
        try:
            return await awaited, current_name()
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise

    work = movable(run())
    caller = await waiting_caller(work)
    await cancelled(caller)
    assert not awaited.done()
    awaited.set_result(5)
    assert await moved(work) == (5, "moved")
    assert heard == []


@pytest.mark.parametrize("first", ["the answer", "the cancellation"])
async def test_an_answer_in_the_turn_of_the_cancellation_is_not_lost(first: str) -> None:
    awaited = future()

    async def run() -> int:
        return await awaited

    work = movable(run())
    caller = await waiting_caller(work)
    if first == "the answer":
        awaited.set_result(5)
    caller.cancel()
    if first == "the cancellation":
        awaited.set_result(5)
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert await moved(work) == 5


async def test_a_future_that_is_cancelled_in_the_turn_of_its_caller_cancels_the_work_alone() -> None:
    awaited = future()

    async def run() -> str:
        try:
            await awaited
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            return "heard"
        return ""

    work = movable(run())
    caller = await waiting_caller(work)
    awaited.cancel()
    await cancelled(caller)
    assert await moved(work) == "heard"


async def test_a_caller_may_be_cancelled_again_before_it_wakes() -> None:
    awaited = future()

    async def run() -> int:
        return await awaited

    work = movable(run())
    caller = await waiting_caller(work)
    caller.cancel()
    await cancelled(caller)
    awaited.set_result(5)
    assert await moved(work) == 5


async def test_a_caller_that_is_cancelled_between_two_turns_loses_no_step_of_the_work() -> None:
    steps: list[int] = []

    async def run() -> list[int]:
        for number in range(6):
            steps.append(number)
            await asyncio.sleep(0)
        return steps

    for after in range(6):
        steps.clear()
        work = movable(run())
        caller = asyncio.create_task(led(work))
        await turn(after + 1)
        await cancelled(caller)
        assert await moved(work) == [0, 1, 2, 3, 4, 5]


async def test_a_timeout_around_the_work_ends_the_caller_alone_and_leaves_it_uncancelled() -> None:
    awaited = future()

    async def run() -> int:
        return await awaited

    work = movable(run())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await work
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0
    awaited.set_result(5)
    assert await moved(work) == 5


async def test_wait_for_leaves_the_work_going_on() -> None:
    awaited = future()

    async def run() -> int:
        return await awaited

    work = movable(run())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(led(work), 0.001)
    awaited.set_result(5)
    assert await moved(work) == 5


async def test_cancelling_the_work_cancels_what_it_awaits_and_never_its_caller() -> None:
    awaited = future()
    counts: list[int] = []

    async def run() -> str:
        try:
            await awaited
        except asyncio.CancelledError:
            counts.append(work.cancelling())
            work.uncancel()
            await asyncio.sleep(0)
            return "stopped"
        return ""

    work = movable(run())
    caller = await waiting_caller(work)
    work.cancel()
    assert await caller == "stopped"
    assert (awaited.cancelled(), counts, work.cancelling(), caller.cancelling()) == (True, [1], 0, 0)


async def test_work_that_only_lets_the_loop_turn_can_be_cancelled() -> None:
    async def run() -> str:
        try:
            await turn(1_000)
        except asyncio.CancelledError:
            return "stopped"
        return ""

    work = movable(run())
    caller = await waiting_caller(work)
    work.cancel()
    assert await caller == "stopped"


async def test_work_that_cancels_itself_hears_it_at_its_next_await() -> None:
    awaited = future()

    async def run() -> str:
        await asyncio.sleep(0)
        work.cancel()
        try:
            await awaited
        except asyncio.CancelledError:
            return "stopped"
        return ""

    work = movable(run())
    assert await work == "stopped"
    assert awaited.cancelled()


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("turns", [0, 1, 2])
async def test_moved_work_can_be_cancelled_before_and_after_the_first_step_of_its_task(
    waits: bool, turns: int
) -> None:
    awaited = future()

    async def run() -> str:
        try:
            while True:
                await (awaited if waits else asyncio.sleep(0))
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            return "stopped"

    work = movable(run())
    caller = await waiting_caller(work)
    caller.add_done_callback(lambda _: None if turns else work.cancel())  # before the task's first step
    await cancelled(caller)
    if turns:
        await turn(turns)
        work.cancel()
    assert await moved(work) == "stopped"
    assert work.cancelling() == 1
    work.uncancel()
    assert work.cancelling() == 0


async def test_a_task_that_goes_on_with_the_work_can_be_cancelled_as_any_task() -> None:
    awaited = future()

    async def run() -> str:
        try:
            await awaited
        except asyncio.CancelledError:
            return "the loop ends"
        return ""

    work = movable(run())
    await cancelled(await waiting_caller(work))
    await turn()
    moved(work).cancel()
    assert await moved(work) == "the loop ends"


async def test_work_has_the_context_variables_of_its_caller_before_and_after_it_moved() -> None:
    awaited = future()

    async def run() -> list[str]:
        before = who.get()
        await awaited
        return [before, who.get()]

    work = movable(run())

    async def caller() -> None:
        who.set("caller")
        await work

    task = asyncio.create_task(caller())
    await turn()
    await cancelled(task)
    awaited.set_result(None)
    assert await moved(work) == ["caller", "caller"]
    assert who.get("nobody") == "nobody"


async def test_a_coroutine_that_is_closed_closes_the_work() -> None:
    heard: list[str] = []

    async def run() -> None:
        try:
            await future()
        finally:
            heard.append("closed")

    coroutine = led(movable(run()))
    coroutine.send(None)
    coroutine.close()
    assert heard == ["closed"]


def current_name() -> str:
    task = asyncio.current_task()
    assert task is not None
    return task.get_name()
