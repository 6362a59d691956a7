"""Tools that ask a person in the middle of a program: it is suspended, and the tool runs again with the
answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codemode import AnswerNeeded, ApprovalRequest, CallContext, Decision, tool
from codemode.contract.results import Waiting
from tests.harness.engine import engine, failure_of, value_of, waiting

BOOK = "return await tools.book({ city: 'Oslo' })"
begun: list[tuple[str, tuple[Any, ...]]] = []


@pytest.fixture(autouse=True)
def forget() -> None:
    begun.clear()


@tool
async def book(city: str, context: CallContext) -> dict[str, Any]:
    """Books, when a person has said when and for how many."""
    begun.append((city, context.answers))
    if not context.answers:
        raise AnswerNeeded("Book a room: when?", {"city": city, "ask": "when"})
    if len(context.answers) == 1:
        raise AnswerNeeded("Book a room: for how many?", ["how many"])
    return {"city": city, "answers": list(context.answers)}


def question(result: Waiting) -> str:
    (approval,) = (call.approval for call in result.pending_tool_calls if call.approval)
    return approval.id


async def test_a_tool_that_asks_suspends_the_program_and_runs_again_with_each_answer(
    leaves_nothing: None,
) -> None:
    async with engine([book]) as host:
        first = waiting(await host.exec(BOOK), "approval")
        details = await host.run_info(first.run_id)
        assert details is not None
        (asked,) = details.approvals
        assert (asked.summary, asked.question) == ("Book a room: when?", {"city": "Oslo", "ask": "when"})
        assert (asked.arguments, asked.answers) == ({"city": "Oslo"}, ())
        assert await host.approve(first.run_id, question(first), value={"day": 3})
        second = waiting(await host.wait(first.run_id), "approval")
        assert question(second) != question(first)
        assert not await host.approve(first.run_id, question(first), value={"day": 4})
        assert await host.approve(first.run_id, question(second), value=2)
        ended = await host.wait(first.run_id)
        details = await host.run_info(first.run_id)
    assert value_of(ended) == {"city": "Oslo", "answers": [{"day": 3}, 2]}
    assert begun == [("Oslo", ()), ("Oslo", ({"day": 3},)), ("Oslo", ({"day": 3}, 2))]


@pytest.mark.guarantee("approvals-survive-the-engine")
async def test_a_question_outlives_its_engine_and_its_answer_is_given_to_the_next(tmp_path: Path) -> None:
    @tool
    async def choose(context: CallContext) -> str:
        if not context.answers:
            raise AnswerNeeded("Which?", ["a", "b"])
        return f"chose {context.answers[0]}"

    store = str(tmp_path / "runs.sqlite")
    async with engine([choose], store=store) as host:
        left = await host.exec("return await tools.choose({})", session="s1", tool_call="toolu_1")
        first = waiting(left, "approval")
        (listed,) = await host.runs("s1")
        assert listed.tool_call == "toolu_1"
    async with engine([choose], store=store) as host:
        details = await host.run_info(first.run_id, session="s1")
        assert details is not None
        assert details.asked == (question(first),)
        assert [asked.question for asked in details.approvals] == [["a", "b"]]
        assert await host.approve(first.run_id, question(first), value="b", session="s1")
        ended = await host.wait(first.run_id, session="s1")
    assert value_of(ended) == "chose b"


async def test_an_answer_that_is_not_json_is_refused_and_the_question_stays_open() -> None:
    async with engine([book]) as host:
        first = waiting(await host.exec(BOOK))
        with pytest.raises(TypeError):
            await host.approve(first.run_id, question(first), value=object())
        assert await host.approve(first.run_id, question(first), value="x")


async def test_a_question_that_nobody_answers_with_yes_is_a_refusal_the_program_can_catch() -> None:
    async with engine([book]) as host:
        first = waiting(await host.exec(BOOK))
        assert await host.deny(first.run_id, question(first), reason="not in Oslo")
        ended = failure_of(await host.wait(first.run_id), "nested_tool_failed")
    assert "book was not approved: not in Oslo" in ended.error


async def test_the_hosts_handler_answers_a_tool_at_once_and_hears_no_end_before_the_answer() -> None:
    heard: list[Any] = []

    def approve(asked: ApprovalRequest) -> Decision:
        return Decision(True, value=f"{asked.question} {len(asked.answers)}")

    class Rule:
        def after_tool_call(self, event: Any) -> None:
            heard.extend([event.result.value] if event.tool == "book" else [])

    async with engine([book], approve=approve, hooks=Rule()) as host:
        found = value_of(await host.exec(BOOK))
    assert found["answers"] == ["{'city': 'Oslo', 'ask': 'when'} 0", "['how many'] 1"]
    assert heard == [found]


async def test_a_question_that_is_not_json_fails_the_call() -> None:
    @tool
    async def wrong() -> None:
        raise AnswerNeeded("?", object())

    async with engine([wrong]) as host:
        ended = failure_of(await host.exec("return await tools.wrong({})"), "nested_tool_failed")
    assert "wrong asked a question that is not JSON" in ended.error


async def test_a_tool_that_needs_an_approval_too_is_approved_first_and_then_asks() -> None:
    @tool(requires_approval=True)
    async def give(to: str, context: CallContext) -> str:
        if not context.answers:
            raise AnswerNeeded("How much?")
        return f"{context.answers[0]} to {to}"

    async with engine([give]) as host:
        first = waiting(await host.exec("return await tools.give({ to: 'Ada' })"), "approval")
        assert await host.approve(first.run_id, question(first))
        second = waiting(await host.wait(first.run_id), "approval")
        assert await host.approve(first.run_id, question(second), value=5)
        assert value_of(await host.wait(first.run_id)) == "5 to Ada"


async def test_what_a_tool_asks_is_bounded_and_its_summary_is_a_text() -> None:
    asks: list[tuple[Any, Any]] = [("x" * 3_000, None), (7, None), ("much", "y" * 262_143)]

    @tool
    async def ask(context: CallContext) -> str:
        raise AnswerNeeded(*asks.pop(0))

    async with engine([ask]) as host:
        told: list[str] = []
        for _ in range(2):
            result = waiting(await host.exec("return await tools.ask({})"))
            told += [call.approval.summary for call in result.pending_tool_calls if call.approval]
        refused = await host.exec("return await tools.ask({}).catch((error) => error.message)")
    assert told == ["x" * 1_999 + "…", "7"]
    assert value_of(refused) == "ask asked a question of 262,145 bytes; it may have 262,144"


async def test_a_tool_that_asks_without_end_and_a_handler_that_always_answers_come_to_an_end() -> None:
    @tool
    async def ask(context: CallContext) -> str:
        raise AnswerNeeded("again", len(context.answers))

    def approve(asked: ApprovalRequest) -> Decision:
        return Decision(True, value=asked.summary)

    async with engine([ask], approve=approve) as host:
        ended = await host.exec("return await tools.ask({}).catch((error) => error.message)")
    assert value_of(ended) == "ask asked 100 times in one call, and was answered each time"
