"""Forks: what a copy of a suspended run or of a world gets, and that the original does not notice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from codemode import CallContext, Completed, Engine, ForkError, ToolError, Waiting, tool
from tests.harness.engine import Desk
from tests.harness.loops import until

KEY = bytes(range(32))
TWO = (
    "const seen = []; const a = tools.hold({ name: 'a' }); const b = tools.hold_again({ name: 'b' });"
    " await yield_control();"
    " for (const call of [a, b]) seen.push(await call.catch((e) => [e.code, e.message])); return seen"
)


@asynccontextmanager
async def engine_with(desk: Desk, **options: Any) -> AsyncGenerator[Engine]:
    config = {"enabled": True, "timeoutMs": 10_000} | options.pop("config", {})
    async with Engine(desk.tools, config, **options) as engine:
        yield engine


async def suspended(engine: Engine, program: str, **options: Any) -> Waiting:
    result = await engine.exec(program, session="s", **options)
    assert isinstance(result, Waiting), result
    return result


async def finished(engine: Engine, run_id: str) -> Any:
    result = await engine.wait(run_id, session="s")
    while isinstance(result, Waiting):
        result = await engine.wait(run_id, session="s")
    assert isinstance(result, Completed), result
    return result


@pytest.mark.guarantee("forks-leave-the-original")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_fork_gets_other_answers_and_the_original_its_own(tmp_path: Path, kind: str) -> None:
    desk = Desk()
    stored: dict[str, Any] = {"store": tmp_path / "runs.sqlite", "store_key": KEY} if kind == "sqlite" else {}
    async with engine_with(desk, **stored) as engine:
        run = await suspended(engine, TWO)
        await desk.asked("a", "b")
        ids = {one.tool: one.id for one in run.pending_tool_calls}
        told = await engine.run_info(run.run_id, session="s")
        fork = await engine.fork(
            run.run_id,
            settle={ids["openclaw:core:hold"]: 10, ids["openclaw:core:hold_again"]: 20},
            session="s",
        )
        failed = await engine.fork(
            run.run_id, settle={"1": ToolError("no", code="gone"), "2": {"x": [None]}}, session="s"
        )
        assert (await finished(engine, fork)).value == [10, 20]
        assert (await finished(engine, failed)).value == [["gone", "no"], {"x": [None]}]
        again = await engine.run_info(run.run_id, session="s")
        assert told is not None
        assert again is not None
        assert [one.id for one in again.pending_tool_calls] == [one.id for one in told.pending_tool_calls]
        assert again.bytes == told.bytes
        assert desk.started == ["a", "b"]
        desk.answer("a", 1)
        desk.answer("b", 2)
        done = await finished(engine, run.run_id)
        assert done.value == [1, 2]
        assert [call.status for call in done.telemetry.calls] == ["ok", "ok"]


@pytest.mark.guarantee("forks-leave-the-original")
async def test_calls_without_another_answer_are_interrupted_or_run_again() -> None:
    desk = Desk()
    async with engine_with(desk) as engine:
        run = await suspended(engine, TWO)
        await desk.asked("a", "b")
        first = desk.held["b"]
        fork = await engine.fork(run.run_id, session="s")
        going = asyncio.create_task(finished(engine, fork))
        await until(lambda: desk.started == ["a", "b", "b"])
        desk.held["b"].set_result("again")
        done = await going
        assert done.value[0][0] == "interrupted"
        assert done.value[1] == "again"
        assert [call.status for call in done.telemetry.calls] == ["error", "ok"]
        first.set_result("own")
        desk.answer("a", "kept")
        assert (await finished(engine, run.run_id)).value == ["kept", "own"]


async def test_what_had_settled_before_the_fork_is_the_forks_too_unless_it_is_answered_anew() -> None:
    desk = Desk()
    async with engine_with(desk) as engine:
        run = await suspended(engine, TWO)
        await desk.asked("a", "b")
        desk.answer("a", 1)
        desk.answer("b", 2)
        await until(lambda: not engine.stats().runs.get("running"))
        same, other = await asyncio.gather(
            engine.fork(run.run_id, session="s"), engine.fork(run.run_id, settle={1: "new"}, session="s")
        )
        results = await asyncio.gather(*(finished(engine, one) for one in (same, other, run.run_id)))
        assert [done.value for done in results] == [[1, 2], ["new", 2], [1, 2]]


async def test_forks_of_forks_go_on_at_once_and_apart() -> None:
    desk = Desk()
    async with engine_with(desk) as engine:
        run = await suspended(
            engine, "const c = tools.hold({ name: 'x' }); await yield_control(); return [await c]"
        )
        forks = [await engine.fork(run.run_id, settle={"1": at}, session="s") for at in range(6)]
        deeper = [
            await engine.fork(one, settle={"1": f"of {at}"}, session="s") for at, one in enumerate(forks)
        ]
        values = await asyncio.gather(*(finished(engine, one) for one in [*forks, *deeper]))
        assert [done.value for done in values] == [[at] for at in range(6)] + [
            [f"of {at}"] for at in range(6)
        ]
        desk.answer("x", "own")
        assert (await finished(engine, run.run_id)).value == ["own"]


async def test_a_fork_has_approvals_of_its_own() -> None:
    desk = Desk()
    async with engine_with(desk) as engine:
        run = await suspended(engine, "return await tools.pay({ amount: 5 })")
        [asked] = [one.approval for one in run.pending_tool_calls]
        assert asked is not None
        fork = await engine.fork(run.run_id, session="s")
        info = await engine.run_info(fork, session="s")
        assert info is not None
        own = info.to_dict()["pendingToolCalls"][0]["approval"]["id"]
        assert own != asked.id
        assert not await engine.approve(fork, asked.id, session="s")
        assert await engine.deny(fork, own, reason="not here", session="s")
        result = await engine.wait(fork, session="s")
        assert result.to_dict()["code"] == "nested_tool_failed"
        assert await engine.approve(run.run_id, asked.id, session="s")
        assert (await engine.wait(run.run_id, session="s")).status == "completed"


async def test_what_cannot_be_forked_is_said() -> None:
    desk = Desk()
    async with engine_with(desk) as engine:
        run = await suspended(engine, TWO)
        with pytest.raises(ForkError, match=r"^The run does not wait for call 9; it waits for: 1, 2\.$"):
            await engine.fork(run.run_id, settle={9: 1}, session="s")
        with pytest.raises(ForkError, match="takes ids of calls"):
            await engine.fork(run.run_id, settle={"x": 1}, session="s")
        with pytest.raises(ForkError, match="is not JSON"):
            await engine.fork(run.run_id, settle={1: object()}, session="s")
        with pytest.raises(ForkError) as other:
            await engine.fork(run.run_id, session="other")
        assert other.value.code == "invalid_input"
        with pytest.raises(ForkError):
            await engine.fork("run_nope", session="s")
        with pytest.raises(ForkError, match="has declared nothing that is kept"):
            await engine.fork(session="s")
        assert await engine.abort(run.run_id, session="s")
        with pytest.raises(ForkError):
            await engine.fork(run.run_id, session="s")


async def test_a_world_is_copied_into_another_session() -> None:
    async with engine_with(Desk(), config={"sessionState": "keep"}) as engine:
        await engine.exec("let n = 1; const bump = () => ++n", session="s")
        copy = await engine.fork(session="s")
        named = await engine.fork(session="s", into="t")
        assert named == "t"
        assert copy.startswith("s-")
        for session, value in ((copy, 2), (copy, 3), ("t", 2), ("s", 2)):
            assert (await engine.exec("return bump()", session=session)).to_dict()["value"] == value
        with pytest.raises(ForkError, match="has variables of its own"):
            await engine.fork(session="s", into="t")


async def test_a_fork_of_a_run_in_a_world_changes_its_own_copy() -> None:
    async with engine_with(Desk(), config={"sessionState": "keep"}) as engine:
        await engine.exec("let n = 1", session="s")
        run = await suspended(engine, "n += 10; await yield_control(); return ++n")
        fork = await engine.fork(run.run_id, session="s")
        done = await finished(engine, fork)
        assert (done.value, len(done.notes)) == (12, 1)
        assert (await finished(engine, run.run_id)).value == 12
        assert (await engine.exec("return n", session="s")).to_dict()["value"] == 12


@pytest.mark.guarantee("forks-leave-the-original")
async def test_a_call_of_a_dead_engine_that_ends_while_its_run_is_forked_is_in_the_ledger(
    tmp_path: Path,
) -> None:
    @tool(idempotent=True)
    async def quick(context: CallContext) -> str:
        """Waits for ever in the first engine, and answers at once in the next."""
        if not is_second:
            await asyncio.Event().wait()
        return "done"

    is_second = False
    options: dict[str, Any] = {"store": tmp_path / "runs.sqlite", "store_key": KEY}
    async with Engine([quick], {"enabled": True, "timeoutMs": 200}, **options) as first:
        run = await suspended(first, "return await tools.quick({})")
    is_second = True
    async with Engine([quick], True, **options) as second:
        fork = await second.fork(run.run_id, settle={"1": "other"}, session="s")
        assert (await finished(second, fork)).value == "other"
        done = await finished(second, run.run_id)
        assert (done.value, [call.status for call in done.telemetry.calls]) == ("done", ["ok"])
