"""Nested calls through the engine: what a tool knows of its caller, its limits, and how it is stopped."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from dataclasses import fields
from typing import Any

import pytest

from codemode import CallContext, tool
from tests.harness.engine import Desk, engine, failure_of, statuses, value_of, waiting
from tests.harness.loops import until
from tests.harness.tool_samples import make

pytestmark = pytest.mark.usefixtures("leaves_nothing")

REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("REQUEST", default="nobody's")


@tool
async def request_async() -> str:
    """Whose request it is."""
    return REQUEST.get()


@tool
def request_sync() -> str:
    """The same, from a thread."""
    return REQUEST.get()


@tool
async def who(context: CallContext) -> dict[str, Any]:
    """What the tool knows of its call."""
    texts = (own.name for own in fields(context) if own.compare)  # neither its abort nor its listener
    return {name: getattr(context, name) for name in texts}


@pytest.mark.guarantee("context-is-kept")
async def test_context_variables_of_whoever_carries_the_run_on_reach_every_tool() -> None:
    program = """
    const first = await Promise.all([tools.request_async(), tools.request_sync()]);
    await yield_control();
    return [...first, ...await Promise.all([tools.request_async(), tools.request_sync()])];
    """
    async with engine([request_async, request_sync]) as made:

        async def one(name: str) -> Any:
            REQUEST.set(name)
            result = waiting(await made.exec(program, session=name), "yield")
            REQUEST.set(f"{name} waiter's")
            return value_of(await made.wait(result.run_id, session=name))

        found = await asyncio.gather(asyncio.create_task(one("ann's")), asyncio.create_task(one("bob's")))
        assert found == [[*[name] * 2, *[f"{name} waiter's"] * 2] for name in ("ann's", "bob's")]


@pytest.mark.guarantee("context-is-kept")
async def test_a_tool_knows_who_calls_and_the_run_it_serves() -> None:
    given = CallContext(
        agent_id="forged", session_id="forged", run_id="forged", session_key="k", sender="ann", channel="irc",
        sandbox="strict",
    )  # fmt: skip
    async with engine([who]) as made:
        program = "const one = await tools.who(); await yield_control(); return [one, await tools.who()]"
        result = waiting(await made.exec(program, session="s", agent="a", context=given), "yield")
        ended = await made.wait(result.run_id, session="s", agent="a")
        numbers = [call.id for call in ended.telemetry.calls]
        assert value_of(ended) == [
            {
                "agent_id": "a",
                "session_id": "s",
                "session_key": "k",
                "sender": "ann",
                "channel": "irc",
                "sandbox": "strict",
                "run_id": result.run_id,
                "call_id": number,
                "tool_id": "openclaw:core:who",
                "idempotency_key": f"{result.run_id}:{number}",
                "fence": 1,
                "answers": [],
            }
            for number in numbers
        ]
        assert len(set(numbers)) == 2


@pytest.mark.guarantee("context-is-kept")
async def test_an_approved_call_keeps_its_context_and_its_key() -> None:
    @tool(requires_approval=True)
    async def act(context: CallContext) -> list[str]:
        """Acts."""
        return [context.sender, context.idempotency_key, REQUEST.get()]

    async with engine([act]) as made:
        REQUEST.set("ann's")
        result = waiting(await made.exec("return await tools.act()", context=CallContext(sender="ann")))
        REQUEST.set("the approver's")
        (call,) = result.pending_tool_calls
        assert call.approval is not None
        assert await made.approve(result.run_id, call.approval.id)
        ended = await made.wait(result.run_id)
        assert value_of(ended) == ["ann", f"{result.run_id}:{call.id}", "ann's"]


@pytest.mark.guarantee("tools-are-stopped-and-joined")
async def test_aborting_a_run_sets_the_abort_of_its_tools_and_waits_for_their_end() -> None:
    told: list[str] = []
    contexts: list[CallContext] = []

    @tool
    def listen(context: CallContext) -> None:
        """Runs in a thread until it is told to stop."""
        contexts.append(context)
        if context.abort.wait(20):
            told.append("thread")

    @tool
    async def sit(context: CallContext) -> None:
        """Waits for ever."""
        contexts.append(context)
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # cleaning up takes a turn of the loop
            told.append("task" if context.aborted else "task, without a word")
            raise

    async with engine([listen, sit]) as made:
        program = "await Promise.all([tools.listen(), tools.sit()])"
        task = asyncio.create_task(made.exec(program))
        await until(lambda: len(contexts) == 2)
        assert not any(context.aborted for context in contexts)
        assert await made.abort(contexts[0].run_id)
        assert sorted(told) == ["task", "thread"]  # joined, not only told
        assert statuses(failure_of(await task, "aborted")) == [("listen", "aborted"), ("sit", "aborted")]


@pytest.mark.guarantee("tools-are-stopped-and-joined")
async def test_a_cancelled_caller_takes_its_tools_along() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        program = "await Promise.all([tools.hold({ name: 'a' }), tools.hold({ name: 'b' })])"
        task = asyncio.create_task(made.exec(program))
        await desk.asked("a", "b")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sorted(desk.joined) == ["a", "b"]


@pytest.mark.guarantee("tools-keep-their-limits")
async def test_a_tool_over_its_own_time_fails_that_call_and_no_other() -> None:
    ended: list[bool] = []

    @tool(timeout_ms=20)
    async def slow(context: CallContext) -> None:
        """Never ends by itself."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(context.aborted)

    async with engine([slow, make("other")]) as made:
        program = """
        const [a, b] = await Promise.allSettled([tools.slow(), tools.other({})]);
        return [a.reason.name, a.reason.code, a.reason.message, b.status];
        """
        result = await made.exec(program)
        assert value_of(result) == [
            "ToolTimeout",
            "timeout",
            "slow did not end within 0.02 s",
            "fulfilled",
        ]
        assert statuses(result) == [("slow", "error"), ("other", "ok")]
        assert ended == [True]


@pytest.mark.guarantee("tools-keep-their-limits")
async def test_no_more_calls_of_a_tool_run_at_once_than_it_allows_over_all_runs() -> None:
    running: list[int] = []
    peaks: list[int] = []
    pair = asyncio.Barrier(2)

    @tool(concurrency=2)
    async def narrow(number: int) -> int:
        """Goes through only in pairs: fewer at once and it would never end."""
        running.append(number)
        peaks.append(len(running))
        await pair.wait()
        running.remove(number)
        return number

    async with engine([narrow], settings={"warmWorkers": 2}) as made:
        program = "return await Promise.all([0, 1, 2].map((i) => tools.narrow({ number: START + i })))"
        results = await asyncio.gather(
            *(made.exec(program.replace("START", str(start)), session=str(start)) for start in (0, 10))
        )
        assert [value_of(result) for result in results] == [[0, 1, 2], [10, 11, 12]]
        assert max(peaks) == 2


@pytest.mark.guarantee("tools-keep-their-limits")
async def test_a_sync_tool_does_not_hold_up_the_event_loop() -> None:
    bell = threading.Event()

    @tool
    def listen() -> bool:
        """Blocks its thread until the bell rings."""
        return bell.wait(20)

    @tool
    async def ring() -> bool:
        """Rings it, from the event loop."""
        bell.set()
        return True

    async with engine([listen, ring]) as made:
        program = "return await Promise.all([tools.listen(), tools.listen(), tools.ring()])"
        assert value_of(await made.exec(program)) == [True, True, True]
