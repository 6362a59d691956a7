"""Execs that are sent again with their request id, and results that are asked for again at another engine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from codemode import BeforeToolCall, Block, Failed, ToolDefinitionError, tool
from tests.harness.engine import Desk, engine, failure_of, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")
NOTE = "Answered from a kept result: this request was carried out before, and nothing ran now."


class Counted:
    def __init__(self) -> None:
        self.calls = 0

        @tool
        async def count() -> int:
            """Counts its calls."""
            self.calls += 1
            return self.calls

        self.tool = count


@pytest.mark.parametrize("is_durable", [False, True], ids=["memory", "sqlite"])
async def test_a_request_that_is_sent_again_gets_the_same_result_and_runs_nothing(
    is_durable: bool, tmp_path: Path
) -> None:
    counted, store = Counted(), tmp_path / "runs.sqlite" if is_durable else None
    async with engine([counted.tool], store=store) as made:
        program = "text('once'); return await tools.count({})"
        first = await made.exec(program, request_id="r-1")
        again = await made.exec(program, request_id="r-1")
        assert (value_of(first), value_of(again)) == (1, 1)
        assert again.output == first.output
        assert (NOTE in first.notes, NOTE in again.notes) == (False, True)
        assert value_of(await made.exec(program, request_id="r-2")) == 2
        assert value_of(await made.exec(program, request_id="r-1", session="other")) == 3
        assert value_of(await made.exec(program)) == 4


@pytest.mark.guarantee("requests-run-once")
async def test_a_request_sent_to_two_engines_at_once_runs_once(tmp_path: Path) -> None:
    store, desk = tmp_path / "runs.sqlite", Desk()
    async with engine(desk.tools, store=store) as one, engine(desk.tools, store=store) as other:
        program = "return await tools.hold({ name: 'a' })"
        both = [asyncio.create_task(made.exec(program, request_id="r-1")) for made in (one, other)]
        await desk.asked("a")
        desk.answer("a", 7)
        assert [value_of(result) for result in await asyncio.gather(*both)] == [7, 7]
    assert desk.started == ["a"]


async def test_a_request_whose_run_waits_is_told_so_again_with_its_output(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    async with engine(store=store) as made:
        first = waiting(await made.exec("text('seen'); await yield_control(); return 7", request_id="r-1"))
    async with engine(store=store) as other:
        program = "text('seen'); await yield_control(); return 7"
        again = waiting(await other.exec(program, request_id="r-1"))
        assert again.run_id == first.run_id
        assert again.output == first.output
        assert value_of(await other.wait(again.run_id)) == 7
        assert value_of(await other.exec(program, request_id="r-1")) == 7


async def test_a_request_id_that_was_used_for_another_program_or_is_no_text_is_refused() -> None:
    async with engine() as made:
        value_of(await made.exec("return 1", request_id="r-1"))
        refused = failure_of(await made.exec("return 2", request_id="r-1"), "invalid_input")
        assert refused.error == "This request_id was used for another program; use a new one."
        for wrong in ("", " ", "\ud800", "x" * 1025):
            failure_of(await made.exec("return 1", request_id=wrong), "invalid_input")


async def test_a_result_is_told_again_by_an_engine_that_did_not_run_it(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    async with engine(store=store) as made, engine(store=store) as other:
        first = waiting(await made.exec("await yield_control(); text('end'); return 7"))
        done = await made.wait(first.run_id)
        again = await other.wait(first.run_id)
        assert (value_of(done), value_of(again)) == (7, 7)
        assert again.output == done.output
        failure_of(await other.wait(first.run_id, session="theirs"), "invalid_input")
    async with engine(store=store) as later:
        assert value_of(await later.wait(first.run_id)) == 7


async def test_a_request_that_could_not_begin_can_be_sent_again(tmp_path: Path) -> None:
    counted = Counted()

    asked: list[str] = []

    class Rules:
        """Block the first program."""

        async def before_tool_call(self, call: BeforeToolCall) -> Block | None:
            asked.append(call.tool)
            return Block("not now") if len(asked) == 1 else None

    async with engine([counted.tool], store=tmp_path / "runs.sqlite", hooks=[Rules()]) as made:
        program = "return await tools.count({})"
        with pytest.raises(ToolDefinitionError):
            await made.exec(program, request_id="r-1", tools=[3])
        failure_of(await made.exec(program, request_id="r-1"), "aborted")
        assert value_of(await made.exec(program, request_id="r-1")) == 1
    assert asked == ["exec", "exec", "count"]


@pytest.mark.guarantee("requests-run-once")
@pytest.mark.parametrize("is_durable", [False, True], ids=["memory", "sqlite"])
async def test_a_request_whose_caller_was_cancelled_is_never_taken_for_one_that_goes_on(
    is_durable: bool, tmp_path: Path
) -> None:
    """Cancelled after any number of turns of the event loop, it ran or it did not, and that is told."""
    counted, store = Counted(), tmp_path / "runs.sqlite" if is_durable else None
    codes = set[str]()
    async with engine([counted.tool], store=store) as made:
        program = "return await tools.count({})"
        for turns in range(40):
            asking = asyncio.create_task(made.exec(program, request_id=f"r-{turns}"))
            for _ in range(turns * turns):
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait([asking])
            ran = counted.calls
            again = await made.exec(program, request_id=f"r-{turns}")
            codes.add(again.code if isinstance(again, Failed) else again.status)
            assert counted.calls - ran <= 1
    assert codes <= {"completed", "aborted"}
