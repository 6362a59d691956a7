"""What calls under way keep in the host has caps: for a run, for a session, and for the engine."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode import Engine, tool
from codemode.gate.pending import Account, PendingBytes, share_of
from tests.harness.engine import Desk, engine, failure_of, value_of, waiting
from tests.harness.loop_meter import LoopMeter, measured
from tests.harness.loops import until

_MIB = 1 << 20


def test_a_run_a_session_and_an_engine_have_a_cap_each() -> None:
    everybody = PendingBytes(100, 400, 75, "default")
    first, second = Account(everybody, "a"), Account(everybody, "a")
    assert first.take(1, 100) is None
    assert first.take(2, 1) == "a run may keep 100 bytes (maxPendingBytes)"
    assert second.take(1, 100) is None
    third = [Account(everybody, "a"), Account(everybody, "a")]
    assert third[0].take(1, 100) is None
    told = "a session may keep 300 bytes (maxPendingTotalBytes, sessionSharePercent)"
    assert third[1].take(1, 100) == told
    assert Account(everybody, "b").take(1, 100) is None
    assert Account(everybody, "c").take(1, 1) == "all runs together may keep 400 bytes (maxPendingTotalBytes)"
    first.give(1)
    assert third[1].take(1, 100) is None


def test_a_host_that_names_no_session_has_everything() -> None:
    everybody = PendingBytes(100, 200, 50, "default")
    assert Account(everybody, "default").take(1, 100) is None
    assert Account(everybody, "default").take(1, 100) is None
    assert everybody.held == 200


def test_what_is_refused_leaves_what_was_kept() -> None:
    everybody = PendingBytes(100, 400, 75, "default")
    account = Account(everybody, "a")
    assert account.take(1, 60) is None
    assert account.take(1, 101) is not None
    assert (account.held, everybody.held) == (60, 60)
    assert account.take(1, 20) is None
    assert (account.held, everybody.held) == (20, 20)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-3, 3), st.integers(0, 60), st.booleans())))
def test_the_accounts_of_all_add_up(steps: list[tuple[int, int, int, bool]]) -> None:
    everybody = PendingBytes(100, 150, 75, "default")
    accounts = [Account(everybody, session) for session in ("a", "a", "b")]
    for who, key, size, gives in steps:
        if gives:
            accounts[who].give(key)
        else:
            accounts[who].take(key, size)
        assert everybody.held == sum(account.held for account in accounts) <= 150
        assert max(account.held for account in accounts) <= 100
    for account in accounts:
        account.close()
    assert (everybody.held, everybody._sessions) == (0, {})  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(("most", "share"), [(0, 0), (1, 1), (7, 7), (8, 6), (1000, 750)])
def test_little_is_not_divided(most: int, share: int) -> None:
    assert share_of(most, 75) == share


@pytest.mark.guarantee("pending-memory-is-bounded")
async def test_a_call_for_which_there_is_no_room_fails_and_the_next_one_after_it_works() -> None:
    desk = Desk()
    program = """const a = 'x'.repeat(400e3), many = [1, 2, 3, 4].map((n) => tools.hold({ name: a + n }));
        const [, { reason: e }] = await Promise.allSettled(many);
        return [[e.code, e.name, e.message], await tools.echo({ value: 'small' })]"""
    async with engine(desk.tools, settings={"maxPendingBytes": _MIB}) as made:
        running = asyncio.create_task(made.exec(program))
        await until(lambda: desk.started)
        desk.answer(desk.started[0], "kept")
        told, value = value_of(await running)
        assert made._services.work.pending.held == 0  # pyright: ignore[reportPrivateUsage]
    assert value == "small"
    assert told == [
        "invalid_arguments",
        "TooMuchPending",
        "no room for these arguments: a run may keep 1,048,576 bytes (maxPendingBytes). "
        "Make fewer calls at once, or send less with each.",
    ]
    assert len(desk.started) == 1


@pytest.mark.guarantee("pending-memory-is-bounded")
async def test_results_that_wait_for_a_suspended_program_are_kept_within_the_cap() -> None:
    desk = Desk()
    program = """const [a, b] = await Promise.allSettled(['a', 'b'].map((name) => tools.hold({ name })));
        return [a.value.length, b.reason.code, b.reason.name]"""
    config = {"timeoutMs": 300}
    async with engine(desk.tools, config, settings={"maxPendingBytes": _MIB}) as made:
        first = waiting(await made.exec(program), "pending_tools")
        desk.answer("a", "x" * 600_000)
        desk.answer("b", "x" * 600_000)
        run = made._runs.get(first.run_id)  # pyright: ignore[reportPrivateUsage]
        assert run is not None
        await until(lambda: len(run.in_flight.settled) == 2)
        result = await made.wait(first.run_id)
        while result.status == "waiting":
            result = await made.wait(first.run_id)
        assert value_of(result) == [600_000, "tool_error", "ResultNotKept"]
        assert made._services.work.pending.held == 0  # pyright: ignore[reportPrivateUsage]


@pytest.mark.guarantee("pending-memory-is-bounded")
def test_suspended_runs_with_large_arguments_keep_no_more_than_the_cap() -> None:
    async def scenario(meter: LoopMeter) -> list[str]:
        desk = Desk()
        settings: dict[str, Any] = {"warmWorkers": 1, "maxPendingTotalBytes": 64 * _MIB}
        config = {"enabled": True, "timeoutMs": 300, "memoryLimitBytes": 128 * _MIB}
        program = """const name = new Array(100e3).fill([]);
            const one = () => tools.keep({ name }).catch(() => tools.hold({ name: 'x' }));
            await Promise.all(Array.from({ length: 16 }, one))"""
        async with Engine([*desk.tools, _keeper()], config, settings=settings) as made:
            await made.exec("return 1")
            meter.begin()
            found = [(await made.exec(program, session="hostile")).status for _ in range(6)]
            assert made._services.work.pending.held <= 64 * _MIB  # pyright: ignore[reportPrivateUsage]
            assert value_of(await made.exec("return await tools.echo({ value: 7 })", session="other")) == 7
        return found

    found, _, grown = measured(scenario)
    assert "completed" not in found
    assert grown < 64 * _MIB + 120 * _MIB  # and what is on its way from six workers


LISTS = "const a = new Array(100e3).fill([]);"
ARGUMENTS = len('[{"a":[') + 3 * 100_000 - 1 + len("]}]")  # bytes of JSON


@tool(requires_approval=True)
async def approved(a: Any) -> int:
    """Counts, if somebody says yes."""
    return len(a)


@pytest.mark.guarantee("pending-memory-is-bounded")
async def test_calls_that_wait_for_an_approval_keep_their_arguments_once_and_as_bytes() -> None:
    program = f"{LISTS} return await Promise.all([1, 2, 3].map(() => tools.approved({{ a }})))"
    async with engine([approved], config={"memoryLimitBytes": 256 * _MIB}) as made:
        asked = waiting(await made.exec(program), "approval")
        run = made._runs.get(asked.run_id)  # pyright: ignore[reportPrivateUsage]
        assert run is not None
        works = list(run.in_flight.pending.values())
        await until(lambda: all(work.approval is not None for work in works))
        assert _held(made) == 3 * ARGUMENTS
        assert [(len(work.args), len(work.asked)) for work in works] == 3 * [(0, ARGUMENTS)]
        assert [work.approval and work.approval.arguments for work in works] == [{}, {}, {}]
        details = await made.run_info(asked.run_id)
        assert details is not None
        assert [one.arguments for one in details.approvals] == 3 * [{"a": [[]] * 100_000}]
        assert details.approvals[0].lines() == [f'a: [{"[]," * 24}"99,976 more"]']
        for one in details.approvals:
            assert await made.approve(asked.run_id, one.id)
        assert value_of(await made.wait(asked.run_id)) == 3 * [100_000]
        assert _held(made) == 0


@pytest.mark.guarantee("pending-memory-is-bounded")
async def test_what_a_run_keeps_is_counted_by_the_engine_that_takes_it_over(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    program = """const a = 'x'.repeat(1200e3);
        const all = Promise.all([tools.approved({ a: 'x' }), tools.approved({ a })]);
        await tools.hold({ name: 'one' }); return await all"""
    desk = Desk()
    async with engine([*desk.tools, approved], store=store) as made:
        asked = waiting(await made.exec(program), "approval")
        run = made._runs.get(asked.run_id)  # pyright: ignore[reportPrivateUsage]
        assert run is not None
        await until(lambda: sum(work.approval is not None for work in run.in_flight.pending.values()) == 2)
        desk.answer("one", 1)
        await until(lambda: bool(run.in_flight.settled))
        asked = waiting(await made.wait(asked.run_id), "approval")  # stored again, with both
        first, second = [call.approval.id for call in asked.pending_tool_calls if call.approval]
    both = [*desk.tools, approved]
    async with engine(both, store=store, settings={"maxPendingBytes": _MIB}) as small:
        assert not await small.approve(asked.run_id, first)
        refused = failure_of(await small.wait(asked.run_id), "runtime_unavailable")
        assert refused.error == (
            "There is no room here to take over this run: a run may keep 1,048,576 bytes (maxPendingBytes). "
            "It is kept: wait for it later."
        )
        assert _held(small) == 0
    async with engine(both, store=store) as made:
        assert await made.approve(asked.run_id, first)
        waiting(await made.wait(asked.run_id), "approval")
        assert _held(made) == len('[{"a":""}]') + 1_200_000
        assert await made.approve(asked.run_id, second)
        assert value_of(await made.wait(asked.run_id)) == [1, 1_200_000]
        assert _held(made) == 0


def _held(made: Engine) -> int:
    return made._services.work.pending.held  # pyright: ignore[reportPrivateUsage]


def _keeper() -> Any:
    @tool
    async def keep(name: Any) -> None:
        """Never answers."""
        await asyncio.get_running_loop().create_future()

    return keep
