"""Who gets a worker next, who is refused, and how many workers there are."""

from __future__ import annotations

import asyncio

import pytest

from codemode.gate.fair_queue import FairQueue
from codemode.workers.errors import QueueFull
from tests.harness.loops import until
from tests.harness.workers import supervisor, value_of

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def test_sessions_take_turns() -> None:
    queue: FairQueue[str] = FairQueue()
    for item in ("a1", "a2", "a3", "b1", "c1", "b2"):
        queue.push(item[0], item)
    assert [queue.pop() for _ in range(len(queue))] == ["a1", "b1", "c1", "a2", "b2", "a3"]
    with pytest.raises(IndexError):
        queue.pop()


def test_one_that_gives_up_does_not_cost_its_session_a_turn() -> None:
    queue: FairQueue[str] = FairQueue()
    for item in ("a1", "a2", "b1"):
        queue.push(item[0], item)
    queue.discard("a", "a1")
    queue.discard("b", "b1")
    queue.discard("b", "never there")
    assert [queue.pop() for _ in range(len(queue))] == ["a2"]


async def test_a_session_with_many_legs_does_not_starve_another() -> None:
    order: list[str] = []
    async with supervisor(max_workers=1) as found:

        async def leg(session: str) -> None:
            with await found.lease(session=session):
                order.append(session)

        with await found.lease():
            greedy = [asyncio.create_task(leg("greedy")) for _ in range(5)]
            await until(lambda: found.stats().queued == 5)
            modest = asyncio.create_task(leg("modest"))
            await until(lambda: found.stats().queued == 6)
        await asyncio.gather(*greedy, modest)
    assert order == ["greedy", "modest", "greedy", "greedy", "greedy", "greedy"]


async def test_a_full_queue_refuses_at_once_and_clearly() -> None:
    async with supervisor(max_workers=1, queue_limit=2) as found:
        with await found.lease():
            waiting = [asyncio.create_task(found.lease()) for _ in range(2)]
            await until(lambda: found.stats().queued == 2)
            with pytest.raises(QueueFull, match="2 runs are already waiting") as full:
                await found.lease()
            assert full.value.code == "runtime_unavailable"
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)


async def test_two_hundred_runs_at_once_finish_or_are_refused() -> None:
    async with supervisor(max_workers=4, queue_limit=150) as found:

        async def leg(number: int) -> int | None:
            try:
                return await value_of(found, f"return {number}")
            except QueueFull:
                return None

        results = await asyncio.gather(*(leg(number) for number in range(200)))
        assert results == [*range(154), *[None] * 46]
        assert found.stats().crashed == 0


async def test_warm_workers_are_replaced_after_a_lease() -> None:
    async with supervisor(warm_workers=2) as found:
        await until(lambda: found.stats().warm == 2)
        with await found.lease():
            assert found.stats().warm == 1
            await until(lambda: found.stats().warm == 2)


async def test_an_idle_pool_shrinks_and_grows_again_with_use() -> None:
    async with supervisor(warm_workers=3, idle_warm=1, idle_seconds=1.0) as found:
        assert await value_of(found, "return 1") == 1
        await until(lambda: found.stats().warm == 1 and found.stats().starting == 0)
        assert await value_of(found, "return 2") == 2
        await until(lambda: found.stats().warm >= 2)


async def test_the_state_can_be_read_at_a_glance() -> None:
    async with supervisor(warm_workers=1) as found:
        with await found.lease():
            await until(lambda: found.stats().warm == 1)
            assert repr(found) == "<Supervisor 1 busy, 1 warm, 0 starting, 0 queued, 1 zygotes>"
