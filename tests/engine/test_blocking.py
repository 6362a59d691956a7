"""The blocking twin, and the lines of code that others rely on, as written."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

import pytest

import codemode
from codemode import BlockingEngine, CallContext, Engine, tool
from tests.harness.engine import echo, fail, failure_of, pay, value_of, waiting
from tests.harness.loops import run, until
from tests.harness.processes import python

T = TypeVar("T")
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


async def test_the_surface_that_others_rely_on_works_as_written(tmp_path: Path) -> None:
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


def blocking(*tools: Any, **options: Any) -> BlockingEngine:
    config = {"enabled": True, "timeoutMs": 20_000}
    return BlockingEngine([echo, fail, pay, add, *tools], config, settings={"warmWorkers": 1}, **options)


def test_the_blocking_twin_has_every_public_method_of_the_engine_with_its_parameters() -> None:
    def public(kind: type) -> dict[str, list[str]]:
        own = {name: member for part in kind.__mro__[:-1] for name, member in vars(part).items()}
        found = {name: member for name, member in own.items() if not name.startswith("_")}
        return {name: list(inspect.signature(member).parameters) for name, member in found.items()}

    wanted = public(Engine)
    for name in ("tool_search", "on_event"):  # what they give and call belongs to an event loop
        del wanted[name]
    wanted["health"].append("probe")  # instead of being awaited
    assert public(BlockingEngine) == wanted


def test_the_blocking_twin_tells_of_itself_and_of_its_runs_as_the_engine_does() -> None:
    with blocking() as engine:
        result = waiting(engine.exec("text('a'); await yield_control(); return 4", session="s"))
        assert [one["runId"] for one in engine.runs("s")] == [result.run_id]
        assert engine.runs("t") == []
        assert engine.stats()["runs"] == {"waiting": 1}
        assert engine.expire() == 0
        found = engine.trajectory(result.run_id, session="s")
        assert found is not None
        assert found.status == "waiting"
        assert engine.trajectory(result.run_id, session="t") is None
        every = engine.session_trajectory("s")
        assert every is not None
        assert [one.run_id for one in every.runs] == [result.run_id]
        assert {check["name"] for check in engine.health()["checks"]} == {"workers", "confinement"}
        assert "store" in {check["name"] for check in engine.health(probe=True)["checks"]}
        result = waiting(engine.exec("return await tools.pay({ amount: 1 })"), "approval")
        (call,) = result.pending_tool_calls
        assert call.approval is not None
        assert engine.deny(result.run_id, call.approval.id, reason="too much")
        assert "too much" in failure_of(engine.wait(result.run_id), "nested_tool_failed").error
    assert engine.health()["status"] == "unavailable"
    assert engine.stats()["totals"]["counts"]["exec"] == 2


def test_namespaces_can_be_registered_with_the_blocking_twin() -> None:
    def scope(_: object) -> dict[str, Any]:
        return {"answer": 42}

    with blocking() as engine:
        shop: dict[str, Any] = {
            "id": "shop",
            "globalName": "shop",
            "requiredToolNames": [],
            "createScope": scope,
        }
        engine.register_namespace("shops", shop)
        assert value_of(engine.exec("return shop.answer")) == 42
        assert engine.clear_namespaces("shops") == 1
        failure_of(engine.exec("return shop.answer"), "guest_error")


def test_what_the_blocking_twin_shows_the_model_works_in_any_event_loop() -> None:
    with blocking() as engine:
        prepared = engine.prepare(session="s")
        execute, wait = prepared.visible
        assert (execute.name, wait.name) == ("exec", "wait")

        async def elsewhere() -> Any:
            code = {"code": "await yield_control(); return await tools.echo({ value: 5 })"}
            first = await execute.run(code, CallContext())
            return await wait.run({"runId": first["runId"]}, CallContext())

        assert run(elsewhere)["value"] == 5
        given = {"code": "await yield_control(); return 6"}
        result = waiting(engine.exec(given, session="s"))
        assert value_of(engine.wait({"runId": result.run_id}, session="s")) == 6


def test_the_events_of_a_run_can_be_read_until_it_ends() -> None:
    with blocking() as engine:
        result = waiting(engine.exec("await yield_control(); text('on'); return 1"))
        events = engine.events(result.run_id)
        assert value_of(engine.wait(result.run_id)) == 1
        assert [event.type for event in events] == ["resumed", "output", "finished"]
        assert list(events) == []
        assert events.dropped == 0


def test_whoever_reads_all_events_is_told_when_the_engine_is_closed() -> None:
    with blocking() as engine:
        events, read = engine.events(), list[str]()
        reader = threading.Thread(target=lambda: read.extend(event.type for event in events))
        reader.start()
        assert value_of(engine.exec("return 1")) == 1
    reader.join(30)
    assert read == ["started", "finished"]
    assert list(engine.events()) == []


def test_events_that_nobody_reads_any_more_can_be_closed_or_forgotten() -> None:
    with blocking() as engine:
        events = engine.events()
        reader = threading.Thread(target=lambda: list(events))
        reader.start()
        events.close()
        reader.join(30)
        assert not reader.is_alive()
        engine.events()
        assert value_of(engine.exec("return 1")) == 1
        assert list(events) == []


def test_a_blocking_engine_that_is_not_started_or_closed_answers_what_the_engine_answers() -> None:
    async def asked(made: Engine) -> list[Any]:
        return [await made.exec("return 1"), await made.exec("  "), await made.wait("run_x")]

    async def scenario() -> tuple[list[Any], list[Any]]:
        made = Engine([add], settings={"warmWorkers": 1})
        before = await asked(made)
        async with made:
            pass
        return before, await asked(made)

    def answers(engine: BlockingEngine) -> list[Any]:
        assert not engine.abort("run_x")
        assert engine.abort_session("default") == 0
        assert engine.runs() == []
        assert engine.health()["status"] == "unavailable"
        return [engine.exec("return 1"), engine.exec("  "), engine.wait("run_x")]

    before, after = run(scenario)
    assert [result.code for result in before + after] == ["aborted", "invalid_input", "aborted"] * 2
    engine = BlockingEngine([add], settings={"warmWorkers": 1})
    assert answers(engine) == before
    with engine:
        assert value_of(engine.exec("return 1")) == 1
    assert answers(engine) == after


def test_what_needs_a_running_engine_says_so_and_does_not_wait_for_it() -> None:
    engine = BlockingEngine()
    for ask in (engine.prepare, engine.events, engine.expire):
        with pytest.raises(RuntimeError, match="not running: use it in a `with` block"):
            ask()
    with engine, pytest.raises(RuntimeError, match="started before"):
        engine.start()
    with pytest.raises(RuntimeError, match="started before"):
        engine.start()


def test_an_async_tool_that_calls_its_own_blocking_engine_fails_and_is_told_what_to_do() -> None:
    told: list[str] = []

    @tool
    async def recurse() -> Any:
        """Waits for the loop that waits for it."""
        engine.stats()  # waits for nothing
        for ask in (lambda: engine.exec("return 1"), lambda: next(events), engine.close, engine.start):
            with pytest.raises(RuntimeError) as refused:
                ask()
            told.append(str(refused.value))
        return (await engine.engine.exec("return 2")).to_dict()["value"]

    with blocking(recurse) as engine:
        events = engine.events()
        assert value_of(engine.exec("return await tools.recurse()")) == 2
    assert [text[:50] for text in told] == ["This was called in the engine's own thread, by an "] * 4


def test_a_sync_tool_may_call_its_own_blocking_engine() -> None:
    @tool
    def recurse() -> Any:
        """Has a thread of its own."""
        return value_of(engine.exec("return 3"))

    with blocking(recurse) as engine:
        assert value_of(engine.exec("return await tools.recurse()")) == 3


def test_tools_of_a_blocking_engine_see_the_context_variables_of_its_caller() -> None:
    who = ContextVar("who", default="nobody")

    @tool
    def whoami() -> str:
        """Whoever called."""
        return who.get()

    with blocking(whoami) as engine:
        who.set("the caller")
        assert value_of(engine.exec("return await tools.whoami()")) == "the caller"


def test_the_blocking_twin_serves_several_threads_at_once() -> None:
    with blocking() as engine:
        found = together(
            6, lambda number: value_of(engine.exec(f"return await tools.add({{ a: {number}, b: 0 }})"))
        )
        assert sorted(found) == list(range(6))


def test_whoever_calls_while_others_close_the_engine_gets_a_result_and_nobody_is_left_waiting() -> None:
    engine = blocking()
    engine.start()
    asked = threading.Semaphore(0)

    def one(number: int) -> str:
        if number >= 4:
            for _ in range(4):
                asked.acquire()
            asked.release(4)
            engine.close()
            return "closed"
        asked.release()
        for _ in range(200):
            result = engine.exec("return 1")
            if result.status == "failed":
                return result.code
        return "never closed"

    assert sorted(together(6, one)) == ["aborted"] * 4 + ["closed"] * 2


def together(count: int, work: Callable[[int], T]) -> list[T]:
    """What each of so many threads came back with, in the order in which they did."""
    found: list[T] = []

    def one(number: int) -> None:
        found.append(work(number))

    threads = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def test_a_blocking_engine_can_be_closed_twice_and_from_a_failed_block() -> None:
    engine = BlockingEngine([add], True, settings={"warmWorkers": 1})
    with pytest.raises(KeyError), engine:
        raise KeyError("the host's own")
    engine.close()


def test_a_blocking_engine_whose_store_cannot_be_opened_leaves_no_thread(tmp_path: Path) -> None:
    engine = BlockingEngine([], True, store=tmp_path / "missing" / "folder" / "runs.sqlite")
    with pytest.raises(Exception, match="missing"):
        engine.start()


async def test_a_sync_tool_does_not_hold_up_the_loop() -> None:
    """Were the loop held up, nobody would come to release the tool, and it would give up."""
    started, released = threading.Event(), threading.Event()

    @tool
    def block() -> str:
        """Blocks its thread."""
        started.set()
        return "released" if released.wait(20) else "never"

    async with Engine([block], True, settings={"warmWorkers": 1}) as made:
        blocked = asyncio.create_task(made.exec("return await tools.block()"))
        await until(started.is_set)
        for number in range(3):
            assert value_of(await made.exec(f"return {number}")) == number
        released.set()
        assert value_of(await blocked) == "released"


def test_in_a_forked_child_an_engine_of_the_parent_refuses_and_one_of_its_own_works() -> None:
    code = """
import os, sys
from codemode import BlockingEngine
with BlockingEngine(settings={"warmWorkers": 1}) as made:
    assert made.exec("return 1").unwrap() == 1
    child = os.fork()
    if child == 0:
        for step in (lambda: made.exec("return 2"), made.stats, made.start, made.events):
            try:
                step()
            except RuntimeError as error:
                assert "Make an engine of its own in the child" in str(error), error
            else:
                os._exit(3)
        made.close()
        with BlockingEngine(settings={"warmWorkers": 1}) as own:
            os._exit(0 if own.exec("return 3").unwrap() == 3 else 4)
    _, status = os.waitpid(child, 0)
    assert made.exec("return 4").unwrap() == 4
sys.exit(os.waitstatus_to_exitcode(status))
"""
    done = python("-W", "ignore", "-c", code)
    assert (done.returncode, done.stderr) == (0, "")
