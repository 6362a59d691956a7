"""Two sessions in one engine at the same time: what one was given, the other never hears of."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codemode import Engine, tool
from codemode.executor import AuditEvent
from codemode.tools import Tool
from tests.harness.engine import Desk, engine, value_of, waiting
from tests.harness.result_samples import without_times

pytestmark = pytest.mark.usefixtures("leaves_nothing")

# Asks for its own and for the other's, in every way there is.
CURIOUS = """
const failure = (promise) => promise.then(JSON.stringify, (e) => [e.name, e.code, e.message, e.data ?? null]);
const said = { all: ALL_TOOLS, names: Object.keys(tools), held: await tools.hold({ name: NAME }), asked: [] };
for (const guess of ["zebra_report", "zebra_reports", "openclaw:core:zebra_report", "client:app:zebra_report",
                     "giraffe_report", "giraffe_reports", "openclaw:core:giraffe_report", "report"]) {
  said.asked.push(await failure(tools.call(guess, {})), await failure(tools.describe(guess)));
  said.asked.push(await tools.search(guess, { limit: 50 }), typeof tools[guess]);
}
text(JSON.stringify(said));
return await tools.call(OTHER, {});
"""


def animal(name: str) -> Tool:
    @tool(name=f"{name}_report", description=f"Counts every {name}.")
    async def report() -> str:
        return f"three {name}s"

    return report


def program(name: str, other: str) -> str:
    return f"const NAME = '{name}', OTHER = '{other}_report';{CURIOUS}"


@pytest.mark.guarantee("sessions-are-strangers")
async def test_a_session_beside_another_has_the_result_it_has_alone() -> None:
    sides = (("zebra", "giraffe"), ("giraffe", "zebra"))

    async def both(made: Engine, desk: Desk) -> list[dict[str, Any]]:
        running = [
            asyncio.create_task(made.exec(program(*side), session=side[0], tools=[animal(side[0])]))
            for side in sides
        ]
        await desk.asked("zebra", "giraffe")  # both programs are at their first call
        desk.answer("zebra")
        desk.answer("giraffe")
        return [without_times(await task) for task in running]

    async def alone(side: tuple[str, str]) -> dict[str, Any]:
        desk = Desk()
        async with engine(desk.tools) as made:
            task = asyncio.create_task(made.exec(program(*side), session=side[0], tools=[animal(side[0])]))
            await desk.asked(side[0])
            desk.answer(side[0])
            return without_times(await task)

    expected = [await alone(side) for side in sides]
    desk = Desk()
    async with engine(desk.tools) as made:
        together = await both(made, desk)
    assert together == expected
    assert [result["code"] for result in together] == ["nested_tool_failed"] * 2
    for result, (name, other) in zip(together, sides, strict=True):
        (said,) = result["output"]
        assert f"Counts every {name}." in said["text"]
        assert f"every {other}" not in str(result)
        assert f"three {other}s" not in str(result)


@pytest.mark.guarantee("sessions-are-strangers")
async def test_tools_of_one_name_in_two_sessions_answer_each_their_own() -> None:
    desk = Desk()
    heard: list[tuple[str, str | None]] = []

    def whoami(owner: str) -> Tool:
        @tool(source="client", owner="app")
        async def whoami() -> str:
            """Says whose it is."""
            return owner

        return whoami

    def audit(event: AuditEvent) -> None:
        if event.tool == "whoami":
            heard.append((event.session_id, event.tool_id))

    async with engine(desk.tools, audit=audit) as made:
        text = """
        const first = await tools.whoami();
        await yield_control();
        return [first, await tools.call("client:app:whoami")];
        """
        runs = [waiting(await made.exec(text, session=name, tools=[whoami(name)]), "yield") for name in "ab"]
        results = [
            await made.wait(found.run_id, session=name) for found, name in zip(runs, "ab", strict=True)
        ]
        assert [value_of(result) for result in results] == [["a", "a"], ["b", "b"]]
        assert heard == [(name, "client:app:whoami") for name in "abab"]
        assert value_of(await made.exec("return typeof tools.whoami", session="a")) == "undefined"


@pytest.mark.guarantee("sessions-are-strangers")
async def test_a_session_cannot_wait_for_approve_or_abort_the_run_of_another() -> None:
    async with engine() as made:
        mine = waiting(await made.exec("return await tools.pay({ amount: 1 })", session="mine"), "approval")
        (call,) = mine.pending_tool_calls
        assert call.approval is not None
        foreign = await made.wait(mine.run_id, session="yours")
        assert without_times(foreign) == without_times(await made.wait("run_that_never_was", session="yours"))
        assert not await made.approve(mine.run_id, call.approval.id, session="yours")
        assert not await made.deny(mine.run_id, call.approval.id, session="yours")
        assert not await made.abort(mine.run_id, session="yours")
        assert await made.trajectory(mine.run_id, session="yours") is None
        assert await made.approve(mine.run_id, call.approval.id, session="mine")
        assert value_of(await made.wait(mine.run_id, session="mine")) == "paid 1"
