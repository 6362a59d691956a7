"""Approvals: asked for once, decided once, by whoever the run belongs to, at any moment."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codemode import Waiting, tool
from tests.harness.engine import Desk, engine, failure_of, statuses, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def approval_in(result: Waiting) -> str:
    (found,) = [call.approval.id for call in result.pending_tool_calls if call.approval is not None]
    return found


async def test_an_approved_call_runs_with_the_next_wait_and_a_denied_one_fails_it() -> None:
    async with engine() as made:
        result = waiting(await made.exec("return await tools.pay({ amount: 5 })", session="s"), "approval")
        (call,) = result.pending_tool_calls
        assert call.approval is not None
        assert call.tool == "openclaw:core:pay"
        assert not await made.approve(result.run_id, "apr_other", session="s")
        assert not await made.approve(result.run_id, call.approval.id, session="t")
        assert await made.approve(result.run_id, call.approval.id, session="s")
        assert value_of(await made.wait(result.run_id, session="s")) == "paid 5"

        result = waiting(
            await made.exec("return await tools.pay({ amount: 6 }).catch((e) => e.code)"), "approval"
        )
        (call,) = result.pending_tool_calls
        assert call.approval is not None
        assert await made.deny(result.run_id, call.approval.id, reason="too much")
        result = await made.wait(result.run_id)
        assert value_of(result) == "denied"
        assert statuses(result) == [("pay", "denied")]


async def test_a_wait_before_the_approval_is_waiting_for_it_again() -> None:
    async with engine(config={"timeoutMs": 100}) as made:
        result = waiting(await made.exec("return await tools.pay({ amount: 5 })"), "approval")
        again = waiting(await made.wait(result.run_id), "approval")
        assert [c.approval for c in again.pending_tool_calls] == [
            c.approval for c in result.pending_tool_calls
        ]


async def test_an_approver_that_answers_is_asked_within_exec() -> None:
    asked: list[Any] = []

    def approve(request: Any) -> bool:
        asked.append((request.tool, request.arguments))
        return request.arguments["amount"] < 10

    async with engine(approve=approve) as made:
        assert value_of(await made.exec("return await tools.pay({ amount: 5 })")) == "paid 5"
        failure_of(await made.exec("return await tools.pay({ amount: 50 })"), "nested_tool_failed")
        assert asked == [("pay", {"amount": 5}), ("pay", {"amount": 50})]


async def test_an_approval_may_come_while_a_wait_is_waiting_for_it() -> None:
    async with engine() as made:
        result = waiting(await made.exec("return await tools.pay({ amount: 5 })"), "approval")
        task = asyncio.create_task(made.wait(result.run_id))
        await asyncio.sleep(0)
        assert await made.approve(result.run_id, approval_in(result))
        assert value_of(await task) == "paid 5"


async def test_an_action_approved_twice_is_done_once() -> None:
    done: list[int] = []

    @tool(requires_approval=True)
    async def act(number: int) -> int:
        """Acts."""
        done.append(number)
        return number

    async with engine([act]) as made:
        result = waiting(await made.exec("return await tools.act({ number: 1 })"), "approval")
        answers = [await made.approve(result.run_id, approval_in(result)) for _ in range(2)]
        assert answers == [True, False]
        assert not await made.deny(result.run_id, approval_in(result))
        assert value_of(await made.wait(result.run_id)) == 1
        assert done == [1]


async def test_an_approval_is_for_one_action_and_no_other() -> None:
    async with engine() as made:
        program = (
            "return await Promise.all([5, 6].map((amount) => tools.pay({ amount }).catch((e) => e.code)))"
        )
        result = waiting(await made.exec(program), "approval")
        first, second = (call.approval for call in result.pending_tool_calls)
        assert first is not None
        assert second is not None
        assert first.id != second.id
        assert await made.approve(result.run_id, second.id)
        assert await made.deny(result.run_id, first.id)
        assert value_of(await made.wait(result.run_id)) == ["denied", "paid 6"]


async def test_a_run_of_an_agent_run_is_approved_with_its_whole_scope() -> None:
    async with engine() as made:
        scope: dict[str, Any] = {"session": "s", "agent": "a", "agent_run": "turn"}
        result = waiting(await made.exec("return await tools.pay({ amount: 5 })", **scope), "approval")
        others: list[dict[str, Any]] = [
            {},
            {"session": "s"},
            {**scope, "agent_run": "other"},
            {**scope, "session": ""},
        ]
        for other in others:
            assert not await made.approve(result.run_id, approval_in(result), **other)
        assert await made.approve(result.run_id, approval_in(result), **scope)
        assert value_of(await made.wait(result.run_id, **scope)) == "paid 5"


async def test_calls_that_need_no_approval_go_on_while_one_is_waited_for() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        program = "return await Promise.all([tools.pay({ amount: 1 }), tools.hold({ name: 'a' }).then((v) => { text(v); return v })])"
        result = waiting(await made.exec(program), "approval")
        await desk.asked("a")
        desk.answer("a")
        again = waiting(await made.wait(result.run_id), "approval")
        assert statuses(again) == [("pay", "pending"), ("hold", "ok")]
        assert await made.approve(again.run_id, approval_in(again))
        assert value_of(await made.wait(result.run_id)) == ["paid 1", "a"]
