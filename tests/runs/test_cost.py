"""What a run costs the host, in turns of the loop and tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from codemode_runtime import wire
from codemode_runtime.shapes import Settlement

from codemode import tool
from codemode.workers.worker import Worker
from tests.harness.engine import Desk, engine, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")


class Turns:
    """Counts the turns of the running loop, from `start` to `stop`."""

    def __init__(self) -> None:
        self.count = 0
        self._handle: asyncio.Handle | None = None

    def start(self) -> None:
        self.count += 1
        self._handle = asyncio.get_running_loop().call_soon(self.start)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()


def note_tasks() -> list[asyncio.Task[Any]]:
    """The tasks that the running loop makes from now on."""
    made: list[asyncio.Task[Any]] = []

    def make(loop: asyncio.AbstractEventLoop, work: Any, **given: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **given)
        made.append(task)
        return task

    asyncio.get_running_loop().set_task_factory(make)
    return made


async def test_a_quick_tools_result_is_delivered_in_the_turn_in_which_the_tool_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns, ended, delivered = Turns(), list[int](), list[int]()
    deliver = Worker.deliver

    async def noted(self: Worker, settlements: Sequence[Settlement]) -> wire.Outcome:
        delivered.append(turns.count)
        return await deliver(self, settlements)

    @tool
    async def quick() -> int:
        """Ends at once."""
        ended.append(turns.count)
        return 1

    monkeypatch.setattr(Worker, "deliver", noted)
    async with engine([quick]) as made:
        turns.start()
        result = await made.exec("let n = 0; for (let i = 0; i < 3; i++) n += await tools.quick(); return n")
        turns.stop()
        assert value_of(result) == 3
        assert delivered == ended


async def test_a_run_makes_one_task_for_each_call_and_none_of_its_own() -> None:
    @tool
    async def quick() -> int:
        """Ends at once."""
        return 1

    async with engine([quick]) as made:
        made_tasks = note_tasks()
        assert value_of(await made.exec("return 1 + 1")) == 2
        assert made_tasks == []
        assert value_of(await made.exec("return await tools.quick()")) == 1
        assert [task.get_name() for task in made_tasks] == ["codemode openclaw:core:quick"]


async def test_a_wait_makes_no_task() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        run_id = waiting(
            await made.exec("const one = tools.hold({ name: 'a' }); await yield_control(); return one")
        ).run_id
        desk.answer("a", 7)
        for _ in range(50):  # turns of the loop: the call ends, and what it settled is kept
            await asyncio.sleep(0)
        made_tasks = note_tasks()
        assert value_of(await made.wait(run_id)) == 7
        assert made_tasks == []
