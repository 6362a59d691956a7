"""Whose run it is: outside its scope a run does not exist, and every way in which wait can fail."""

from __future__ import annotations

from typing import Any

import pytest

from codemode import Engine
from tests.harness.engine import Desk, engine, failure_of, value_of, waiting
from tests.harness.loops import until

pytestmark = pytest.mark.usefixtures("leaves_nothing")
YIELDING = "await yield_control(); return 'mine'"
OWN: dict[str, Any] = {"session": "s1", "agent": "a1", "agent_run": "turn-1"}
OUTSIDE: list[dict[str, Any]] = [
    {**OWN, "session": "s2"},
    {**OWN, "agent": "a2"},
    {**OWN, "agent_run": "turn-2"},
    {"session": "s1"},
    {"session": "s1", "agent": "a1"},
    {},
]
MISSING: list[dict[str, Any]] = [
    {**OWN, field: value} for field in OWN for value in ("", "  ", None, 7, "x" * 2000, "\ud800")
]


async def suspended(made: Engine, **scope: Any) -> str:
    return waiting(await made.exec(YIELDING, **scope)).run_id


@pytest.mark.guarantee("wrong-scope-fails")
async def test_unknown_and_foreign_runs_are_one_answer() -> None:
    async with engine() as made:
        run_id = await suspended(made, **OWN)
        unknown = await made.wait("run_" + "A" * 24, **OWN)
        failure_of(unknown, "invalid_input")
        for outside in OUTSIDE:
            assert (await made.wait(run_id, **outside)).to_dict() == unknown.to_dict()
            assert not await made.abort(run_id, **outside)
        assert value_of(await made.wait(run_id, **OWN)) == "mine"


@pytest.mark.guarantee("wrong-scope-fails")
async def test_a_scope_with_a_missing_field_fails_closed() -> None:
    async with engine() as made:
        run_id = await suspended(made, **OWN)
        for scope in MISSING:
            there = await made.wait(run_id, **scope)
            nowhere = await made.wait("run_" + "A" * 24, **scope)
            failure_of(there, "invalid_input")
            assert there.to_dict() == nowhere.to_dict()
            failure_of(await made.exec("return 1", **scope), "invalid_input")
            assert not await made.abort(run_id, **scope)
        assert value_of(await made.wait(run_id, **OWN)) == "mine"


async def test_which_tool_call_waits_does_not_matter() -> None:
    async with engine() as made:
        run_id = await suspended(made, **OWN, tool_call="call-1")
        assert value_of(await made.wait(run_id, **OWN, tool_call="call-2")) == "mine"


@pytest.mark.parametrize(
    "given",
    [
        *("", "   ", "nonsense", "x" * 5000, "\ud800", "a\0b", 7, None, []),
        *({}, {"runId": ""}, {"runId": 7}, {"run_id": "x"}, {"runId": "x", "more": 1}),
    ],
)
async def test_a_wait_for_anything_but_a_run_is_invalid_input(given: Any) -> None:
    async with engine() as made:
        result = failure_of(await made.wait(given), "invalid_input")
        assert result.phase == "input"
        assert result.output == ()


async def test_wait_takes_the_input_object_of_a_host() -> None:
    async with engine() as made:
        run_id = await suspended(made)
        assert value_of(await made.wait({"runId": run_id})) == "mine"


@pytest.mark.guarantee("expired-runs-fail")
async def test_an_expired_run_says_so_in_its_own_scope_and_does_not_exist_for_others() -> None:
    desk = Desk()
    async with engine(desk.tools, {"snapshotTtlSeconds": 1}) as made:
        result = waiting(await made.exec("tools.hold({ name: 'a' }); " + YIELDING, **OWN))
        await until(lambda: desk.joined == ["a"])  # by the engine's own timer: nobody asks for the run
        unknown = await made.wait("run_" + "A" * 24, session="s2")
        assert (await made.wait(result.run_id, session="s2")).to_dict() == unknown.to_dict()
        for _ in range(2):
            failed = failure_of(await made.wait(result.run_id, **OWN), "snapshot_expired")
            assert failed.phase == "host"
        assert not await made.abort(result.run_id, **OWN)


async def test_a_run_that_expires_under_a_wait_ends_that_wait_as_expired_and_cancels_its_calls() -> None:
    desk = Desk()
    async with engine(desk.tools, {"snapshotTtlSeconds": 1}) as made:
        result = waiting(
            await made.exec("await Promise.all([tools.hold({ name: 'a' }), tools.pay({ amount: 1 })])"),
            "approval",
        )
        failure_of(await made.wait(result.run_id), "snapshot_expired")
        assert desk.joined == ["a"]


@pytest.mark.guarantee("aborted-runs-fail")
async def test_an_aborted_run_says_so_in_its_own_scope_and_does_not_exist_for_others() -> None:
    async with engine() as made:
        run_id = await suspended(made, **OWN)
        assert await made.abort(run_id, **OWN)
        assert not await made.abort(run_id, **OWN)
        failed = failure_of(await made.wait(run_id, **OWN), "aborted")
        assert failed.phase == "host"
        other: dict[str, Any] = {**OWN, "session": "s2"}
        failure_of(await made.wait(run_id, **other), "invalid_input")


async def test_run_ids_are_long_and_never_the_same() -> None:
    async with engine() as made:
        ids = [await suspended(made) for _ in range(20)]
        assert len(set(ids)) == 20
        assert {len(run_id) for run_id in ids} == {28}


async def test_two_sessions_never_see_each_other_s_state() -> None:
    async with engine(settings={"workerReuse": 1000}) as made:
        first = waiting(
            await made.exec("globalThis.secret = 's1'; await yield_control(); return secret", session="s1")
        )
        second = waiting(
            await made.exec(
                "const seen = typeof secret; await yield_control(); return [seen, typeof secret]",
                session="s2",
            )
        )
        assert value_of(await made.wait(second.run_id, session="s2")) == ["undefined", "undefined"]
        assert value_of(await made.wait(first.run_id, session="s1")) == "s1"
