"""wait: goes on at the very await where the program stopped, with what has settled, in the order it did."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from codemode.contract.results import Waiting
from codemode.workers.worker import Worker
from tests.harness.engine import Desk, engine, failure_of, slept, statuses, texts, value_of, waiting
from tests.harness.loops import until

pytestmark = pytest.mark.usefixtures("leaves_nothing")
REUSE = pytest.mark.parametrize("legs", [1, 1000], ids=["single-use", "reused"])


@REUSE
@pytest.mark.guarantee("wait-restores")
async def test_wait_restores_the_program_and_gives_its_final_value(legs: int) -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 100}, {"workerReuse": legs}) as made:
        result = waiting(
            await made.exec(
                "const kept = { list: [1, new Map([[2, 3]])] }; let n = 0;"
                "for (const name of ['a', 'b']) n += await tools.hold({ name });"
                "return { n, kept }"
            )
        )
        desk.answer("a", 10)
        again = waiting(await made.wait(result.run_id))
        assert again.run_id == result.run_id
        desk.answer("b", 5)
        assert value_of(await made.wait(result.run_id)) == {"n": 15, "kept": {"list": [1, [[2, 3]]]}}


async def test_a_waiting_result_names_what_it_waited_for_also_when_that_settles_while_it_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 100}) as made:
        capture = Worker.capture

        async def while_it_settles(worker: Worker, max_bytes: int) -> Any:
            desk.answer("a", 1)
            for _ in range(50):  # turns of the loop: enough for the call to end
                await asyncio.sleep(0)
            return await capture(worker, max_bytes)

        monkeypatch.setattr(Worker, "capture", while_it_settles)
        result = waiting(await made.exec("return await tools.hold({ name: 'a' })"))
        assert [call.tool for call in result.pending_tool_calls] == ["openclaw:core:hold"]
        assert value_of(await made.wait(result.run_id)) == 1


async def test_output_of_a_wait_holds_only_what_is_new() -> None:
    async with engine() as made:
        result = waiting(
            await made.exec("text('1'); await yield_control(); text('2'); await yield_control(); json(3)")
        )
        assert texts(result) == ["1"]
        result = waiting(await made.wait(result.run_id))
        assert texts(result) == ["2"]
        assert texts(await made.wait(result.run_id)) == [3]


async def test_the_output_cap_is_per_result() -> None:
    async with engine(config={"maxOutputBytes": 1024}) as made:
        result = await made.exec(
            "for (let i = 0; i < 4; i++) { text('x'.repeat(900)); await yield_control() }"
        )
        while isinstance(result, Waiting):
            assert [len(text) for text in texts(result)] == [900]
            result = await made.wait(result.run_id)
        assert value_of(result) is None


async def test_what_settled_while_the_run_was_suspended_is_delivered_in_the_order_it_happened() -> None:
    desk = Desk()
    program = """
    const order = [];
    const calls = ["a", "b", "c", "d"].map((name) => tools.hold({ name }).then(() => order.push(name)));
    await yield_control();
    await Promise.all(calls);
    return order;
    """
    async with engine(desk.tools) as made:
        result = waiting(await made.exec(program), "yield")
        await desk.asked("a", "b", "c", "d")
        for name in ("d", "b", "a", "c"):
            desk.answer(name)
            await until(lambda name=name: desk.held[name].done())
            await asyncio.sleep(0)
        assert value_of(await made.wait(result.run_id)) == ["d", "b", "a", "c"]


async def test_a_failure_while_suspended_is_an_exception_at_the_await() -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 100}) as made:
        result = waiting(
            await made.exec(
                "try { await tools.hold({ name: 'a' }) } catch (e) { return [e.code, e.message] }"
            )
        )
        desk.fail("a", "no luck")
        assert value_of(await made.wait(result.run_id)) == ["tool_error", "no luck"]


async def test_wait_returns_as_soon_as_one_call_has_settled_and_the_program_has_gone_on() -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 100}) as made:
        result = waiting(
            await made.exec("return await Promise.race(['a', 'b'].map((name) => tools.hold({ name })))")
        )
        desk.answer("b")
        result = waiting(await made.wait(result.run_id), "pending_tools")
        assert statuses(result) == [("hold", "pending"), ("hold", "ok")]
        desk.answer("a")
        assert value_of(await made.wait(result.run_id)) == "b"


async def test_a_wait_in_which_nothing_settled_is_waiting_again_with_the_same_id_and_the_whole_ledger() -> (
    None
):
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 100}) as made:
        first = waiting(
            await made.exec(
                "await tools.echo({ value: 1 }); text('said'); return await tools.hold({ name: 'a' })"
            )
        )
        for _ in range(3):
            again = waiting(await made.wait(first.run_id), "pending_tools")
            assert again.run_id == first.run_id
            assert again.output == ()
            assert [(c.id, c.method, c.tool) for c in again.pending_tool_calls] == [
                ("2", "call", "openclaw:core:hold")
            ]
            assert [replace(call, ms=0) for call in again.telemetry.calls] == [
                replace(call, ms=0) for call in first.telemetry.calls
            ]
            assert again.telemetry.calls[0].ms == first.telemetry.calls[0].ms
            assert again.telemetry.calls[1].ms > first.telemetry.calls[1].ms  # still under way
            assert again.telemetry.bytes == first.telemetry.bytes
        desk.answer("a", 7)
        assert value_of(await made.wait(first.run_id)) == 7


async def test_of_two_waits_at_once_the_second_is_refused_and_the_first_goes_on() -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 5000}) as made:
        result = waiting(
            await made.exec("const p = tools.hold({ name: 'a' }); await yield_control(); return await p")
        )
        first = asyncio.create_task(made.wait(result.run_id))
        await asyncio.sleep(0)
        second = failure_of(await made.wait(result.run_id), "invalid_input")
        assert "already" in second.error
        desk.answer("a", "once")
        assert value_of(await first) == "once"


async def test_timers_go_on_while_the_program_is_suspended() -> None:
    """Set anew by the wait, they would outlive its budget."""
    async with engine(config={"timeoutMs": 500}) as made:
        result = waiting(
            await made.exec(
                "const rung = [];"
                "const timers = [900, 700, 800].map((ms) => new Promise((r) => setTimeout(() => r(rung.push(ms)), ms)));"
                "await yield_control(); await Promise.all(timers); return rung"
            ),
            "yield",
        )
        assert [call.method for call in result.pending_tool_calls] == ["timer", "timer", "timer", "yield"]
        await slept(made, 900)
        assert value_of(await made.wait(result.run_id)) == [700, 800, 900]


@pytest.mark.parametrize(("clear", "rung"), [("", ["first", "second"]), ("clearTimeout(second);", ["first"])])
async def test_a_timer_that_was_cleared_after_it_rang_on_the_host_does_not_run(
    clear: str, rung: list[str]
) -> None:
    """Both have rung when the program goes on: that it was not cleared is what the first case shows."""
    async with engine() as made:
        result = waiting(
            await made.exec(
                f"setTimeout(() => {{ {clear} text('first') }}, 100);"
                "const second = setTimeout(() => text('second'), 200);"
                "await yield_control(); return 1"
            )
        )
        await slept(made, 200)
        result = await made.wait(result.run_id)
        assert value_of(result) == 1
        assert texts(result) == rung


@pytest.mark.guarantee("wait-restores")
async def test_a_wait_that_finds_no_worker_leaves_the_run_as_it_was() -> None:
    desk = Desk()
    async with engine(desk.tools, settings={"maxWorkers": 1, "queueLimit": 0}) as made:
        result = waiting(await made.exec("await yield_control(); return 'kept'"))
        busy = asyncio.create_task(made.exec("return await tools.hold({ name: 'a' })"))
        await until(lambda: desk.started == ["a"])
        failure_of(await made.wait(result.run_id), "runtime_unavailable")
        desk.answer("a", 1)
        assert value_of(await busy) == 1
        assert value_of(await made.wait(result.run_id)) == "kept"


# What becomes of the enum is longer than it; positions are those of the text as sent all the same.
LOWERED = """interface Q<in T, out U> {}
namespace N { export let v = 1 } enum E { A = N.v } await yield_control(); throw new Error('x')"""


@REUSE
async def test_an_error_after_a_wait_has_the_position_of_the_straight_run(legs: int) -> None:
    async with engine(settings={"workerReuse": legs}) as made:
        straight = await made.exec(LOWERED.replace("await yield_control();", " " * 22), language="typescript")
        resumed = waiting(await made.exec(LOWERED, language="typescript"))
        error = failure_of(await made.wait(resumed.run_id), "guest_error").error
        assert "(2:86)" in error
        assert "(2:86)" in failure_of(straight, "guest_error").error


async def test_a_run_of_an_engine_that_was_closed_still_has_exact_positions(tmp_path: Path) -> None:
    async with engine(store=tmp_path / "runs.sqlite") as made:
        suspended = waiting(await made.exec(LOWERED, language="typescript"))
    async with engine(store=tmp_path / "runs.sqlite") as made:
        assert "(2:86)" in failure_of(await made.wait(suspended.run_id), "guest_error").error
