"""Worlds through the engine: who has one, when it is kept, and what is noted."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from codemode import Completed, Engine, Failed, Waiting, clock
from codemode.contract.results import CodeModeResult
from tests.harness.engine import Desk

KEEP = {"enabled": True, "sessionState": "keep", "timeoutMs": 10_000}
KEY = bytes(range(32))
SUSPENDS = "const before = x; x = 2; await yield_control(); const after = 3; return before"
COPY = (
    "A suspended run of this session holds its variables: this program had a copy of them as they were "
    "before that run, and what it changed is not kept."
)
GONE = "What this program declared is not kept: the session's variables were reset or replaced meanwhile."
UNCHANGED = "The session's variables are as they were before this program."


@asynccontextmanager
async def engine_with(desk: Desk | None = None, **options: Any) -> AsyncGenerator[Engine]:
    config = KEEP | options.pop("config", {})
    async with Engine((desk or Desk()).tools, config, **options) as engine:
        yield engine


async def value(engine: Engine, program: str, session: str = "s", **options: Any) -> Any:
    result = await engine.exec(program, session=session, **options)
    assert isinstance(result, Completed), result
    return result.value


async def suspended(engine: Engine, program: str, **options: Any) -> str:
    result = await engine.exec(program, session="s", **options)
    assert isinstance(result, Waiting), result
    return result.run_id


async def test_without_the_setting_programs_share_nothing() -> None:
    async with Engine(config={"enabled": True}) as engine:
        await value(engine, "const x = 1")
        assert await value(engine, "return typeof x") == "undefined"
        assert await engine.world("s") is None
        assert await engine.reset("s") is False


@pytest.mark.guarantee("worlds-belong-to-their-session")
async def test_a_world_is_one_agents_in_one_session_whatever_its_agent_run() -> None:
    async with engine_with() as engine:
        await value(engine, "const x = 1", agent="a", agent_run="first")
        assert await value(engine, "return x", agent="a", agent_run="second") == 1
        assert await value(engine, "return typeof x", agent="b") == "undefined"
        assert await value(engine, "return typeof x", "other", agent="a") == "undefined"
        assert await value(engine, "return typeof x") == "undefined"


async def test_typescript_declarations_stay_for_programs_of_either_language() -> None:
    async with engine_with() as engine:
        await value(
            engine,
            "enum Color { Red, Green } const enum Size { S = 5 } namespace N { export const v: number = 7 }\n"
            "abstract class B { abstract z(): number }\n"
            "class C extends B { constructor(private q: number) { super() } z() { return this.q } }",
            language="typescript",
        )
        seen = "return [Color[1], Size.S, N.v, new C(9).z()]"
        assert await value(engine, seen) == ["Green", 5, 7, 9]
        assert await value(engine, seen, language="typescript") == ["Green", 5, 7, 9]
        assert await value(engine, "enum Color { Blue = 4 } return Color.Blue", language="typescript") == 4


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("x = 5; const y = 1; throw new Error('no')", "guest_error"),
        ("x = 5; const y = 1; return (", "invalid_input"),
        ("x = 5; const y = 1; while (true) {}", "timeout"),
        ("x = 5; const y = 1; await tools.fail({ message: 'm' })", "nested_tool_failed"),
        ("x = 5; const y = 1; return 'x'.repeat(70000)", "output_limit_exceeded"),
        ("x = 5; const y = []; for (;;) y.push('x'.repeat(1000))", "memory_limit_exceeded"),
    ],
)
async def test_a_program_that_fails_leaves_the_world_as_it_was(program: str, code: str) -> None:
    config = {"timeoutMs": 300} if code == "timeout" else {"memoryLimitBytes": 4 << 20}
    async with engine_with(config=config) as engine:
        await value(engine, "let x = 1")
        result = await engine.exec(program, session="s")
        assert isinstance(result, Failed)
        assert result.code == code
        assert UNCHANGED in result.notes
        assert await value(engine, "return [x, typeof y]") == [1, "undefined"]


async def test_a_cancelled_or_aborted_program_leaves_the_world_as_it_was() -> None:
    desk = Desk()
    async with engine_with(desk) as engine:
        await value(engine, "let x = 1")
        program = "x = 5; await tools.hold({ name: 'a' })"
        task = asyncio.create_task(engine.exec(program, session="s"))
        await desk.asked("a")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        task = asyncio.create_task(engine.exec(program.replace("'a'", "'b'"), session="s"))
        await desk.asked("b")
        assert await engine.abort_session("s") == 1
        assert (await task).status == "failed"
        assert await value(engine, "return x") == 1


async def test_one_program_at_a_time_has_the_world_and_another_waits_its_turn() -> None:
    desk = Desk()
    async with engine_with(desk) as engine:
        first = asyncio.create_task(
            value(engine, "let x = 1; x += await tools.hold({ name: 'a' }); return x")
        )
        await desk.asked("a")
        second = asyncio.create_task(value(engine, "x += 10; return x"))
        third = asyncio.create_task(value(engine, "x += 100; return x"))
        assert await value(engine, "return 5", "other") == 5
        desk.answer("a", 1)
        assert await asyncio.gather(first, second, third) == [2, 12, 112]


async def test_a_program_whose_turn_does_not_come_in_time_has_not_run() -> None:
    desk = Desk()
    async with engine_with(desk, config={"timeoutMs": 400}) as engine:
        await value(engine, "let x = 1")
        first = asyncio.create_task(
            engine.exec("await tools.hold({ name: 'a' }); x = 2; return x", session="s")
        )
        await desk.asked("a")
        results = await asyncio.gather(*(engine.exec("return ++x", session="s") for _ in range(3)))
        waiting = await first
        assert isinstance(waiting, Waiting)  # it was suspended at the end of its own budget
        texts = [result.error for result in results if isinstance(result, Failed)]
        copies = [result.value for result in results if isinstance(result, Completed)]
        assert len(texts) + len(copies) == 3
        assert set(copies) <= {2}
        assert all(text.startswith("The session's variables were not free for 400 ms: ") for text in texts)


async def test_a_suspended_run_holds_the_world_and_others_work_on_a_copy() -> None:
    async with engine_with() as engine:
        await value(engine, "let x = 1")
        run_id = await suspended(engine, SUSPENDS)
        world = await engine.world("s")
        assert world is not None
        assert world.held_by == run_id
        copied = await engine.exec("x += 10; const mine = 1; return [x, typeof before]", session="s")
        assert isinstance(copied, Completed)
        assert (copied.value, copied.notes) == ([11, "undefined"], (COPY,))
        assert (await engine.wait(run_id, session="s")).to_dict()["value"] == 1
        assert await value(engine, "return [x, before, after, typeof mine]") == [2, 1, 3, "undefined"]
        world = await engine.world("s")
        assert world is not None
        assert world.held_by is None


@pytest.mark.parametrize("end", ["abort", "fail"])
async def test_a_suspended_run_that_does_not_complete_leaves_the_world_as_it_was(end: str) -> None:
    async with engine_with() as engine:
        await value(engine, "let x = 1")
        run_id = await suspended(engine, "x = 2; await yield_control(); throw new Error('no')")
        if end == "abort":
            assert await engine.abort(run_id, session="s")
        else:
            assert (await engine.wait(run_id, session="s")).status == "failed"
        result = await engine.exec("return ++x", session="s")
        assert (result.to_dict()["value"], result.notes) == (2, ())
        assert await value(engine, "return x") == 2


async def test_a_copy_that_is_suspended_is_still_a_copy_when_it_goes_on() -> None:
    async with engine_with() as engine:
        await value(engine, "let x = 1")
        first = await suspended(engine, SUSPENDS)
        second = await suspended(engine, "x = 50; await yield_control(); return x")
        result = await engine.wait(second, session="s")
        assert result.to_dict()["value"] == 50
        assert (await engine.wait(first, session="s")).status == "completed"
        assert await value(engine, "return x") == 2


async def test_with_worldbusy_wait_a_program_waits_for_the_suspended_run() -> None:
    async with engine_with(config={"worldBusy": "wait"}) as engine:
        await value(engine, "let x = 1")
        run_id = await suspended(engine, SUSPENDS)
        later = asyncio.create_task(value(engine, "return [x, after]"))
        assert (await engine.wait(run_id, session="s")).status == "completed"
        assert await later == [2, 3]


async def test_with_worldbusy_wait_the_budget_ends_the_waiting() -> None:
    async with engine_with(config={"worldBusy": "wait", "timeoutMs": 200}) as engine:
        run_id = await suspended(engine, "await yield_control(); const x = 1")
        result = await engine.exec("return 1", session="s")
        assert isinstance(result, Failed)
        assert result.code == "timeout"
        assert result.error == (
            f"The session's variables were not free for 200 ms: {run_id} is suspended and holds it: wait for "
            "that run, or abort it. Nothing has run."
        )


async def test_reset_forgets_the_world_also_that_of_a_run_that_goes_on() -> None:
    async with engine_with() as engine:
        await value(engine, "let x = 1")
        run_id = await suspended(engine, SUSPENDS)
        assert await engine.reset("s") is True
        assert await engine.reset("s") is False
        result = await engine.wait(run_id, session="s")
        assert result.notes == (GONE,)
        assert await value(engine, "return [typeof x, typeof after]") == ["undefined", "undefined"]


async def test_a_world_over_the_limit_is_refused_with_a_note_and_the_previous_one_stays() -> None:
    async with engine_with(config={"maxSnapshotBytes": 20_000}) as engine:
        await value(engine, "let x = 1")
        result = await engine.exec(
            "x = 2; const big = Array.from({ length: 3000 }, () => Math.random()); return big.length",
            session="s",
        )
        assert result.to_dict()["value"] == 3000
        [note] = result.notes
        assert note.startswith("The session's variables are as before this program: they would take ")
        assert await value(engine, "return [x, typeof big]") == [1, "undefined"]


async def test_limits_are_those_of_the_new_run(tmp_path: Path) -> None:
    options: dict[str, Any] = {"store": tmp_path / "runs.sqlite", "store_key": KEY}
    async with engine_with(**options) as engine:
        await value(
            engine, "const list = Array.from({ length: 50000 }, (_, i) => ({ i })); return list.length"
        )
    async with engine_with(**options, config={"memoryLimitBytes": 1 << 20}) as engine:
        result = await engine.exec("return list.length", session="s")
        assert result.to_dict()["code"] == "memory_limit_exceeded"
        assert result.to_dict()["error"] == (
            "The session's variables cannot be restored: it holds more than the memory limit of today. "
            "Reset them."
        )
        assert await engine.reset("s")
        assert await value(engine, "return typeof list") == "undefined"


async def test_a_world_tells_its_names_types_bytes_and_age() -> None:
    async with engine_with() as engine:
        await value(engine, "const n = 1; let s = 'a'; var m = new Map(); function f() {} class K {}")
        await value(engine, "const list = []; n")
        world = await engine.world("s")
        assert world is not None
        assert world.names == {
            "n": "number", "s": "string", "m": "Map", "f": "function", "K": "function", "list": "Array",
        }  # fmt: skip
        assert (world.agent, world.session, world.programs, world.held_by) == ("main", "s", 2, None)
        assert 300 < world.bytes < 5_000
        assert 0 <= world.age_ms < 60_000
        assert world.expires_at_ms - world.saved_at_ms == 3_600_000
        assert await engine.runs() == []  # it is no run


async def test_an_expired_world_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    later_ms, now = 0, clock.wall_ms
    monkeypatch.setattr(clock, "wall_ms", lambda: now() + later_ms)
    async with engine_with(config={"worldTtlSeconds": 60}) as engine:
        await value(engine, "let x = 1")
        later_ms = 59_000
        assert await value(engine, "return x") == 1
        later_ms = 118_000
        assert await value(engine, "return x") == 1
        later_ms = 179_000
        result = await engine.exec("return typeof x", session="s")
        assert result.to_dict()["value"] == "undefined"
        assert result.notes == ("The session's earlier variables have expired: it begins with none.",)


async def test_no_caller_can_wait_for_look_at_or_abort_a_world_as_a_run(tmp_path: Path) -> None:
    async with engine_with(store=tmp_path / "runs.sqlite", store_key=KEY) as engine:
        await value(engine, "let x = 1")
        with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as db, db:
            [(world_id,)] = db.execute("SELECT run_id FROM runs").fetchall()
        assert (await engine.wait(world_id, session="s")).to_dict()["code"] == "invalid_input"
        assert await engine.abort(world_id, session="s") is False
        assert await engine.run_info(world_id, session="s") is None
        refused = await engine.exec("return 1", session="s", agent_run="codemode:world")
        assert refused.to_dict()["error"] == "an agent_run that begins with codemode: is the engine's own."
        assert await value(engine, "return x") == 1


async def test_a_world_outlives_its_engine_and_is_taken_by_any_other(tmp_path: Path) -> None:
    options: dict[str, Any] = {"store": tmp_path / "runs.sqlite", "store_key": KEY}
    async with engine_with(**options) as first:
        await value(first, "let x = 1; const bump = () => ++x")
        run_id = await suspended(first, "const got = bump(); await yield_control(); return bump()")
    async with engine_with(**options) as second, engine_with(**options) as third:
        assert (await second.wait(run_id, session="s")).to_dict()["value"] == 3
        assert await value(third, "return [x, got, bump()]") == [3, 2, 4]
        assert await value(second, "return x") == 4


async def test_a_world_that_cannot_be_opened_is_replaced_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    async with engine_with(store=path, store_key=KEY) as engine:
        await value(engine, "let x = 1")
    other: dict[str, Any] = {"store": path, "store_key": [bytes(range(1, 33)), KEY]}
    async with engine_with(**other) as engine:
        assert await value(engine, "return x") == 1
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE bodies SET delta = zeroblob(100)")
    async with engine_with(**other) as engine:
        result: CodeModeResult = await engine.exec("return typeof x", session="s")
        assert result.to_dict()["value"] == "undefined"
        assert result.notes == (
            "The session's earlier variables could not be opened by this engine: it begins with none.",
        )


@pytest.mark.guarantee("worlds-belong-to-their-session")
async def test_a_tool_that_the_new_run_may_not_use_is_not_reached_through_what_was_kept() -> None:
    async with engine_with() as engine:
        await value(engine, "const kept = tools.echo, call = tools.call; let seen = await kept({ value: 1 })")
        result = await engine.exec(
            "return [typeof tools.echo, await kept({ value: 2 }).catch((e) => e.code),"
            " await call('openclaw:core:echo', { value: 3 }).catch((e) => e.code), ALL_TOOLS.length]",
            session="s",
            allow=["pay"],
        )
        assert result.to_dict()["value"] == ["undefined", "unknown_tool", "unknown_tool", 1]
        assert await value(engine, "return await kept({ value: 4 })") == 4


async def test_an_approval_in_a_world_holds_it_until_it_is_given() -> None:
    async with engine_with() as engine:
        await value(engine, "let paid = 0")
        waiting = await engine.exec("paid = await tools.pay({ amount: 5 }); return paid", session="s")
        assert isinstance(waiting, Waiting)
        assert await value(engine, "paid = 'copy'; return paid") == "copy"
        [asked] = [one.approval for one in waiting.pending_tool_calls]
        assert asked is not None
        assert await engine.approve(waiting.run_id, asked.id, session="s")
        done = await engine.wait(waiting.run_id, session="s")
        assert done.to_dict()["value"] == await value(engine, "return paid")
