"""A program that only waits lets go of its worker when others queue for one, and nothing else shows of it."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from codemode_runtime.language import Language

from codemode import BeforeToolCall, Engine, RequireApproval
from codemode.contract.results import CodeModeResult, Waiting
from tests.harness.engine import Desk, engine, failure_of, texts, value_of, waiting
from tests.harness.loops import until

pytestmark = pytest.mark.usefixtures("leaves_nothing")
ONE_WORKER = {"maxWorkers": 1}


async def parked(
    made: Engine, desk: Desk, code: str, name: str = "a", language: Language = "javascript"
) -> asyncio.Task[CodeModeResult]:
    """A program that waits for this call, and has let go of the only worker for another one."""
    running = asyncio.create_task(made.exec(code, language=language, session="parked"))
    await desk.asked(name)
    assert value_of(await made.exec("return 'meanwhile'", session="other")) == "meanwhile"
    assert not running.done()
    return running


@pytest.mark.guarantee("a-waiting-program-holds-no-worker")
async def test_a_program_that_waits_lets_another_one_run_and_then_goes_on_as_if_nothing_had_been() -> None:
    code = "const kept = new Map([[1, 'x']]); text('before'); const n = await tools.hold({ name: 'a' }); text('after'); return [n, kept]"
    desk = Desk()
    async with engine(desk.tools, {}, ONE_WORKER) as made:
        running = await parked(made, desk, code)
        desk.answer("a", 7)
        result = await running
        assert value_of(result) == [7, [[1, "x"]]]
        assert texts(result) == ["before", "after"]
        told = result.telemetry
        assert told.parked == 1
        assert told.snapshot is None
        assert told.snapshot_events == ()
        assert (told.counts, [call.status for call in told.calls]) == ({"exec": 1, "call": 1}, ["ok"])
        assert result.to_dict()["telemetry"]["parked"] == 1
        assert made.stats()["totals"]["counts"]["parked"] == 1


async def test_a_program_that_nobody_queues_behind_keeps_its_worker() -> None:
    desk = Desk()
    async with engine(desk.tools, {}, {"maxWorkers": 2}) as made:
        running = await parked(made, desk, "return tools.hold({ name: 'a' })")
        desk.answer("a", 1)
        result = await running
        assert value_of(result) == 1
        assert result.telemetry.parked == 0
        assert "parked" not in result.to_dict()["telemetry"]


async def test_typescript_goes_on_after_it_was_parked() -> None:
    desk = Desk()
    async with engine(desk.tools, {}, ONE_WORKER) as made:
        code = "enum E { A = 4 } const n: number = await tools.hold({ name: 'a' }); return E.A + n"
        running = await parked(made, desk, code, language="typescript")
        desk.answer("a", 1)
        assert value_of(await running) == 5


async def test_many_programs_that_wait_for_each_others_answers_all_end_with_one_worker() -> None:
    desk = Desk()
    names = [f"n{number}" for number in range(12)]
    async with engine(desk.tools, {}, ONE_WORKER) as made:
        running = [
            asyncio.create_task(
                made.exec(f"return [await tools.hold({{ name: '{name}' }}), '{name}']", session=name)
            )
            for name in names
        ]
        for name in names:
            await desk.asked(name)
        for name in reversed(names):
            desk.answer(name, name.upper())
        assert [value_of(await each) for each in running] == [[name.upper(), name] for name in names]


async def test_a_parked_program_whose_budget_ends_is_suspended_from_the_hosts_memory(tmp_path: Path) -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 1000}, ONE_WORKER, store=tmp_path / "runs.sqlite") as made:
        running = await parked(made, desk, "return tools.hold({ name: 'a' })")
        left = waiting(await running)
        assert left.reason == "pending_tools"
        assert left.telemetry.snapshot is not None
        desk.answer("a", 3)
        result = await made.wait(left.run_id, session="parked")
        assert value_of(result) == 3
        assert result.telemetry.parked == 1


async def test_a_parked_program_that_needs_an_approval_is_suspended_for_it() -> None:
    desk = Desk()

    asked, may_ask = asyncio.Event(), asyncio.Event()

    class Careful:
        async def before_tool_call(self, call: BeforeToolCall) -> RequireApproval | None:
            if call.tool != "echo":
                return None
            asked.set()
            await may_ask.wait()
            return RequireApproval("may it?")

    async with engine(desk.tools, {}, ONE_WORKER, hooks=Careful()) as made:
        code = "const held = tools.hold({ name: 'a' }); return [await tools.echo({ value: 9 }), await held]"
        running = await parked(made, desk, code)
        assert asked.is_set()
        may_ask.set()
        left = waiting(await running)
        assert left.reason == "approval"
        approval = next(call.approval for call in left.pending_tool_calls if call.approval)
        assert await made.approve(left.run_id, approval.id, session="parked")
        desk.answer("a", 1)
        result = await made.wait(left.run_id, session="parked")
        while isinstance(result, Waiting):
            result = await made.wait(left.run_id, session="parked")
        assert value_of(result) == [9, 1]


async def test_the_output_cap_counts_on_over_parking() -> None:
    code = "text('x'.repeat(600)); await tools.hold({ name: 'a' }); text('y'.repeat(600)); return 1"
    seen: list[object] = []
    for workers in (1, 2):
        desk = Desk()
        async with engine(desk.tools, {"maxOutputBytes": 1536}, {"maxWorkers": workers}) as made:
            running = await parked(made, desk, code)
            desk.answer("a", 1)
            result = await running
            assert result.telemetry.parked == 2 - workers
            seen.append({**result.to_dict(), "telemetry": None})
    assert seen[0] == seen[1]


async def test_a_guest_too_large_for_a_snapshot_keeps_its_worker() -> None:
    desk = Desk()
    async with engine(desk.tools, {"maxSnapshotBytes": 1024}, ONE_WORKER) as made:
        code = "const big = Array.from({ length: 9999 }, (_, n) => 'k' + n * 7919); await tools.hold({ name: 'a' }); return big.length"
        running = asyncio.create_task(made.exec(code, session="parked"))
        await desk.asked("a")
        other = asyncio.create_task(made.exec("return 1", session="other"))
        await until(lambda: made.stats().workers.queued == 1)
        desk.answer("a", 1)
        assert value_of(await running) == 9999
        assert value_of(await other) == 1


async def test_an_abort_ends_a_parked_program_and_stops_its_call() -> None:
    desk = Desk()
    async with engine(desk.tools, {}, ONE_WORKER) as made:
        running = await parked(made, desk, "return tools.hold({ name: 'a' })")
        assert await made.abort_session("parked") == 1
        failed = failure_of(await running, "aborted")
        assert [call.status for call in failed.telemetry.calls] == ["aborted"]
        assert value_of(await made.exec("return 1")) == 1


async def test_a_cancelled_exec_leaves_nothing_of_its_parked_program() -> None:
    desk = Desk()
    async with engine(desk.tools, {}, ONE_WORKER) as made:
        running = await parked(made, desk, "return tools.hold({ name: 'a' })")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert value_of(await made.exec("return 1")) == 1
        assert made.stats().workers.queued == 0


async def test_the_queue_is_never_too_long_for_a_program_that_goes_on() -> None:
    desk = Desk()
    async with engine(desk.tools, {}, {"maxWorkers": 1, "queueLimit": 1}) as made:
        running = await parked(made, desk, "return tools.hold({ name: 'a' })")
        computing = asyncio.create_task(
            made.exec("for (const end = Date.now() + 400; Date.now() < end;); return 2", session="b")
        )
        await until(lambda: made.stats().workers.busy == 1)
        queued = asyncio.create_task(made.exec("return 3", session="c"))
        await until(lambda: made.stats().workers.queued == 1)
        desk.answer("a", 1)
        assert [value_of(await each) for each in (running, computing, queued)] == [1, 2, 3]
