"""A guest that computes past its budget, a worker that does not obey, and a loop that notices neither."""

from __future__ import annotations

import asyncio

import pytest
from codemode_runtime import wire
from codemode_runtime.shapes import Settlement

from tests.harness.workers import ROGUE, answers, start, supervisor, value_of

pytestmark = pytest.mark.usefixtures("leaves_nothing")


async def test_an_infinite_loop_is_interrupted_and_its_output_is_kept() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            outcome = await start(worker, "text('kept'); for (;;);", budget_ms=100)
        assert isinstance(outcome, wire.Interrupted)
        assert outcome.messages == (wire.Text("kept"),)
        assert found.stats().killed == 0


async def test_a_loop_that_catches_everything_is_interrupted_all_the_same() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            program = "for (;;) { try { for (;;); } catch {} finally { continue } }"
            assert isinstance(await start(worker, program, budget_ms=100), wire.Interrupted)


async def test_a_native_loop_that_never_polls_is_answered_for_by_the_watchdog() -> None:
    async with supervisor(grace_ms=60_000) as found:
        with await found.lease() as worker:
            program = "const n = (1n << 1000000n) - 1n; text('kept'); n.toString(7)"  # takes a second
            outcome = await start(worker, program, budget_ms=100)
        assert isinstance(outcome, wire.Interrupted)
        assert outcome.messages == (wire.Text("kept"),)
        assert found.stats().killed == 0


async def test_the_budget_counts_for_the_whole_leg_and_not_for_each_delivery() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            outcome = await start(worker, "await tools.call('x'); for (;;);", budget_ms=150)
            outcome = await worker.deliver(answers(outcome))
            assert isinstance(outcome, wire.Interrupted)


async def test_what_is_delivered_after_the_deadline_is_interrupted_at_once() -> None:
    async with supervisor(grace_ms=100) as found:
        with await found.lease() as worker:
            outcome = await start(worker, "await tools.call('x'); for (;;);", budget_ms=1)
            if isinstance(outcome, wire.Idle):  # else starting alone took the millisecond
                outcome = await worker.deliver(answers(outcome))
            assert isinstance(outcome, wire.Interrupted)


async def test_a_worker_that_never_answers_is_killed_by_the_supervisors_own_clock() -> None:
    async with supervisor(entry=ROGUE, grace_ms=50) as found:
        with await found.lease() as worker:
            outcome = await start(worker, "never answers", budget_ms=50)
        assert isinstance(outcome, wire.Interrupted)
        assert outcome.messages == ()
        assert found.stats().killed == 1
        assert await value_of(found, "obeys") is None


async def test_a_busy_guest_does_not_hold_up_other_runs_or_the_loop() -> None:
    async with supervisor() as found:
        with await found.lease(session="busy") as worker:
            busy = asyncio.create_task(start(worker, "for (;;);", budget_ms=3000))
            for expected in range(5):
                assert await value_of(found, f"return {expected}") == expected
            assert not busy.done()
            worker.kill()
            with pytest.raises(Exception, match="aborted"):
                await busy


async def test_a_worker_that_stops_reading_does_not_hold_up_the_loop() -> None:
    async with supervisor(entry=ROGUE, grace_ms=50) as found:
        with await found.lease() as worker:
            outcome = await start(worker, "answers, then stops reading", budget_ms=500)
            assert isinstance(outcome, wire.Idle)
            large = Settlement(1, b'"' + b"x" * (16 << 20) + b'"')
            delivery = asyncio.create_task(worker.deliver([large]))
            assert await value_of(found, "obeys") is None
            assert isinstance(await delivery, wire.Interrupted)
