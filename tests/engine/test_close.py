"""What an engine leaves behind when it is closed: suspended runs where the store lasts, and nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from codemode import Engine, Tool, tool
from codemode.contract.results import CodeModeResult, Completed, Failed, Waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")
PROGRAM = "try { return await tools.slow({}) } catch (error) { return error.code }"
CONFIG = {"enabled": True, "timeoutMs": 500}


def slow_tool(begun: asyncio.Event) -> Tool:
    @tool
    async def slow() -> int:
        """Never ends by itself."""
        begun.set()
        await asyncio.Event().wait()
        return 1

    return slow


async def closed_while_waiting(store: Path | None) -> tuple[str, CodeModeResult]:
    """Closes an engine while somebody waits for a run whose call does not end."""
    begun = asyncio.Event()
    engine = Engine([slow_tool(begun)], CONFIG, store=store)
    await engine.start()
    held = await engine.exec(PROGRAM)
    assert isinstance(held, Waiting)
    waiting = asyncio.create_task(engine.wait(held.run_id))
    for _ in range(5):
        await asyncio.sleep(0)  # until it listens for news, of which there are none
    await engine.close()
    return held.run_id, await waiting


async def test_a_run_that_is_only_waited_for_outlives_the_closing_of_a_durable_engine(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    run_id, told = await closed_while_waiting(path)
    assert isinstance(told, Failed)
    assert told.code == "aborted"
    assert "The run is kept" in told.error
    async with Engine([slow_tool(asyncio.Event())], store=path) as engine:
        result = await engine.wait(run_id)
    assert isinstance(result, Completed)
    assert result.value == "interrupted"


async def test_without_a_durable_store_closing_ends_it() -> None:
    _, told = await closed_while_waiting(None)
    assert isinstance(told, Failed)
    assert told.error == "The run was cancelled: the engine was closed."


def test_close_in_another_loop_is_refused_and_the_engine_can_still_be_closed_in_its_own() -> None:
    with asyncio.Runner() as own, asyncio.Runner() as other:
        made = Engine(settings={"warmWorkers": 1})
        own.run(made.start())
        for _ in range(2):
            with pytest.raises(RuntimeError, match="belongs to the event loop"):
                other.run(made.close())
        assert own.run(made.exec("return 1")).unwrap() == 1
        own.run(made.close())
        other.run(made.close())  # it is closed: nothing is left to do
