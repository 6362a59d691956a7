"""The blocking twin and the one-call `run`; and the lines of code that others rely on, as written."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import codemode
from codemode import BlockingEngine, Engine, tool
from codemode.blocking import run as run_once
from tests.control.engine_harness import Desk, echo, fail, failure_of, pay, run, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@tool
def add(a: int, b: int) -> int:
    """Adds, in a thread."""
    return a + b


def yes(_: object) -> bool:
    return True


@tool
async def slow(ms: int) -> int:
    """Takes its time."""
    await asyncio.sleep(ms / 1000)
    return ms


def test_the_surface_that_others_rely_on_works_as_written(tmp_path: Path) -> None:
    async def scenario() -> None:
        from codemode import Engine, tool

        @tool
        async def echo(value: dict[str, Any]) -> dict[str, Any]:
            return value

        async with Engine(tools=[echo], config={"enabled": True, "timeoutMs": 2000}) as engine:
            result = await engine.exec("return 1 + 1", language="javascript", session="s1")
            while result.status == "waiting":
                result = await engine.wait(result.run_id, session="s1")
            assert result.to_dict()["value"] == 2

            result = await engine.exec(
                {"code": "await yield_control(); return await tools.echo({ value: { a: 1 } })"}, session="s1"
            )
            while result.status == "waiting":
                result = await engine.wait(result.run_id, session="s1")
            assert result.to_dict()["value"] == {"a": 1}

            result = waiting(await engine.exec("await yield_control()", session="s1"))
            assert await engine.abort(result.run_id, session="s1")
            assert engine.health()["status"] in ("healthy", "degraded")
            assert engine.stats()["totals"]["counts"]["exec"] == 3

        async with Engine(tools=[echo], store=str(tmp_path / "runs.sqlite")) as engine:
            assert value_of(await engine.exec("return 1")) == 1
        async with Engine(tools=[echo], policy={"deny": ["echo"]}, hooks=None, approve=yes) as engine:
            assert value_of(await engine.exec("return ALL_TOOLS.length")) == 0

    run(scenario)


def test_the_one_call_that_others_rely_on_works_as_written_also_after_an_engine_was_used() -> None:
    assert Engine is codemode.Engine
    assert value_of(codemode.run("return 1 + 1", tools=[add])) == 2


def test_the_blocking_twin_does_what_the_engine_does() -> None:
    with BlockingEngine([echo, fail, pay, add], {"enabled": True}, settings={"warmWorkers": 1}) as engine:
        assert value_of(engine.exec("return await tools.add({ a: 1, b: 2 })")) == 3
        result = waiting(engine.exec("await yield_control(); return 4", session="s"))
        failure_of(engine.wait(result.run_id, session="t"), "invalid_input")
        assert value_of(engine.wait(result.run_id, session="s")) == 4
        result = waiting(engine.exec("return await tools.pay({ amount: 1 })"), "approval")
        (call,) = result.pending_tool_calls
        assert call.approval is not None
        assert engine.approve(result.run_id, call.approval.id)
        assert value_of(engine.wait(result.run_id)) == "paid 1"
        result = waiting(engine.exec("await yield_control()"))
        assert engine.abort(result.run_id)
        failure_of(engine.wait(result.run_id), "aborted")
        waiting(engine.exec("await yield_control()"))
        assert engine.abort_session("default") == 1


def test_the_blocking_twin_serves_several_threads_at_once() -> None:
    with BlockingEngine([add], True, settings={"warmWorkers": 1}) as engine:
        found: list[Any] = []

        def one(number: int) -> None:
            found.append(value_of(engine.exec(f"return await tools.add({{ a: {number}, b: 0 }})")))

        threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert sorted(found) == list(range(6))


def test_a_blocking_engine_can_be_closed_twice_and_from_a_failed_block() -> None:
    engine = BlockingEngine([add], True, settings={"warmWorkers": 1})
    with pytest.raises(KeyError), engine:
        raise KeyError("the host's own")
    engine.close()


def test_a_blocking_engine_whose_store_cannot_be_opened_leaves_no_thread(tmp_path: Path) -> None:
    engine = BlockingEngine([], True, store=tmp_path / "missing" / "folder" / "runs.sqlite")
    with pytest.raises(Exception, match="missing"):
        engine.start()


def test_run_goes_on_waiting_until_the_program_has_ended() -> None:
    result = run_once(
        "const v = await tools.slow({ ms: 250 }); await yield_control(); return v",
        tools=[slow],
        config={"enabled": True, "timeoutMs": 100},
    )
    assert value_of(result) == 250
    assert result.to_dict()["telemetry"]["counts"]["wait"] >= 2


def test_run_ends_where_an_approval_is_asked_for_that_nobody_can_give() -> None:
    waiting(run_once("return await tools.pay({ amount: 1 })", tools=[pay]), "approval")
    assert value_of(run_once("return await tools.pay({ amount: 1 })", tools=[pay], approve=yes)) == "paid 1"


def test_run_says_what_is_wrong_with_a_program() -> None:
    failure_of(run_once("let x = ;"), "invalid_input")
    failure_of(run_once("return 1 as number"), "invalid_input")
    assert value_of(run_once("return 1 as number", language="typescript")) == 1


def test_a_sync_tool_does_not_hold_up_the_loop() -> None:
    desk = Desk()
    released = threading.Event()

    @tool
    def block() -> str:
        """Blocks its thread."""
        return "released" if released.wait(20) else "never"

    async def scenario() -> None:
        async with Engine([block, *desk.tools], True, settings={"warmWorkers": 1}) as made:
            blocked = asyncio.create_task(made.exec("return await tools.block()"))
            for number in range(3):
                assert value_of(await made.exec(f"return {number}")) == number
            released.set()
            assert value_of(await blocked) == "released"

    began = time.monotonic()
    run(scenario)
    assert time.monotonic() - began < 20  # or the loop stood still until the tool gave up
