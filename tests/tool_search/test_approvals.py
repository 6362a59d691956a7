"""Blocks and approvals of the host under Tool Search: reported, not bypassed, and run once when given."""

from __future__ import annotations

from typing import Any

import pytest

from codemode import Engine, ToolHints
from codemode.executor import ApprovalRequest, BeforeToolCall, Block, RequireApproval
from tests.harness.tool_search import MODES, Log, call, told

pytestmark = pytest.mark.usefixtures("leaves_nothing")


class Rule:
    """Blocks one tool, wants an approval for another."""

    def before_tool_call(self, event: BeforeToolCall) -> Any:
        match event.tool:
            case "blocked":
                return Block("not on a Sunday")
            case "asked":
                return RequireApproval("Really?")
            case _:
                return None


@pytest.mark.guarantee("tool-search-fails-closed")
@pytest.mark.parametrize("mode", MODES)
async def test_a_block_of_the_host_is_reported_and_not_bypassed(mode: str) -> None:
    log = Log()
    async with Engine([log.tool("blocked")], False, hooks=Rule()) as engine:
        prepared = await engine.tool_search({"mode": mode}).prepare()
        answer = await call(prepared, "blocked", {"subject": "x"})
    assert "blocked was blocked: not on a Sunday" in told(answer)
    assert answer.code == ("nested_tool_failed" if mode == "code" else "denied")
    assert log.ran == []


@pytest.mark.guarantee("tool-search-fails-closed")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", ["asked", "pay"])
async def test_an_approval_that_is_refused_is_reported_and_not_bypassed(mode: str, tool: str) -> None:
    log, requests = Log(), list[ApprovalRequest]()
    tools = [log.tool("asked"), log.tool("pay", hints=ToolHints(requires_approval=True))]

    def approve(request: ApprovalRequest) -> bool:
        requests.append(request)
        return False

    async with Engine(tools, False, hooks=Rule(), approve=approve) as engine:
        prepared = await engine.tool_search({"mode": mode}).prepare()
        answer = await call(prepared, tool, {"subject": "x"})
    assert f"{tool} was not approved" in told(answer)
    assert [(asked.tool, asked.tool_id, asked.arguments) for asked in requests] == [
        (tool, f"plugin:acme:{tool}", {"subject": "x"})
    ]
    assert log.ran == []


@pytest.mark.parametrize("decision", ["approve", "deny"])
async def test_a_call_that_waits_for_approval_runs_when_it_is_given_and_only_then(decision: str) -> None:
    log = Log()
    pay = log.tool("pay", hints=ToolHints(requires_approval=True))
    async with Engine([pay], False) as engine:
        prepared = await engine.tool_search({"mode": "tools"}).prepare()
        waits = await call(prepared, "pay", {"subject": "x"})
        assert waits.approval is not None
        ran_before = list(log.ran)
        if decision == "approve":
            decided = await prepared.approve(waits.approval.id)
        else:
            decided = await prepared.deny(waits.approval.id, "too much")
        again = await prepared.approve(waits.approval.id)
    assert decided is not None
    assert (waits.status, waits.approval.summary, ran_before, again) == (
        "waiting",
        "Run pay(subject)",
        [],
        None,
    )
    assert waits.to_envelope()["status"] == "healthy"
    if decision == "approve":
        assert (decided.status, decided.value) == ("completed", {"did": "pay", "subject": "x"})
    else:
        assert (decided.code, told(decided)) == ("denied", "pay was not approved: too much")
    assert log.ran == ([("pay", {"subject": "x"})] if decision == "approve" else [])


async def test_an_approval_that_comes_when_the_tool_is_gone_runs_nothing() -> None:
    log = Log()
    live = [log.tool("pay", hints=ToolHints(requires_approval=True))]
    async with Engine([log.tool("other")], False) as engine:
        prepared = await engine.tool_search({"mode": "tools"}).prepare(tools=lambda: live)
        waits = await call(prepared, "pay", {"subject": "x"})
        live.clear()
        assert waits.approval is not None
        answer = await prepared.approve(waits.approval.id)
    assert answer is not None
    assert answer.code == "unknown_tool"
    assert log.ran == []


async def test_a_program_cannot_wait_for_an_approval_and_is_told_which() -> None:
    log = Log()
    pay = log.tool("pay", hints=ToolHints(requires_approval=True))
    program = (
        "try { await openclaw.tools.call('pay', { subject: 'x' }) } catch (e) { return [e.code, e.message] }"
    )
    async with Engine([pay], False) as engine:
        prepared = await engine.tool_search({"mode": "code"}).prepare()
        answer = await prepared.call("tool_search_code", {"code": program})
    assert answer.value == ["denied", "pay needs an approval that nobody has given: Run pay(subject)"]
    assert log.ran == []
