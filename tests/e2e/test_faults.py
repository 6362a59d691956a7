"""Workers, zygotes, tools, callers and clocks that fail under load: nothing is lost that was promised."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from codemode import CallContext, Completed, Engine, Failed, Waiting, tool
from codemode.contract.results import CodeModeResult
from tests.harness.engine import echo, engine, failure_of, value_of, waiting
from tests.harness.faults import Clock, Gate, workers_of
from tests.harness.loops import until

pytestmark = [pytest.mark.usefixtures("leaves_nothing"), pytest.mark.timeout(240)]
LOAD = 6
STEPS = "const seen = []; for (let i = 0; i < 4; i++) { seen.push(await tools.once({ step: i })); await yield_control() } return seen"


class Ledger:
    """A tool that must never run twice for the same call, and what it was asked."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    @property
    def tool(self) -> Any:
        @tool
        async def once(step: int, context: CallContext) -> int:
            """Done once."""
            self.keys.append(context.idempotency_key)
            return step

        return once


async def finish_despite_cancel(made: Engine, result: CodeModeResult, session: str) -> CodeModeResult:
    while isinstance(result, Waiting):
        run_id = result.run_id
        result = await made.wait(run_id, session=session)
        while isinstance(result, Failed) and result.code == "runtime_unavailable":  # it is as it was
            result = await made.wait(run_id, session=session)
    return result


async def load(made: Engine, program: str = STEPS) -> list[CodeModeResult]:
    async def one(session: str) -> CodeModeResult:
        return await finish_despite_cancel(made, await made.exec(program, session=session), session)

    return list(await asyncio.gather(*(one(f"s{n}") for n in range(LOAD))))


@pytest.mark.seconds(120)
async def test_workers_killed_under_load_fail_their_own_runs_and_no_others() -> None:
    ledger, dice, kills = Ledger(), random.Random(1), Counter[str]()
    async with engine([ledger.tool], settings={"warmWorkers": 2}) as made:
        loading = asyncio.create_task(load(made))
        while not loading.done() and kills["workers"] < 5:
            if len(ledger.keys) > 3 * kills["workers"] and (pids := workers_of(made)):
                with suppress(ProcessLookupError):
                    os.kill(dice.choice(pids), signal.SIGKILL)
                    kills["workers"] += 1
            await asyncio.sleep(0)
        results = await loading
        for result in results:
            if isinstance(result, Completed):
                assert result.value == [0, 1, 2, 3]
            else:  # a worker that was only warm costs nobody anything
                assert isinstance(result, Failed)
                code = "internal_error" if "SIGKILL" in result.error else "runtime_unavailable"
                failure_of(result, code)
        assert kills["workers"] > 0
        assert sum(isinstance(result, Failed) for result in results) <= kills["workers"]
        assert [key for key, count in Counter(ledger.keys).items() if count > 1] == []
        assert [value_of(result) for result in await load(made)] == [[0, 1, 2, 3]] * LOAD


async def test_a_zygote_killed_under_load_costs_what_computes_and_nothing_that_is_suspended(
    tmp_path: Path,
) -> None:
    gate = Gate()
    async with engine([gate.tool, echo], store=tmp_path / "runs.sqlite") as made:
        suspended = [
            waiting(await made.exec(f"await yield_control(); return {n}")).run_id for n in range(LOAD)
        ]
        computing = [asyncio.create_task(made.exec("return await tools.gate({})")) for _ in range(3)]
        await until(lambda: gate.entered == 3)
        (zygote,) = made.stats()["workers"]["zygotes"]
        os.kill(zygote["pid"], signal.SIGKILL)
        await until(lambda: made.stats()["workers"]["restarts"] == 1)
        gate.open()
        for result in await asyncio.gather(*computing):
            failure_of(result, "internal_error")
        resumed = await asyncio.gather(*(made.wait(run_id) for run_id in suspended))
        assert [value_of(result) for result in resumed] == list(range(LOAD))
        assert await made.runs() == []


@pytest.mark.parametrize("kind", ["exit", "cancel", "memory", "slow", "deaf", "thread"])
async def test_a_tool_that_dies_or_sleeps_fails_its_own_call_and_the_others_go_on(kind: str) -> None:
    left = threading.Event()

    @tool(timeout_ms=200)
    async def dies() -> None:
        """Ends badly."""
        match kind:
            case "exit":
                raise SystemExit(3)
            case "cancel":
                raise asyncio.CancelledError
            case "memory":
                raise MemoryError
            case _:
                with suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
                if kind == "deaf":  # does not want to end, and then says that all is well
                    await asyncio.sleep(0)

    @tool(name="dies", timeout_ms=200)
    def dies_in_a_thread() -> None:
        """Ends badly, elsewhere."""
        left.wait(30)
        raise SystemExit(3)

    chosen = dies_in_a_thread if kind == "thread" else dies
    try:
        async with engine([chosen, echo]) as made:
            program = "const bad = tools.dies({}).catch((e) => e.code); const good = await Promise.all([1, 2].map((value) => tools.echo({ value }))); return [await bad, good]"
            for result in await load(made, program):
                code, good = value_of(result)
                assert good == [1, 2]
                assert code in ("tool_error", "timeout", "aborted")
            assert value_of(await made.exec("return 1")) == 1
    finally:
        left.set()


@pytest.mark.seconds(120)
async def test_callers_cancelled_at_any_moment_leave_no_run_and_disturb_nobody(tmp_path: Path) -> None:
    ledger, dice = Ledger(), random.Random(2)
    async with engine([ledger.tool, echo], store=tmp_path / "runs.sqlite") as made:

        async def caller(session: str) -> CodeModeResult:
            return await finish_despite_cancel(made, await made.exec(STEPS, session=session), session)

        for number in range(8):
            doomed = [asyncio.create_task(caller(f"d{number}-{n}")) for n in range(3)]
            spared = [asyncio.create_task(caller(f"k{number}-{n}")) for n in range(2)]
            enough = len(ledger.keys) + dice.randrange(12)
            await until(lambda enough=enough: len(ledger.keys) >= enough)
            for task in doomed:
                for _ in range(dice.randrange(20)):
                    await asyncio.sleep(0)
                task.cancel()
            for result in await asyncio.gather(*spared):
                assert value_of(result) == [0, 1, 2, 3]
            ends = await asyncio.gather(*doomed, return_exceptions=True)
            assert all(isinstance(end, asyncio.CancelledError | Completed) for end in ends), ends
            # a caller that is cancelled between two legs leaves its run suspended: it is still its own
            for left in await made.runs():
                assert await made.abort(left["runId"], session=left["session"])
        assert made.stats()["runs"] == {}
        assert [key for key, count in Counter(ledger.keys).items() if count > 1] == []


HOUR = 3600.0


@pytest.mark.parametrize(
    "jump", [600, -HOUR, -12 * HOUR], ids=["ten minutes on", "an hour back", "half a day back"]
)
async def test_a_clock_that_jumps_costs_no_run_and_no_time_is_negative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    clock, gate = Clock(monkeypatch), Gate()
    async with engine([gate.tool, echo], config={"timeoutMs": 300}, store=tmp_path / "runs.sqlite") as made:
        program = "const held = tools.gate({ value: 7 }); const slept = new Promise((done) => setTimeout(done, 400, 'slept')); await yield_control(); return [await held, await slept]"
        first = [waiting(await made.exec(program, session="s")) for _ in range(LOAD)]
        clock.ahead = jump
        await made.expire()
        running = [asyncio.create_task(made.exec("return await tools.gate({ value: 8 })")) for _ in range(2)]
        again = await asyncio.gather(*(made.wait(result.run_id, session="s") for result in first))
        for result in again:
            waited = waiting(result)
            assert all(call.elapsed_ms >= 0 for call in waited.pending_tool_calls)
        gate.open()
        ended = await asyncio.gather(*(finish_despite_cancel(made, result, "s") for result in again))
        assert [value_of(result) for result in ended] == [[7, "slept"]] * LOAD
        assert all(call.ms >= 0 for result in ended for call in result.telemetry.calls)
        for task in running:
            assert value_of(await finish_despite_cancel(made, await task, "default")) == 8
        assert await made.runs() == []


async def test_a_clock_beyond_their_time_expires_runs_and_one_set_back_brings_none_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    async with engine([echo], store=tmp_path / "runs.sqlite") as made:
        first = waiting(await made.exec("await yield_control(); return 1"))
        clock.ahead = 2 * HOUR
        failure_of(await made.wait(first.run_id), "snapshot_expired")
        clock.ahead = 0.0
        failure_of(await made.wait(first.run_id), "snapshot_expired")
        second = waiting(await made.exec("await yield_control(); return 2"))
        assert value_of(await made.wait(second.run_id)) == 2
