"""Ten thousand tools: programs name, list, find and call them, and the host goes on with its work."""

from __future__ import annotations

import asyncio
import threading

import pytest

from codemode.contract import events
from codemode.tools import Tool
from tests.harness.engine import engine, failure_of, value_of
from tests.harness.loops import until
from tests.harness.tool_samples import make, takes

pytestmark = pytest.mark.usefixtures("leaves_nothing")

COUNT = 10_000


def many() -> list[Tool]:
    """New ones each time, so that no index of theirs is there yet."""
    kinds = ("invoices", "parcels", "tickets", "sensors", "contracts")
    return [
        make(f"tool_{at}", f"Handles {kinds[at % 5]} of branch {at}.", parameters=takes("value"))
        for at in range(COUNT)
    ]


@pytest.mark.guarantee("large-catalogs-work")
async def test_ten_thousand_tools_are_named_listed_found_and_called() -> None:
    program = """
    const [hit] = await tools.search("contracts of branch 7779", { limit: 1 });
    const wrong = await tools.call("tool_1x2345").catch((e) => e.code);
    const most = await tools.search("branch", { limit: 1e9 });
    return [tools.tool_7777 !== undefined, tools.tool_10000, "tool_9999" in tools, ALL_TOOLS.length, hit,
            await tools.tool_7777({ value: "x" }), wrong, most.length];
    """
    async with engine(many()) as made:
        hit = {
            "id": "openclaw:core:tool_7779",
            "name": "tool_7779",
            "description": "Handles contracts of branch 7779.",
            "source": "openclaw",
            "call": "tools.tool_7779({ value })",
        }
        found = value_of(await made.exec(program))
        assert found == [True, None, True, COUNT, hit, {"value": "x"}, "unknown_tool", 50]
        assert (
            value_of(await made.exec("return Object.keys(tools).length")) == COUNT + 3
        )  # search, describe, call


@pytest.mark.guarantee("large-catalogs-work")
async def test_the_event_loop_turns_while_the_index_is_built() -> None:
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with engine(many()) as made:
        at: dict[str, int] = {}

        async def watch() -> None:
            async for event in made.events():
                if isinstance(event, events.CallStarted | events.CallFinished):
                    at[type(event).__name__] = turns

        side = [asyncio.create_task(turn()), asyncio.create_task(watch())]
        await asyncio.sleep(0)  # the watcher listens
        program = "return await Promise.all(['parcels', 'tickets'].map((query) => tools.search(query)))"
        assert [len(hits) for hits in value_of(await made.exec(program))] == [8, 8]
        await until(lambda: "CallFinished" in at)
        assert at["CallFinished"] - at["CallStarted"] > 10
        for task in side:
            task.cancel()
        await asyncio.gather(*side, return_exceptions=True)


async def test_a_run_aborted_while_it_searches_leaves_no_thread() -> None:
    def searching() -> bool:
        return any(thread.name == "codemode-tool-search" for thread in threading.enumerate())

    async with engine(many()) as made:
        task = asyncio.create_task(made.exec("return await tools.search('sensors')", session="s"))
        await until(searching)
        assert await made.abort_session("s") == 1
        await until(lambda: not searching())
        failure_of(await task, "aborted")
        result = await made.exec("return (await tools.search('sensors', { limit: 3 })).length", session="s")
        assert value_of(result) == 3
