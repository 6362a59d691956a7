"""Abort at any moment: while the guest computes, while a leg is queued, while everything is shut down."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from codemode_runtime.shapes import Limits

from codemode.workers.busy_wait import BusyWait
from codemode.workers.errors import Aborted
from tests.harness.loops import run, until
from tests.harness.workers import BUDGET_MS, Offering, answers, start, supervisor, value_of

pytestmark = pytest.mark.usefixtures("leaves_nothing")


async def test_cancelling_the_task_kills_a_computing_worker_and_frees_its_slot() -> None:
    async with supervisor(max_workers=1) as found:

        async def leg() -> None:
            with await found.lease() as worker:
                await start(worker, "for (;;);")

        task = asyncio.create_task(leg())
        await until(lambda: found.stats().busy == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert found.stats().busy == 0
        assert await value_of(found, "return 1") == 1
        assert found.stats().killed == 1


@pytest.mark.parametrize("spins", [True, False])
def test_cancelling_a_leg_leaves_no_error_that_nobody_has_heard(
    spins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the answer is looked for at each turn of the loop, and nobody awaits it itself."""
    monkeypatch.setattr(BusyWait, "should_spin", spins)

    async def scenario() -> None:
        async with supervisor() as found:
            with await found.lease() as worker:
                task = asyncio.create_task(start(worker, "for (;;);"))
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

    assert complaints(scenario) == []


def test_a_lease_that_ends_before_its_outcome_is_asked_for_leaves_no_error_that_nobody_has_heard() -> None:
    async def scenario() -> None:
        async with supervisor() as found:
            with await found.lease() as worker:
                worker.send_resume(b"", (), Limits(), BUDGET_MS, Offering())

    assert complaints(scenario) == []


def complaints(scenario: Callable[[], Coroutine[Any, Any, None]]) -> list[str]:
    """What asyncio has to say about all that is collected after it."""
    heard: list[str] = []

    async def listening() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, complaint: heard.append(complaint["message"]))
        await scenario()

    run(listening)
    gc.collect()
    return heard


async def test_an_idle_leg_can_be_killed_and_says_so_when_it_is_used_again() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            outcome = await start(worker, "await tools.call('x')")
            worker.kill()
            with pytest.raises(Aborted) as aborted:
                await worker.deliver(answers(outcome))
            assert aborted.value.code == "aborted"


async def test_a_lease_that_is_cancelled_while_it_waits_leaves_the_queue() -> None:
    async with supervisor(max_workers=1) as found:
        with await found.lease():
            waiting = asyncio.create_task(found.lease(session="s"))
            await until(lambda: found.stats().queued == 1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert found.stats().queued == 0
        assert await value_of(found, "return 1") == 1


async def test_a_lease_cancelled_in_the_moment_it_is_granted_does_not_lose_the_slot() -> None:
    async with supervisor(max_workers=1) as found:
        worker = await found.lease()
        waiting = asyncio.create_task(found.lease())
        await until(lambda: found.stats().queued == 1)
        worker.release()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await value_of(found, "return 1") == 1


async def test_closing_aborts_what_runs_and_what_waits() -> None:
    async with supervisor(max_workers=1) as found:
        running = await found.lease()
        computing = asyncio.create_task(start(running, "for (;;);"))
        waiting = asyncio.create_task(found.lease())
        await until(lambda: found.stats().queued == 1)
        await found.close()
        for task in (computing, waiting):
            with pytest.raises(Aborted):
                await task
        with pytest.raises(Aborted):
            await found.lease()


async def test_closing_while_it_starts_leaves_nothing() -> None:
    async def begin() -> None:
        async with supervisor():
            pass

    starting = asyncio.create_task(begin())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
