"""Calls beyond those that may run at once: an error by default, in line where the host allows it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from codemode import tool
from codemode.catalog import Catalog
from codemode.surface import describe_exec
from tests.harness.engine import Desk, engine, failure_of, statuses, value_of, waiting
from tests.harness.tool_samples import make


class Crowd:
    """Counts how many calls run at once."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.order: list[int] = []

    @property
    def tool(self) -> Any:
        @tool
        async def visit(n: int) -> int:
            """Visits."""
            self.now += 1
            self.most = max(self.most, self.now)
            self.order.append(n)
            await asyncio.sleep(0)
            self.now -= 1
            return n

        return visit


ALL = """const ids = Array.from({ length: N }, (_, n) => n);
return Promise.all(ids.map((n) => tools.visit({ n })))"""


@pytest.mark.guarantee("calls-wait-in-line")
async def test_calls_beyond_the_limit_wait_in_line_in_their_order() -> None:
    crowd = Crowd()
    async with engine([crowd.tool], {"maxQueuedToolCalls": 100}) as made:
        result = await made.exec(ALL.replace("N", "47"))

    assert value_of(result) == list(range(47))
    assert (crowd.most, crowd.order) == (16, list(range(47)))
    assert statuses(result) == [("visit", "ok")] * 47


async def test_more_than_the_line_holds_ends_the_program_and_starts_none_of_them() -> None:
    crowd = Crowd()
    async with engine([crowd.tool], {"maxPendingToolCalls": 2, "maxQueuedToolCalls": 3}) as made:
        result = failure_of(await made.exec(ALL.replace("N", "6")), "too_many_pending_tool_calls")

    assert crowd.order == []
    assert result.error.splitlines()[0] == (
        "More than 2 tool calls at once, and 3 more in line. None of the last batch was started. "
        "Make them in chunks:"
    )


async def test_without_a_line_one_call_too_many_ends_the_program() -> None:
    crowd = Crowd()
    async with engine([crowd.tool]) as made:
        result = failure_of(await made.exec(ALL.replace("N", "47")), "too_many_pending_tool_calls")

    assert result.error == (
        "More than 16 tool calls at once. None of the last batch was started. Make them in chunks:\n"
        "    for (let i = 0; i < items.length; i += 16)\n"
        "      results.push(...await Promise.all(items.slice(i, i + 16).map(async (item) => …)));"
    )


async def test_searches_and_failures_in_line_move_it_too() -> None:
    async with engine(config={"maxPendingToolCalls": 1, "maxQueuedToolCalls": 5_000}) as made:
        program = """const all = [];
            for (let n = 0; n < 3000; n++) all.push(n % 2 ? tools.search("echo") : tools.fail().catch((e) =>
            e.code)); return (await Promise.all(all)).length"""
        assert value_of(await made.exec(program)) == 3_000


async def test_calls_in_line_when_the_run_ends_were_never_made() -> None:
    desk = Desk()
    async with engine(desk.tools, {"maxPendingToolCalls": 1, "maxQueuedToolCalls": 5}) as made:
        running = asyncio.create_task(
            made.exec(
                "const all = ['a', 'b', 'c'].map((name) => tools.hold({ name })); await all[0]; "
                "await tools.fail()"
            )
        )
        await desk.asked("a")
        desk.fail("a", "broken")
        result = failure_of(await running, "nested_tool_failed")

    assert result.notes == ("Already done: hold ×1 error, hold ×1 aborted.",)


@pytest.mark.guarantee("calls-wait-in-line")
async def test_a_line_survives_its_engine_and_no_call_in_it_was_made_twice(tmp_path: Path) -> None:
    store, first, second = str(tmp_path / "runs.db"), Desk(), Desk()
    config = {"maxPendingToolCalls": 1, "maxQueuedToolCalls": 5, "timeoutMs": 200}
    async with engine(first.tools, config, store=store) as made:
        program = "return Promise.allSettled(['a', 'b', 'c'].map((name) => tools.hold({ name })))"
        suspended = waiting(await made.exec(program))
        first.answer("a")
        assert [call.method for call in suspended.pending_tool_calls] == ["call"] * 3
    async with engine(second.tools, {**config, "timeoutMs": 20_000}, store=store) as later:
        going = asyncio.create_task(later.wait(suspended.run_id))
        for name in ("b", "c"):
            await second.asked(name)
            second.answer(name)
        settled = value_of(await going)

    assert (first.started, second.started) == (["a"], ["b", "c"])
    assert [one["status"] for one in settled] == ["fulfilled"] * 3, settled


@pytest.mark.guarantee("calls-are-counted")
async def test_a_run_may_make_so_many_calls_in_all() -> None:
    async with engine(config={"maxToolCalls": 3}) as made:
        enough = "for (let n = 0; n < 3; n++) await tools.echo({ value: n }); return 'done'"
        assert value_of(await made.exec(enough)) == "done"
        result = failure_of(
            await made.exec("try { for (;;) await tools.echo() } catch { return 'caught' }"),
            "too_many_pending_tool_calls",
        )

    assert result.error == (
        "The program made more than 3 tool calls in all (maxToolCalls). None of the last batch was started. "
        "Ask for more at once, or split the work over several programs."
    )
    assert result.notes == ("Already done: echo ×3 ok.",)


def test_the_description_says_which_rule_holds() -> None:
    catalog = Catalog([make("a")])

    assert "At most 16 calls at once; one more ends the program." in describe_exec(catalog)
    assert (
        "At most 16 calls run at once; 100 more wait in line, and one more ends the program."
        in describe_exec(catalog, max_queued_calls=100)
    )
