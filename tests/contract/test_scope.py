"""Who calls: names one by one or as a Scope, in every method that takes them."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from codemode import BlockingEngine, Engine, Scope
from codemode.adapters import prepare_tools
from codemode.contract.scope import UNSAID, scope_of
from tests.harness.engine import engine, failure_of, value_of, waiting

MINE = Scope(agent="helper", session="s1", agent_run="turn-1")


def test_a_scope_has_defaults_that_are_those_of_the_methods() -> None:
    assert Scope() == Scope("main", "default", "-") == scope_of(None)
    assert Scope(session="s1") == scope_of(None, session="s1")
    assert [type(name) for name in (scope_of(None).agent, scope_of(Scope()).session)] == [str, str]


def test_names_that_repeat_the_scope_are_no_conflict() -> None:
    assert scope_of(MINE, "helper", "s1", "turn-1") is MINE
    assert scope_of(MINE) is MINE


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ({"session": "s2"}, "the session 's1', and session='s2'"),
        ({"session": "default"}, "the session 's1', and session='default'"),
        ({"agent": "main"}, "the agent 'helper', and agent='main'"),
        ({"agent_run": None}, "the agent_run 'turn-1', and agent_run=None"),
    ],
)
def test_a_name_that_contradicts_the_scope_is_refused_also_if_it_is_a_default(
    names: dict[str, Any], told: str
) -> None:
    with pytest.raises(TypeError) as refused:
        scope_of(MINE, **names)
    assert str(refused.value) == f"scope has {told} was given too: say it once."


@pytest.mark.parametrize("given", ["s1", {"session": "s1"}, ("main", "s1", "-")])
def test_what_is_no_scope_is_refused_by_its_type(given: Any) -> None:
    with pytest.raises(TypeError, match=rf"^scope must be a codemode.Scope, not {type(given).__name__}\.$"):
        scope_of(given)


async def test_a_run_of_a_scope_is_found_with_it_in_every_method_and_without_it_in_none() -> None:
    async with engine() as made:
        result = waiting(await made.exec("return await tools.pay({ amount: 1 })", scope=MINE), "approval")
        run_id, (call,) = result.run_id, result.pending_tool_calls
        assert call.approval is not None
        for other in (Scope(), Scope("helper", "s1"), Scope("helper", "s2", "turn-1")):
            failure_of(await made.wait(run_id, scope=other), "invalid_input")
            assert not await made.approve(run_id, call.approval.id, scope=other)
            assert not await made.deny(run_id, call.approval.id, scope=other)
            assert not await made.abort(run_id, scope=other)
            assert await made.trajectory(run_id, scope=other) is None
            assert await made.runs(scope=other) == []
        assert await made.trajectory(run_id, scope=MINE) is not None
        assert [found.run_id for found in await made.runs(scope=MINE)] == [run_id]
        assert await made.approve(run_id, call.approval.id, scope=MINE)
        # the same caller by names
        names: dict[str, Any] = {"agent": "helper", "session": "s1", "agent_run": "turn-1"}
        assert value_of(await made.wait(run_id, **names)) == "paid 1"


async def test_what_is_prepared_for_a_scope_runs_in_it_also_through_adapters_and_tool_search() -> None:
    async with engine() as made:
        tools = await prepare_tools(made, scope=MINE)
        left = await tools.call("exec", {"code": "await yield_control(); return 1"})
        assert [found.run_id for found in await made.runs(scope=MINE)] == [left.value["runId"]]
        shown = (await made.tool_search().prepare(scope=MINE)).visible
        assert [tool.name for tool in shown] == ["exec", "wait"]
        with pytest.raises(TypeError, match="say it once"):
            await made.prepare(scope=MINE, session="s2")
        with pytest.raises(TypeError, match="say it once"):
            await made.exec("return 1", scope=MINE, session="s2")
        with pytest.raises(TypeError, match="say it once"):
            await made.runs("s2", scope=MINE)


async def test_a_whole_session_is_ended_or_told_of_only_if_it_is_named() -> None:
    async with engine() as made:
        result = waiting(await made.exec("await yield_control()", scope=MINE))
        # that of another agent run too: a session is all of them
        owner = Scope("helper", "s1")
        found = await made.session_trajectory(scope=owner)
        assert found is not None
        assert [one.run_id for one in found.runs] == [result.run_id]
        with pytest.raises(TypeError, match=r"^abort_session needs a session, or a scope\.$"):
            await made.abort_session()
        with pytest.raises(TypeError, match=r"^session_trajectory needs a session, or a scope\.$"):
            await made.session_trajectory(agent="helper")
        assert await made.abort_session("s1") == 0  # of the agent main
        assert await made.abort_session(scope=owner) == 1


@pytest.mark.parametrize("blank", ["", " "])
async def test_a_blank_name_in_a_scope_is_answered_as_a_blank_name_is(blank: str) -> None:
    async with engine() as made:
        nobody = Scope(session=blank)
        result = failure_of(await made.exec("return 1", scope=nobody), "invalid_input")
        assert result == failure_of(await made.exec("return 1", session=blank), "invalid_input")
        assert result.error == "the session must be a text that is not blank."
        assert not await made.abort("run_x", scope=nobody)
        assert await made.abort_session(scope=nobody) == 0
        assert await made.trajectory("run_x", scope=nobody) is None


def test_the_blocking_twin_takes_a_scope_too() -> None:
    with BlockingEngine(settings={"warmWorkers": 1}) as made:
        result = waiting(made.exec("await yield_control(); return 2", scope=MINE))
        failure_of(made.wait(result.run_id, session="s1"), "invalid_input")
        assert value_of(made.wait(result.run_id, scope=MINE)) == 2


def test_the_names_that_methods_default_to_are_shown_as_plain_words() -> None:
    assert repr(UNSAID) == "Scope(agent='main', session='default', agent_run='-')"
    assert inspect.signature(Engine.exec).parameters["session"].default == "default"
