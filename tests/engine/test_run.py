"""A whole run in one call: exec, and wait until it has ended; also blocking, and in an engine of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Raw

import codemode
from codemode import BlockingEngine, CallContext, Completed, Scope, Waiting, tool
from codemode.contract.results import CodeModeResult, JsonOutput, Output, TextOutput
from codemode.contract.telemetry import Telemetry
from codemode.runs.whole_run import MAX_IDLE_YIELDS, JoinedOutput, run_to_end
from tests.harness.engine import Desk, echo, engine, failure_of, pay, texts, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")
PAID = (
    "text('one'); const paid = await tools.pay({ amount: 3 }).catch((e) => e.code); text('two'); return paid"
)
NOTHING = Telemetry(calls=())


def yes(_: object) -> bool:
    return True


def approval_of(result: Waiting) -> str:
    (asked,) = [call.approval for call in result.pending_tool_calls if call.approval is not None]
    return asked.id


async def test_a_program_that_yields_goes_on_at_once_and_the_output_of_all_legs_is_joined_in_order() -> None:
    async with engine() as made:
        result = await made.run(
            "text('a'); await yield_control(); json(1); await yield_control(); text('c'); return 4"
        )
    assert (value_of(result), texts(result)) == (4, ["a", 1, "c"])
    assert result.telemetry.counts["wait"] == 2


async def test_a_program_that_waits_for_a_slow_tool_is_waited_for() -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 100}) as made:
        running = asyncio.create_task(made.run("text('a'); return await tools.hold({ name: 'x' })"))
        await desk.asked("x")
        events = made.events()
        async for event in events:  # it was suspended, so the answer comes to a wait
            if event.type == "suspended":
                break
        desk.answer("x", "late")
        result = await running
    assert (value_of(result), texts(result)) == ("late", ["a"])


async def test_a_program_that_fails_is_a_result_with_the_output_of_all_legs() -> None:
    async with engine() as made:
        ended = await made.run("text('a'); await yield_control(); text('b'); throw new Error('no')")
    result = failure_of(ended, "guest_error")
    assert texts(result) == ["a", "b"]
    with pytest.raises(codemode.RunFailed, match=r"^guest_error: Error: no"):
        result.unwrap()


async def test_an_approval_that_nobody_decides_is_the_callers_to_decide() -> None:
    async with engine() as made:
        result = waiting(await made.run(PAID, session="s1"), "approval")
        assert texts(result) == ["one"]
        assert await made.approve(result.run_id, approval_of(result), session="s1")
        assert value_of(await made.wait(result.run_id, session="s1")) == "paid 3"


@pytest.mark.parametrize("is_approved", [True, False])
async def test_on_waiting_may_decide_and_the_run_goes_on(is_approved: bool) -> None:
    seen: list[str] = []
    async with engine() as made:

        async def decide(left: Waiting) -> None:
            seen.append(left.reason)
            if left.reason == "approval":
                answer = made.approve if is_approved else made.deny
                assert await answer(left.run_id, approval_of(left), session="s1")

        result = await made.run(f"await yield_control(); {PAID}", session="s1", on_waiting=decide)
    assert (value_of(result), texts(result)) == ("paid 3" if is_approved else "denied", ["one", "two"])
    assert seen == ["yield", "approval"]


async def test_on_waiting_that_only_looks_on_does_not_make_the_caller_wait_for_an_approval() -> None:
    seen: list[list[Any]] = []
    async with engine() as made:
        code = f"text('zero'); await yield_control(); {PAID}"
        ended = await made.run(code, on_waiting=lambda result: seen.append(texts(result)))
    result = waiting(ended, "approval")
    assert seen == [["zero"], ["one"]]  # each time what is new
    assert texts(result) == ["zero", "one"]


async def test_on_waiting_ends_it_with_false() -> None:
    async with engine() as made:
        result = waiting(await made.run("await yield_control(); return 5", on_waiting=lambda _: False))
        assert value_of(await made.wait(result.run_id)) == 5


async def test_what_on_waiting_raises_is_raised_and_the_run_stays_suspended() -> None:
    def refuse(_: Waiting) -> bool:
        raise ZeroDivisionError

    async with engine() as made:
        with pytest.raises(ZeroDivisionError):
            await made.run("await yield_control(); return 5", on_waiting=refuse)
        (left,) = await made.runs()
        assert value_of(await made.wait(left.run_id)) == 5


async def test_a_timeout_gives_back_the_run_as_it_waits() -> None:
    async with engine() as made:
        result = waiting(await made.run("text('a'); await yield_control(); return 5", timeout=0))
        assert texts(result) == ["a"]
        assert value_of(await made.wait(result.run_id)) == 5
        assert value_of(await made.run("return 6", timeout=0)) == 6


@pytest.mark.parametrize(
    ("output", "waits"), [((), MAX_IDLE_YIELDS - 1), ((TextOutput("on"),), 3 * MAX_IDLE_YIELDS)]
)
async def test_a_program_that_yields_for_ever_and_does_nothing_is_given_back(
    output: tuple[Output, ...], waits: int
) -> None:
    """Legs that were made up: a thousand real ones take a minute."""
    made = 0

    async def leg(_: str = "") -> CodeModeResult:
        nonlocal made
        made += 1
        if made > 3 * MAX_IDLE_YIELDS:
            return Completed(Raw(b"1"), (), NOTHING)
        return Waiting("run_1", "yield", (), output, NOTHING)

    result = await run_to_end(leg(), leg, lambda _, __: False)
    assert result.status == ("completed" if output else "waiting")
    assert made - 1 == waits


async def test_the_whole_run_has_the_scope_the_tools_and_the_language_of_its_call() -> None:
    told: list[tuple[str, str]] = []

    @tool
    def who(context: CallContext) -> str:
        told.append((context.agent_id, context.session_id))
        return "me"

    async with engine() as made:
        mine = Scope("helper", "s1", "turn")
        code = "const me: any = await tools.who({}); await yield_control(); return me + await tools.who({})"
        result = await made.run(code, "typescript", scope=mine, tools=iter([who]))
    assert value_of(result) == "meme"
    assert told == [("helper", "s1")] * 2


def test_the_blocking_twin_runs_to_the_end_and_its_on_waiting_may_call_it() -> None:
    with BlockingEngine([echo, pay], settings={"warmWorkers": 1}) as made:

        def decide(result: Waiting) -> bool:
            return made.approve(result.run_id, approval_of(result))

        async def later(result: Waiting) -> bool:
            return await made.engine.approve(result.run_id, approval_of(result))

        for handler in (decide, later):
            result = made.run(PAID, on_waiting=handler)
            assert (value_of(result), texts(result)) == ("paid 3", ["one", "two"])
        assert waiting(made.run(PAID), "approval").reason == "approval"
    failure_of(made.run("return 1"), "aborted")


def test_the_one_call_joins_all_output_takes_a_scope_and_a_timeout() -> None:
    code = "text('a'); await yield_control(); text('b'); return 1"
    result = codemode.run(code, scope=Scope(session="s1"))
    assert (value_of(result), texts(result)) == (1, ["a", "b"])
    assert texts(waiting(codemode.run(code, timeout=0), "yield")) == ["a"]
    assert value_of(codemode.run(PAID, [pay], on_waiting=lambda _: None, approve=yes)) == "paid 3"
    with pytest.raises(TypeError, match="say it once"):
        codemode.run("return 1", scope=Scope(session="s1"), session="s2")


def test_of_endless_output_the_beginning_and_the_end_are_kept_and_the_rest_is_noted() -> None:
    joined = JoinedOutput(max_bytes=1_000)
    for number in range(100):
        joined.add((TextOutput(f"{number:036}"), JsonOutput(Raw(b"1" * 36))))  # 100 bytes each
    result = joined.joined(Completed(Raw(b"1"), (), NOTHING, ("Other.",)))
    assert texts(result)[:5:2] == [f"{number:036}" for number in range(3)]
    assert texts(result)[-4] == f"{98:036}"
    assert len(result.output) == 10
    assert result.notes == (
        "190 items of output in the middle were dropped: 19,000 bytes. "
        "Those before and after them are there.",
        "Other.",
    )


def test_output_of_one_item_larger_than_what_is_kept_is_not_dropped() -> None:
    joined = JoinedOutput(max_bytes=100)
    joined.add((TextOutput("x" * 500),))
    assert joined.joined(Completed(Raw(b"1"), (), NOTHING)).output == (TextOutput("x" * 500),)


async def test_a_result_that_ends_at_once_is_not_waited_for() -> None:
    async def first() -> CodeModeResult:
        return Completed(Raw(b"1"), (TextOutput("a"),), NOTHING)

    def never(*_: str) -> Any:
        raise AssertionError

    assert await run_to_end(first(), never, never) == Completed(Raw(b"1"), (TextOutput("a"),), NOTHING)
