"""The engine honours its configuration: each limit where it is, one below and one above."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codemode import Engine, tool
from codemode.contract.results import CodeModeResult
from codemode.workers.worker import Worker
from tests.harness.engine import Desk, engine, failure_of, slept, statuses, texts, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")


async def executed(program: str, config: dict[str, Any] | None = None, **options: Any) -> CodeModeResult:
    async with engine(config=config, **options) as made:
        return await made.exec(program)


@pytest.mark.parametrize(
    ("config", "is_on"),
    [(True, True), (False, False), (None, False), ({}, False), ({"timeoutMs": 500}, False), ({"enabled": False}, False), ({"enabled": True}, True)],
)  # fmt: skip
@pytest.mark.guarantee("off-unless-enabled")
async def test_only_enabled_switches_it_on(config: object, is_on: bool) -> None:
    async with Engine(config=config, settings={"warmWorkers": 1}) as made:
        result = await made.exec("return 1")
        if is_on:
            assert value_of(result) == 1
        else:
            failure_of(result, "invalid_config")
            assert not made.stats()["workers"]["zygotes"]


async def test_an_agent_s_own_fields_lie_over_the_global_ones() -> None:
    agent_config = {"tools": {"codeMode": {"languages": ["typescript"]}}}
    async with engine(config={"maxPendingToolCalls": 3}, agent_config=agent_config) as made:
        assert made.config.languages == ("typescript",)
        assert made.config.max_pending_tool_calls == 3
        failure_of(await made.exec("return 1", "javascript"), "unsupported_language")
        failure_of(await made.exec("return 1"), "unsupported_language")
        assert value_of(await made.exec("return 1 as number", "typescript")) == 1


async def test_numbers_outside_the_clamp_are_clamped_and_the_engine_works_with_them() -> None:
    lowest = {"timeoutMs": 0, "memoryLimitBytes": 0, "maxOutputBytes": 0, "maxSnapshotBytes": 0, "maxPendingToolCalls": 0, "snapshotTtlSeconds": 0, "searchDefaultLimit": 0, "maxSearchLimit": 0}  # fmt: skip
    highest = dict.fromkeys(lowest, 10**12)
    async with engine(config=lowest) as made:
        assert made.config.timeout_ms == 100
        assert value_of(await made.exec("return await tools.echo({ value: 1 })")) == 1
    async with engine(config=highest) as made:
        assert made.config.memory_limit_bytes == 1 << 30
        assert value_of(await made.exec("return await tools.echo({ value: 1 })")) == 1


async def test_the_same_program_fits_a_large_heap_and_not_a_small_one() -> None:
    program = "const all = []; for (let i = 0; i < 60; i++) all.push(new Uint8Array(100000).fill(i)); return all.length"
    failure_of(await executed(program, {"memoryLimitBytes": 4 << 20}), "memory_limit_exceeded")
    assert value_of(await executed(program, {"memoryLimitBytes": 32 << 20})) == 60


@pytest.mark.guarantee("memory-failure-ends-the-vm")
async def test_a_program_cannot_catch_its_memory_failure() -> None:
    program = """
    try { const all = []; for (;;) all.push(new Array(1000).fill(1)) }
    catch { text("caught") } finally { text("finally") }
    return "survived"
    """
    result = failure_of(await executed(program, {"memoryLimitBytes": 4 << 20}), "memory_limit_exceeded")
    assert texts(result) == []


@pytest.mark.parametrize(("size", "fits"), [(1000, True), (1022, True), (1023, False), (3000, False)])
@pytest.mark.guarantee("output-cap-holds")
async def test_the_value_counts_against_the_output_cap(size: int, fits: bool) -> None:
    result = await executed(
        f"return 'x'.repeat({size})", {"maxOutputBytes": 1024}
    )  # its JSON has two quotes more
    if fits:
        assert value_of(result) == "x" * size
    else:
        assert str(size + 2) in failure_of(result, "output_limit_exceeded").error


@pytest.mark.guarantee("output-cap-holds")
async def test_output_and_value_share_the_cap_and_bytes_are_those_of_utf_8() -> None:
    config = {"maxOutputBytes": 1024}
    assert value_of(await executed("text('é'.repeat(400)); return 'x'.repeat(197)", config)) == "x" * 197
    result = failure_of(
        await executed("text('é'.repeat(400)); return 'x'.repeat(198)", config), "output_limit_exceeded"
    )
    assert texts(result) == ["é" * 400]
    assert "200 bytes of JSON" in result.error


@pytest.mark.guarantee("one-long-item-is-clipped")
async def test_an_item_that_does_not_fit_is_clipped_and_noted_and_the_program_goes_on() -> None:
    program = "text('a' + 'é'.repeat(600) + 'z'); text('after'); return await tools.echo({ value: 1 })"
    result = await executed(program, {"maxOutputBytes": 1024})
    assert value_of(result) == 1
    long, after = result.to_dict()["output"]
    assert long["clipped"] == 1202
    assert long["text"].startswith("aé")
    assert long["text"].endswith("éz")
    assert " of 1202 bytes left out … " in long["text"]
    assert after == {"type": "text", "text": "after"}
    note = "One item of output was too long and was clipped in the middle: it had 1,202 bytes."
    assert note in result.notes
    assert result.for_model()["output"] == [long, after]


async def test_several_clipped_items_are_one_note() -> None:
    result = await executed("for (const n of [1e5, 2e5]) console.log('x'.repeat(n)); return 1")
    note = (
        "2 items of output were too long and were clipped in the middle: they had 300,000 bytes. "
        "Select fields, slice lists, summarise."
    )
    assert result.notes == (note,)


@pytest.mark.guarantee("output-cap-holds")
async def test_the_output_cap_holds_for_a_resumed_program_too() -> None:
    async with engine(config={"maxOutputBytes": 1024}) as made:
        result = waiting(
            await made.exec(
                "text('a'.repeat(990)); await yield_control(); text('b'.repeat(990)); return 'c'.repeat(100)"
            )
        )
        assert texts(result) == ["a" * 990]
        result = failure_of(await made.wait(result.run_id), "output_limit_exceeded")
        assert texts(result) == ["b" * 990]


@pytest.mark.parametrize(("cap", "most"), [(1024, 40), (64 << 10, 2621), (10 << 20, 20_000)])
@pytest.mark.guarantee("output-cap-holds")
async def test_empty_texts_count_as_items_over_all_batches_of_a_result(cap: int, most: int) -> None:
    program = """
    for (let k = 0; k < 5; k++) {
      for (let i = 0; i < 10000; i++) text('');
      await tools.echo({ value: k });
    }
    """
    result = failure_of(await executed(program, {"maxOutputBytes": cap}), "output_limit_exceeded")
    assert texts(result) == [""] * most


@pytest.mark.guarantee("output-cap-holds")
async def test_a_resumed_program_has_its_items_of_output_anew() -> None:
    program = """
    for (let i = 0; i < 19000; i++) text('');
    await yield_control();
    for (let i = 0; i < 19000; i++) console.log();
    """
    async with engine(config={"maxOutputBytes": 1 << 20}) as made:
        result = waiting(await made.exec(program))
        assert texts(result) == [""] * 19000
        result = await made.wait(result.run_id)
        assert value_of(result) is None
        assert texts(result) == [""] * 19000


@pytest.mark.guarantee("snapshot-cap-holds")
async def test_the_snapshot_cap_holds_for_the_first_and_for_a_later_suspension() -> None:
    grow = "held.push(...Array.from({ length: 20000 }, () => Math.random()));"
    async with engine(config={"maxSnapshotBytes": 40_000}) as made:
        result = await made.exec(
            f"const held = []; {grow} text('grown'); await yield_control(); return held.length"
        )
        assert texts(failure_of(result, "snapshot_limit_exceeded")) == ["grown"]
        result = waiting(
            await made.exec(
                f"const held = []; await yield_control(); {grow} text('grown'); await yield_control(); return held.length"
            )
        )
        result = failure_of(await made.wait(result.run_id), "snapshot_limit_exceeded")
        assert texts(result) == ["grown"]
        failure_of(await made.wait("run_x"), "invalid_input")
        assert await made.runs() == []


async def test_memory_that_was_used_and_freed_does_not_count_in_a_snapshot() -> None:
    async with engine(config={"maxSnapshotBytes": 40_000}) as made:
        used = "let held = Array.from({ length: 20000 }, () => Math.random()); held = held.length;"
        result = waiting(await made.exec(used + "await yield_control(); return held"))
        assert value_of(await made.wait(result.run_id)) == 20000


@pytest.mark.parametrize("limit", [1, 3, 128])
async def test_as_many_calls_as_allowed_run_at_once_and_one_more_is_refused_with_its_whole_batch(
    limit: int,
) -> None:
    desk = Desk()
    async with engine([*desk.tools], {"maxPendingToolCalls": limit}) as made:
        program = (
            "return (await Promise.all(Array.from({ length: N }, (_, i) => tools.echo({ value: i })))).length"
        )
        assert value_of(await made.exec(program.replace("N", str(limit)))) == limit
        result = failure_of(
            await made.exec(program.replace("N", str(limit + 1))), "too_many_pending_tool_calls"
        )
        assert result.telemetry.calls == ()
        assert str(limit) in result.error


async def test_calls_in_flight_count_with_the_batch_and_none_of_it_is_dispatched() -> None:
    desk = Desk()
    async with engine(desk.tools, {"maxPendingToolCalls": 3}) as made:
        program = """
        const first = tools.hold({ name: "first" });
        await tools.echo({});
        try { await Promise.all(["b", "c", "d"].map((name) => tools.hold({ name }))) } catch { return "caught" }
        """
        result = failure_of(await made.exec(program), "too_many_pending_tool_calls")
        assert desk.started == desk.joined == ["first"]
        assert statuses(result) == [("hold", "aborted"), ("echo", "ok")]


async def test_the_pending_cap_holds_over_a_suspension() -> None:
    desk = Desk()
    async with engine(desk.tools, {"maxPendingToolCalls": 2}) as made:
        result = waiting(
            await made.exec(
                "tools.hold({ name: 'a' }); await yield_control();"
                "await Promise.all(['b', 'c'].map((name) => tools.hold({ name })))"
            )
        )
        failure_of(await made.wait(result.run_id), "too_many_pending_tool_calls")
        assert desk.started == ["a"]


async def test_the_search_limits_are_the_configured_ones() -> None:
    def numbered(number: int) -> Any:
        @tool(name=f"find_{number:02}", description="Finds a needle.")
        async def found() -> None: ...

        return found

    tools = [numbered(number) for number in range(60)]
    program = "const n = async (...a) => (await tools.search('needle', ...a)).length; return [await n(), await n({ limit: 2 }), await n({ limit: 1000 }), await n({ limit: -1 })]"
    async with engine(tools) as made:
        assert value_of(await made.exec(program)) == [8, 2, 50, 1]
    async with engine(tools, {"searchDefaultLimit": 30, "maxSearchLimit": 5}) as made:
        assert value_of(await made.exec(program)) == [5, 2, 5, 1]


async def test_a_wait_has_one_budget_for_waiting_and_running_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk, budgets, send = Desk(), list[int](), Worker.send_resume

    def send_resume(
        worker: Worker, delta: Any, settled: Any, limits: Any, budget_ms: int, *more: Any
    ) -> None:
        budgets.append(budget_ms)
        send(worker, delta, settled, limits, budget_ms, *more)

    async with engine(desk.tools, {"timeoutMs": 5000}) as made:
        program = "const p = tools.hold({ name: 'a' }); await tools.pay({ amount: 1 }); return await p"
        result = waiting(await made.exec(program), "approval")
        monkeypatch.setattr(Worker, "send_resume", send_resume)
        going_on = asyncio.create_task(made.wait(result.run_id))
        await asyncio.sleep(0)  # it waits, and from here on another program lets 300 ms pass
        await slept(made, 300)
        desk.answer("a")
        waiting(await going_on, "approval")
        (budget_ms,) = budgets
        assert 100 <= budget_ms <= 4700


async def test_a_resumed_program_that_computes_until_its_budget_is_spent_is_a_timeout_with_its_output() -> (
    None
):
    async with engine(config={"timeoutMs": 300}) as made:
        result = waiting(await made.exec("await yield_control(); text('on'); for (;;);"))
        assert texts(failure_of(await made.wait(result.run_id), "timeout")) == ["on"]


@pytest.mark.guarantee("tools-are-stopped-and-joined")
@pytest.mark.guarantee("ends-leave-nothing")
async def test_a_timeout_stops_and_joins_the_tools_that_are_running() -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 1000}) as made:
        program = "tools.hold({ name: 'a' }); await tools.echo({}); text('on'); for (;;);"
        result = failure_of(await made.exec(program), "timeout")
        assert desk.started == desk.cancelled == desk.joined == ["a"]
        assert statuses(result) == [("hold", "aborted"), ("echo", "ok")]
        assert texts(result) == ["on"]
