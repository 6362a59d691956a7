"""Time-outs, concurrency and cancellation: tools end, and are waited for."""

import asyncio
import contextlib
import threading
from collections.abc import Generator
from typing import Any

import pytest

from codemode.catalog import Catalog
from codemode.executor import AuditEvent, CallFailed, CallOk, CallRequest, Executor, Gates, calling, running
from codemode.tools import CallContext, Tool, tool
from tests.harness.loops import until


@pytest.mark.guarantee("tools-keep-their-limits")
async def test_a_tool_over_its_time_is_cancelled_and_joined() -> None:
    ended: list[bool] = []

    @tool(timeout_ms=20)
    async def sleep(context: CallContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(context.aborted)

    result = await Executor(Catalog([sleep])).call(CallRequest("sleep"))

    assert result == CallFailed("timeout", "ToolTimeout", "sleep did not end within 0.02 s")
    assert ended == [True]


async def test_a_sync_tool_over_its_time_hears_of_it_and_is_joined() -> None:
    ended: list[str] = []

    @tool(timeout_ms=20)
    def spin(context: CallContext) -> None:
        context.abort.wait()
        ended.append(threading.current_thread().name)

    result = await Executor(Catalog([spin])).call(CallRequest("spin"))

    assert isinstance(result, CallFailed)
    assert result.code == "timeout"
    assert ended == ["codemode-tool-spin"]


async def test_a_sync_tool_that_does_not_listen_is_left_behind() -> None:
    release = threading.Event()
    threads: list[threading.Thread] = []

    @tool(timeout_ms=20)
    def deaf() -> None:
        threads.append(threading.current_thread())
        release.wait()

    result = await Executor(Catalog([deaf])).call(CallRequest("deaf"))
    release.set()
    threads[0].join(10)

    assert isinstance(result, CallFailed)
    assert result.code == "timeout"
    assert not threads[0].is_alive()
    assert threads[0].daemon


async def test_a_time_out_in_the_tool_itself_is_the_tools_error() -> None:
    @tool
    async def fetch() -> None:
        raise TimeoutError("the printer does not answer")

    result = await Executor(Catalog([fetch])).call(CallRequest("fetch"))

    assert result == CallFailed("tool_error", "TimeoutError", "the printer does not answer")


async def test_a_tool_that_cancels_itself_is_the_tools_error() -> None:
    @tool
    async def quit_early() -> None:
        raise asyncio.CancelledError

    result = await Executor(Catalog([quit_early])).call(CallRequest("quit_early"))

    assert result == CallFailed("tool_error", "CancelledError", "quit_early cancelled itself")


@pytest.mark.guarantee("tools-are-stopped-and-joined")
async def test_cancelling_a_call_cancels_the_tool_joins_it_and_is_audited() -> None:
    steps: list[str] = []
    audited: list[AuditEvent] = []
    started = asyncio.Event()

    @tool
    async def wait_long(context: CallContext) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append(f"tool ended, aborted: {context.aborted}")

    executor = Executor(Catalog([wait_long]), audit=audited.append)
    running = asyncio.create_task(executor.call(CallRequest("wait_long")))
    await started.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    steps.append(f"call cancelled: {running.cancelled()}")
    steps.append(f"tasks left: {len(asyncio.all_tasks()) - 1}")

    assert steps == ["tool ended, aborted: True", "call cancelled: True", "tasks left: 0"]
    assert [(event.tool, event.outcome, event.code) for event in audited] == [
        ("wait_long", "aborted", "aborted")
    ]


async def test_a_call_can_be_cancelled_while_somebody_thinks_about_its_approval() -> None:
    runs: list[str] = []
    asked = asyncio.Event()

    @tool(requires_approval=True)
    async def pay() -> None:
        runs.append("paid")

    async def approve(request: Any) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    running = asyncio.create_task(Executor(Catalog([pay]), approve=approve).call(CallRequest("pay")))
    await asked.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert running.cancelled()

    assert runs == []


@pytest.mark.guarantee("tools-keep-their-limits")
async def test_no_more_calls_of_a_tool_run_at_once_than_it_allows_over_all_runs() -> None:
    running = 0
    most = 0

    @tool(concurrency=2)
    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1

    gates = Gates()
    executors = [Executor(Catalog([work]), gates=gates) for _ in range(3)]
    calls = [executor.call(CallRequest("work")) for executor in executors for _ in range(4)]
    assert list(await asyncio.gather(*calls)) == [CallOk(b"null")] * 12
    assert most == 2


async def test_many_slow_sync_tools_run_side_by_side() -> None:
    """More than a default thread pool would allow: each waits until all have begun."""
    together = threading.Barrier(40, timeout=30)

    @tool
    def meet() -> int:
        return together.wait() >= 0

    executor = Executor(Catalog([meet]))
    results = list(await asyncio.gather(*(executor.call(CallRequest("meet")) for _ in range(40))))
    assert results == [CallOk(b"true")] * 40


@pytest.mark.guarantee("tools-keep-their-limits")
async def test_an_async_tool_that_ignores_its_time_out_is_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "GRACE_SECONDS", 0.02)
    release = asyncio.Event()
    steps: list[str] = []

    @tool(timeout_ms=20)
    async def deaf() -> str:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                steps.append("ignored")
        return "late"

    result = await Executor(Catalog([deaf])).call(CallRequest("deaf"))
    release.set()
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
    assert result == CallFailed("timeout", "ToolTimeout", "deaf did not end within 0.02 s")
    assert " ".join(steps) == "ignored"


async def test_a_cancelled_call_does_not_wait_for_ever_for_a_tool_that_ignores_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(calling, "GRACE_SECONDS", 0.02)
    started, release = asyncio.Event(), asyncio.Event()

    @tool
    async def deaf() -> None:
        started.set()
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()

    call = asyncio.create_task(Executor(Catalog([deaf])).call(CallRequest("deaf")))
    await started.wait()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    release.set()
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
    assert call.cancelled()
    assert "it is left behind" in caplog.text


async def test_a_time_out_of_the_tools_own_is_no_abort() -> None:
    @tool
    async def careful(context: CallContext) -> list[bool]:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            return [context.aborted]
        return []

    assert await Executor(Catalog([careful])).call(CallRequest("careful")) == CallOk(b"[false]")


async def test_gates_hold_over_runs_while_a_call_uses_them_and_are_forgotten_afterwards() -> None:
    gates, most, now, go_on = Gates(), 0, 0, asyncio.Event()

    def own_tool() -> Tool:
        """Another object each time, as each run brings its own; the id is the same."""

        @tool(concurrency=2)
        async def own() -> None:
            nonlocal most, now
            now += 1
            most = max(most, now)
            await go_on.wait()
            now -= 1

        return own

    made = [Executor(Catalog([own_tool()]), gates=gates) for _ in range(5)]
    calls = [asyncio.create_task(executor.call(CallRequest("own"))) for executor in made]
    await until(lambda: now == 2)
    assert gates.in_use == 1
    go_on.set()
    await asyncio.gather(*calls)
    assert (most, now) == (2, 0)
    del made
    await until(lambda: gates.in_use == 0)


async def test_a_caller_that_gives_up_its_place_or_its_turn_leaves_both_to_the_next() -> None:
    gates, go_on, ran = Gates(), asyncio.Event(), list[str]()

    @tool(concurrency=1)
    async def one(name: str) -> None:
        ran.append(name)
        await go_on.wait()

    executor = Executor(Catalog([one]), gates=gates)
    calls = [asyncio.create_task(executor.call(CallRequest("one", {"name": name}))) for name in "abcd"]
    await until(lambda: ran == ["a"])
    calls[1].cancel()  # it waits for its turn
    await asyncio.wait([calls[1]])
    go_on.set()
    await asyncio.gather(calls[0], *calls[2:])
    assert (ran, gates.in_use) == (["a", "c", "d"], 0)

    assert gates.enter(one)
    turn = asyncio.create_task(gates.wait(one))
    await asyncio.sleep(0)
    gates.leave(one)  # the turn is given, and given up before it is taken
    turn.cancel()
    await asyncio.wait([turn])
    assert (turn.cancelled(), gates.in_use) == (True, 0)


async def test_only_a_tool_that_waits_sets_a_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[float] = []
    loop = asyncio.get_running_loop()
    call_at = loop.call_at

    def noted(when: float, *given: Any, **more: Any) -> asyncio.TimerHandle:
        timers.append(when)
        return call_at(when, *given, **more)

    monkeypatch.setattr(loop, "call_at", noted)

    @tool
    async def quick() -> int:
        return 1

    @tool
    async def patient() -> int:
        await asyncio.sleep(0)
        return 2

    executor = Executor(Catalog([quick, patient]))
    assert await executor.call(CallRequest("quick")) == CallOk(b"1")
    assert timers == []
    assert await executor.call(CallRequest("patient")) == CallOk(b"2")
    assert len(timers) == 1


async def test_a_tool_may_be_any_awaitable_and_hears_what_it_waits_for() -> None:
    class Twice:
        """Waits for two things, and catches the failure of the first."""

        def __await__(self) -> Generator[Any, None, list[str]]:
            loop, heard = asyncio.get_running_loop(), list[str]()
            for outcome in (ValueError("no"), "yes"):
                future: asyncio.Future[str] = loop.create_future()
                if isinstance(outcome, ValueError):
                    loop.call_soon(future.set_exception, outcome)
                else:
                    loop.call_soon(future.set_result, outcome)
                try:
                    heard.append((yield from future.__await__()))
                except ValueError as error:
                    heard.append(str(error))
            return heard

    def run(arguments: dict[str, Any], context: CallContext) -> Twice:
        return Twice()

    own = Tool("own", "", {"type": "object"}, run)
    assert await Executor(Catalog([own])).call(CallRequest("own")) == CallOk(b'["no","yes"]')
