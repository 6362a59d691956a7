"""The envelope: one shape for results of exec and wait, of tools, of controls and of programs."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from codemode import Engine, ToolHints, to_envelope
from codemode.contract.error_codes import CALL_ERRORS, ERRORS
from codemode.executor import BeforeToolCall, Block, CallFailed, FailureCode
from codemode.tool_search.answers import of_call
from tests.harness.engine import engine
from tests.harness.tool_samples import make
from tests.harness.tool_search import Log

KEYS = ["status", "data", "error", "meta"]
# What an agent can do nothing about, of each kind; all other codes are recoverable.
FINAL = {"runtime_unavailable", "invalid_config", "aborted", "internal_error"}
FINAL_CALLS = {"denied", "aborted"}


@pytest.mark.guarantee("errors-tell-what-to-do")
def test_what_is_recoverable_is_fixed_for_each_code() -> None:
    assert {code for code, facts in ERRORS.items() if not facts.recoverable} == FINAL
    assert {code for code, facts in CALL_ERRORS.items() if not facts.recoverable} == FINAL_CALLS


@pytest.mark.guarantee("errors-tell-what-to-do")
@pytest.mark.parametrize("code", get_args(FailureCode))
def test_each_way_a_call_can_fail_has_an_envelope_with_a_suggestion(code: FailureCode) -> None:
    answer = of_call(
        "tool_call", CallFailed(code, "Name", "why", {"a": 1}), make("ship", source="mcp"), ("flattened",)
    )
    facts = CALL_ERRORS[code]
    assert facts.suggestion.endswith(".")
    assert list(answer.to_envelope()) == KEYS
    assert answer.to_envelope() == {
        "status": "unavailable" if code in FINAL_CALLS else "degraded",
        "data": None,
        "error": {
            "code": code,
            "message": "why",
            "recoverable": code not in FINAL_CALLS,
            "suggestion": facts.suggestion,
        },
        "meta": {
            "status": "failed",
            "called": "tool_call",
            "repairs": ["flattened"],
            "tool": {"id": "mcp:acme:ship", "name": "ship", "source": "mcp"},
            "phase": "bridge",
            "durationMs": 0,
        },
    }
    again = {"retryable": True} if code in ("timeout", "interrupted") else {}
    assert answer.to_dict() == {"status": "failed", "error": "why", "code": code, "data": {"a": 1}, **again}


def test_the_codes_of_calls_are_those_that_the_executor_has() -> None:
    assert set(CALL_ERRORS) == set(get_args(FailureCode))


class Rule:
    def before_tool_call(self, event: BeforeToolCall) -> Block | None:
        return Block("no") if event.tool == "sink" else None


@pytest.mark.usefixtures("leaves_nothing")
@pytest.mark.guarantee("errors-tell-what-to-do")
async def test_whatever_a_model_calls_the_host_gets_the_same_shape() -> None:
    log = Log()
    tools = [log.tool("ship"), log.tool("sink"), log.tool("pay", hints=ToolHints(requires_approval=True))]
    found: dict[str, dict[str, Any]] = {}
    async with Engine(tools, False, hooks=Rule()) as made:
        prepared = await made.tool_search({"mode": "directory"}).prepare()
        program = await made.tool_search({"mode": "code"}).prepare()
        for name, arguments in (
            ("ship", {"subject": "x"}),
            ("tool_search", {"query": "ship"}),
            ("tool_describe", {"id": "ship"}),
            ("tool_call", {"id": "sink", "args": {"subject": "x"}}),
            ("pay", {"subject": "x"}),
            ("nope", {}),
        ):
            found[name] = (await prepared.call(name, arguments)).to_envelope()
        code = {"code": "console.log('hi'); null.x"}
        found["program"] = (await program.call("tool_search_code", code)).to_envelope()
    assert all(list(envelope) == KEYS for envelope in found.values())
    assert {name: envelope["status"] for name, envelope in found.items()} == {
        "ship": "healthy",
        "tool_search": "healthy",
        "tool_describe": "healthy",
        "tool_call": "unavailable",
        "pay": "healthy",
        "nope": "degraded",
        "program": "degraded",
    }
    assert found["ship"]["data"] == {"value": {"did": "ship", "subject": "x"}}
    assert found["tool_call"]["error"]["code"] == "denied"
    assert found["tool_call"]["meta"]["tool"]["name"] == "sink"
    assert found["pay"]["data"]["approval"]["summary"] == "Run pay(subject)"
    assert found["pay"]["meta"]["status"] == "waiting"
    assert found["program"]["data"] is None
    assert found["program"]["meta"]["output"] == [{"type": "text", "text": "hi", "level": "log"}]
    assert found["program"]["meta"]["phase"] == "guest"


@pytest.mark.usefixtures("leaves_nothing")
async def test_results_of_exec_and_wait_have_it_whatever_they_are() -> None:
    async with engine() as made:
        results = [await made.exec(text) for text in ("return 1", "await yield_control()", "null.x")]
        completed, waiting, failed, unknown = [
            to_envelope(result) for result in (*results, await made.wait("run_nobody_has"))
        ]
    assert [list(found) for found in (completed, waiting, failed, unknown)] == [KEYS] * 4
    assert [found["status"] for found in (completed, waiting, failed, unknown)] == [
        "healthy",
        "healthy",
        "degraded",
        "degraded",
    ]
    assert (completed["data"]["value"], waiting["data"]["reason"]) == (1, "yield")
    assert (failed["error"]["code"], failed["error"]["recoverable"]) == ("guest_error", True)
    assert unknown["error"]["code"] == "invalid_input"
