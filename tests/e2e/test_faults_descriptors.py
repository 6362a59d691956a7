"""No descriptors left while the engine is busy: what needs one fails with a result, the rest goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from codemode import Completed
from tests.harness.engine import echo, engine, failure_of, value_of, waiting
from tests.harness.faults import Gate, no_descriptors, workers_of
from tests.harness.loops import until

pytestmark = pytest.mark.usefixtures("leaves_nothing")


async def test_runs_that_get_no_worker_for_want_of_descriptors_say_so_and_later_ones_work() -> None:
    gate = Gate()
    async with engine([gate.tool, echo], settings={"warmWorkers": 2}) as made:
        held = asyncio.create_task(made.exec("return await tools.gate({ value: 1 })"))
        await until(lambda: gate.entered)
        await until(lambda: made.stats()["workers"]["warm"] == 2)
        with no_descriptors():
            results = await asyncio.gather(*(made.exec(f"return {n}") for n in range(6)))
            gate.open()
            assert value_of(await held) == 1  # what has its worker needs no more
        done = [result for result in results if isinstance(result, Completed)]
        assert len(done) == 2  # those that were warm
        for result in results:
            if result not in done:
                assert "Too many open files" in failure_of(result, "runtime_unavailable").error
        later = await asyncio.gather(*(made.exec(f"return {n}") for n in range(6)))
        assert [value_of(result) for result in later] == list(range(6))
        # no worker was made for somebody who had given up, and stays for ever
        await until(lambda: made.stats()["workers"]["starting"] == 0)
        await until(lambda: len(workers_of(made)) == made.stats()["workers"]["warm"])
        assert made.stats()["workers"]["busy"] == 0


async def test_a_suspended_run_that_gets_no_worker_stays_suspended(tmp_path: Path) -> None:
    async with engine([echo], store=tmp_path / "runs.sqlite", settings={"warmWorkers": 0}) as made:
        first = waiting(await made.exec("await yield_control(); return 5"))
        # until the stock is used up and what was being made is gone
        await until(lambda: made.stats()["workers"]["warm"] == made.stats()["workers"]["starting"] == 0)
        with no_descriptors():
            failure_of(await made.wait(first.run_id), "runtime_unavailable")
        assert value_of(await made.wait(first.run_id)) == 5


async def test_an_engine_that_cannot_start_its_workers_says_so_and_leaves_nothing() -> None:
    async with engine([echo]):  # everything that is loaded once is loaded
        pass
    with no_descriptors():
        async with engine([echo]) as made:
            failure_of(await made.exec("return 1"), "runtime_unavailable")
