"""Approvals through the engine: yes, no or later, each for one call of one run of one session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codemode import tool
from codemode.contract.results import Waiting
from codemode.executor import ApprovalRequest, Decision
from tests.harness.engine import engine, pay, statuses, texts, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def approvals(result: Waiting) -> dict[str, str]:
    """Call id to approval id."""
    return {call.id: call.approval.id for call in result.pending_tool_calls if call.approval is not None}


@pytest.mark.guarantee("an-approval-is-for-one-call")
async def test_an_inline_handler_says_yes_no_or_later() -> None:
    def approve(request: ApprovalRequest) -> Decision | bool | None:
        match request.arguments["amount"]:
            case 1:
                return True
            case 2:
                return Decision(False, "the till is empty")
            case _:
                return None

    program = """
    const settle = (promise) => promise.catch((e) => [e.code, e.message]);
    const calls = [1, 2, 3].map((amount) => settle(tools.pay({ amount })));
    text(await Promise.all(calls.slice(0, 2)));
    return await calls[2];
    """
    async with engine([pay], approve=approve) as made:
        result = waiting(await made.exec(program), "approval")
        assert statuses(result) == [("pay", "ok"), ("pay", "denied"), ("pay", "pending")]
        (later,) = approvals(result).values()
        assert await made.approve(result.run_id, later)
        ended = await made.wait(result.run_id)
        assert value_of(ended) == "paid 3"
        said = [*texts(result), *texts(ended)]
        assert said == ['["paid 1",["denied","pay was not approved: the till is empty"]]']


@pytest.mark.guarantee("an-approval-is-for-one-call")
async def test_a_handler_that_breaks_has_approved_nothing() -> None:
    def approve(_: ApprovalRequest) -> bool:
        raise RuntimeError("nobody at the desk")

    async with engine([pay], approve=approve) as made:
        result = await made.exec("return await tools.pay({ amount: 1 }).catch((e) => [e.code, e.message])")
        assert value_of(result) == ["denied", "pay was not approved: the approval handler failed"]


@pytest.mark.guarantee("an-approval-is-for-one-call")
async def test_parallel_calls_are_asked_about_side_by_side() -> None:
    everybody = asyncio.Barrier(4)

    async def approve(request: ApprovalRequest) -> bool:
        await everybody.wait()  # answers nobody before all have asked
        return request.arguments["amount"] != 2

    async with engine([pay], approve=approve) as made:
        program = """
        const calls = [0, 1, 2, 3].map((amount) => tools.pay({ amount }));
        return (await Promise.allSettled(calls)).map((settled) => settled.value ?? settled.reason.code);
        """
        assert value_of(await made.exec(program)) == ["paid 0", "paid 1", "denied", "paid 3"]


@pytest.mark.guarantee("an-approval-is-for-one-call")
async def test_two_approvals_decided_in_the_other_order_settle_in_that_order() -> None:
    program = """
    const act = (name) => tools.act({ name }).then((value) => text(value), (error) => text(error.message));
    await Promise.all(["first", "second"].map(act));
    """
    done: list[str] = []

    @tool(requires_approval=True)
    async def act(name: str) -> str:
        """Acts."""
        done.append(name)
        return name

    async with engine([act]) as made:
        result = waiting(await made.exec(program), "approval")
        first, second = approvals(result).values()
        assert await made.approve(result.run_id, second)
        result = waiting(await made.wait(result.run_id), "approval")
        assert (texts(result), done) == (["second"], ["second"])
        assert list(approvals(result).values()) == [first]
        assert await made.deny(result.run_id, first, reason="not today")
        ended = await made.wait(result.run_id)
        assert (value_of(ended), texts(ended)) == (None, ["act was not approved: not today"])
        assert done == ["second"]


@pytest.mark.guarantee("an-approval-is-for-one-call")
async def test_an_approval_decides_nothing_but_its_own_call_in_its_own_session() -> None:
    paid: list[int] = []

    @tool(requires_approval=True)
    async def spend(amount: int) -> int:
        """Spends."""
        paid.append(amount)
        return amount

    async with engine([spend]) as made:
        program = "return await tools.spend({ amount: 7 }).catch((e) => e.code)"
        one, two = [waiting(await made.exec(program, session="s"), "approval") for _ in range(2)]
        (own,), (other,) = approvals(one).values(), approvals(two).values()
        assert own != other  # the very same action, in another run
        wrong: list[tuple[str, str, dict[str, Any]]] = [
            (one.run_id, other, {"session": "s"}),
            (one.run_id, "1", {"session": "s"}),
            (one.run_id, "", {"session": "s"}),
            (one.run_id, own.upper(), {"session": "s"}),
            (one.run_id, own, {"session": "t"}),
            (one.run_id, own, {"session": "s", "agent": "other"}),
            (one.run_id, own, {}),
            ("run_unknown", own, {"session": "s"}),
        ]
        for run_id, approval_id, scope in wrong:
            assert not await made.approve(run_id, approval_id, **scope)
            assert not await made.deny(run_id, approval_id, **scope)
        assert paid == []
        assert await made.deny(one.run_id, own, session="s")
        assert await made.approve(two.run_id, other, session="s")
        assert value_of(await made.wait(one.run_id, session="s")) == "denied"
        assert value_of(await made.wait(two.run_id, session="s")) == 7
        assert paid == [7]
