"""Waiting awake: when an answer is looked for, for how long, and where a worker may run after."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from codemode_runtime import wire
from codemode_runtime.shapes import Settlement

from codemode.workers.busy_wait import BusyWait, Processors
from tests.harness.loops import until
from tests.harness.workers import calls_in, start, supervisor, value_of

pytestmark = [
    pytest.mark.usefixtures("leaves_nothing"),
    pytest.mark.skipif(
        sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2,
        reason="needs two processors to tell apart",
    ),
]


@contextmanager
def sleeper() -> Generator[int]:
    """The id of a process that does nothing."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def gone() -> int:
    with sleeper() as pid:
        return pid


class Asked:
    """A request that is never answered."""

    def __init__(self) -> None:
        self.sent = 0

    def send(self) -> None:
        self.sent += 1

    def begin(self, busy: BusyWait, pid: int | None, *, opens: bool = True) -> bool:
        """Whether an answer is looked for."""
        busy.begin(self.send, pid, opens=opens)
        assert self.sent == 1
        return busy.should_spin


async def known() -> Processors:
    processors = Processors()
    await processors.find()
    assert processors.are_known
    return processors


async def test_a_process_is_woken_on_another_processor_and_gets_its_own_back() -> None:
    processors = await known()
    with sleeper() as pid:
        before, during = os.sched_getaffinity(pid), set[int]()
        assert processors.wake_elsewhere(pid, lambda: during.update(os.sched_getaffinity(pid)))
        assert during < before
        assert len(during) == len(before) - 1
        # once more before the loop has given them back
        assert processors.wake_elsewhere(pid, lambda: None)
        await until(lambda: os.sched_getaffinity(pid) == before)


async def test_a_process_that_may_only_run_here_is_woken_here() -> None:
    processors = await known()
    with sleeper() as pid:
        woken: list[int] = []
        alone = min(os.sched_getaffinity(0))
        os.sched_setaffinity(pid, {alone})
        everywhere = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {alone})
        try:
            assert not processors.wake_elsewhere(pid, lambda: woken.append(pid))
        finally:
            os.sched_setaffinity(0, everywhere)
        assert woken == [pid]
        assert os.sched_getaffinity(pid) == {alone}


async def test_what_was_to_be_sent_to_a_process_that_is_gone_is_sent_all_the_same() -> None:
    processors = await known()
    busy = BusyWait(processors)
    assert not Asked().begin(busy, gone())
    busy.end()
    assert processors.are_known  # it says nothing of other processes


async def test_the_first_answer_of_a_leg_is_looked_for_and_not_for_ever() -> None:
    processors = await known()
    with sleeper() as pid:
        busy = BusyWait(processors)
        assert Asked().begin(busy, pid)
        await until(lambda: not busy.should_spin)
        busy.end()


async def test_an_answer_that_is_there_is_not_looked_for() -> None:
    processors = await known()
    with sleeper() as pid:
        busy = BusyWait(processors)
        assert Asked().begin(busy, pid)
        busy.end()
        assert not busy.should_spin


async def test_while_another_guest_computes_nobody_looks() -> None:
    processors = await known()
    with sleeper() as pid:
        other, busy, woken = BusyWait(processors), BusyWait(processors), Asked()
        assert Asked().begin(other, pid)
        assert not Asked().begin(busy, pid)
        busy.wake(woken.send, pid)
        assert not woken.sent
        other.end()
        busy.end()
        assert Asked().begin(busy, pid)
        busy.end()


async def test_a_worker_whose_last_answer_was_slow_is_not_looked_at() -> None:
    processors = await known()
    with sleeper() as pid:
        busy = BusyWait(processors)
        assert Asked().begin(busy, pid)
        await until(lambda: not busy.should_spin)
        busy.end()
        assert not Asked().begin(busy, pid, opens=False)
        busy.end()


async def test_where_nothing_tells_the_processors_everybody_sleeps() -> None:
    with sleeper() as pid:
        asked = Asked()
        busy = BusyWait(Processors())
        busy.wake(asked.send, pid)
        assert not asked.sent
        assert not asked.begin(busy, pid)
        busy.end()


async def test_a_worker_that_made_many_quick_calls_may_run_everywhere_again() -> None:
    async with supervisor(worker_reuse=2) as found:
        with await found.lease() as worker:
            await until(lambda: worker.pid)
            assert worker.pid is not None
            program = "let n = 0; for (let i = 0; i < 300; i++) n += await tools.call('x'); return n"
            outcome = await start(worker, program)
            while isinstance(outcome, wire.Idle):
                outcome = await worker.deliver([Settlement(call.id, b"2") for call in calls_in(outcome)])
            assert isinstance(outcome, wire.Done)
            assert bytes(outcome.result.value) == b"600"
            await until(lambda: os.sched_getaffinity(worker.pid or 0) == os.sched_getaffinity(0))


@pytest.mark.parametrize("times", [1, 2, 50])
async def test_a_worker_told_to_attend_does_what_it_is_asked_and_what_comes_after(times: int) -> None:
    async with supervisor(worker_reuse=3) as found:
        for _ in range(2):
            with await found.lease() as worker:
                await until(lambda worker=worker: worker.pid)
                for _ in range(times):
                    worker.attend()
                outcome = await start(worker, "return [await tools.call('x')]")
                (call,) = calls_in(outcome)
                outcome = await worker.deliver([Settlement(call.id, b"7")])
                assert isinstance(outcome, wire.Done)
                assert bytes(outcome.result.value) == b"[7]"


async def test_a_worker_told_to_attend_in_vain_is_as_good_as_before() -> None:
    async with supervisor(worker_reuse=3) as found:
        for _ in range(2):
            with await found.lease() as worker:
                worker.attend()
        assert await value_of(found, "return 6 * 7") == 42
        assert found.stats().killed == 0
