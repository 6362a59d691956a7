"""One session cannot use up what others need: workers, places in the queue, suspended runs."""

from __future__ import annotations

import asyncio

import pytest

from codemode.workers.errors import QueueFull
from tests.harness.engine import Desk, engine, failure_of, value_of, waiting
from tests.harness.workers import supervisor

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@pytest.mark.guarantee("sessions-leave-room")
async def test_a_session_with_its_share_of_workers_waits_while_another_gets_one() -> None:
    async with supervisor(max_workers=8, queue_limit=8) as found:
        greedy = [await found.lease(session="greedy") for _ in range(6)]
        more = [asyncio.create_task(found.lease(session="greedy")) for _ in range(6)]
        await asyncio.sleep(0)
        assert (found.stats().busy, found.stats().queued) == (6, 6)
        with pytest.raises(QueueFull, match="6 runs of this session are already waiting"):
            await found.lease(session="greedy")
        others = [await found.lease(session="other"), await found.lease(session="third")]
        greedy.pop().release()
        greedy.append(await more.pop(0))  # its own place, and nobody else's
        for worker in others:
            worker.release()
        await asyncio.sleep(0)
        assert found.stats().queued == 5
        for task in more:
            task.cancel()
        await asyncio.gather(*more, return_exceptions=True)
        for worker in greedy:
            worker.release()
        assert (found._busy, found._slots) == (0, {})  # pyright: ignore[reportPrivateUsage]


async def test_callers_who_name_no_session_have_all_workers() -> None:
    async with supervisor(max_workers=8) as found:
        for worker in [await found.lease(session="default") for _ in range(8)]:
            worker.release()


@pytest.mark.guarantee("sessions-leave-room")
async def test_a_session_with_its_share_of_suspended_runs_is_refused_and_another_is_not() -> None:
    desk = Desk()
    program = "await yield_control(); return 1"
    async with engine(desk.tools, settings={"maxSuspendedRuns": 8}) as made:
        held = [waiting(await made.exec(program, session="greedy"), "yield") for _ in range(6)]
        refused = failure_of(await made.exec(program, session="greedy"), "snapshot_limit_exceeded")
        assert "allows 6 (snapshots)" in refused.error
        assert value_of(await made.wait(held[0].run_id, session="greedy")) == 1
        waiting(await made.exec(program, session="greedy"), "yield")
        waiting(await made.exec(program, session="other"), "yield")
