"""Exceptions that are no `Exception`: whatever leaves the host's code, a call nobody stopped has a result."""

import asyncio
import contextlib
import gc
import threading
from collections.abc import Awaitable
from types import SimpleNamespace
from typing import Any

import pytest

from codemode.catalog import Catalog
from codemode.executor import (
    BeforeToolCall,
    CallFailed,
    Calling,
    CallOk,
    CallRequest,
    CallResult,
    Executor,
    Rewrite,
    executor,
    join,
)
from codemode.tools import Tool, tool
from tests.harness.tool_samples import make, takes

READ = make("read", parameters=takes("path"))
BLOCKED = CallFailed("denied", "ToolBlocked", "read was blocked: a rule of the host could not be asked")


class Panic(BaseException):
    """As bindings to other languages raise it."""


LEAVING = [
    Panic("the pump is on fire"),
    GeneratorExit("the pump is on fire"),
    BaseExceptionGroup("two at once", [Panic("fire"), Panic("water")]),
    SystemExit(3),
    asyncio.CancelledError(),
]


def call_one(tools: list[Tool], request: CallRequest, **options: Any) -> CallResult:
    async def main() -> CallResult:
        return await asyncio.wait_for(Executor(Catalog(tools), **options).call(request), 30)

    return asyncio.run(main())


def read(**options: Any) -> CallResult:
    return call_one([READ], CallRequest("read", {"path": "a"}), **options)


def raising(error: BaseException, how: str) -> Any:
    """A callback that fails so: when it is called, when it is awaited, or in what it awaits."""

    def at_once(_: object) -> None:
        raise error

    async def awaited(_: object) -> None:
        raise error

    async def inside(_: object) -> None:
        failed = asyncio.get_running_loop().create_future()
        if isinstance(error, asyncio.CancelledError):
            failed.cancel()
        else:
            failed.set_exception(error)
        await failed

    return {"at once": at_once, "awaited": awaited, "inside": inside}[how]


leaving = pytest.mark.parametrize("error", LEAVING, ids=lambda error: type(error).__name__)
ways = pytest.mark.parametrize("how", ["at once", "awaited", "inside"])


@pytest.mark.parametrize(
    ("error", "name", "message"),
    [
        (Panic("the pump is on fire"), "Panic", "the pump is on fire"),
        (GeneratorExit("the pump is on fire"), "GeneratorExit", "the pump is on fire"),
        (BaseExceptionGroup("two", [Panic("fire")]), "BaseExceptionGroup", "two: fire"),
        (SystemExit(3), "SystemExit", "the tool tried to end the process"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_an_async_tool_raises_is_its_error(error: BaseException, name: str, message: str) -> None:
    @tool
    async def burn() -> None:
        raise error

    assert call_one([burn], CallRequest("burn")) == CallFailed("tool_error", name, message)


@pytest.mark.parametrize(
    ("error", "name", "message"),
    [
        (Panic("the pump is on fire"), "Panic", "the pump is on fire"),
        (GeneratorExit(), "RuntimeError", "GeneratorExit"),
        (KeyboardInterrupt("pressed"), "RuntimeError", "KeyboardInterrupt: pressed"),
        (asyncio.CancelledError(), "CancelledError", "burn cancelled itself"),
        (SystemExit(3), "SystemExit", "the tool tried to end the process"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_a_tool_raises_in_its_thread_is_its_error(
    error: BaseException, name: str, message: str
) -> None:
    @tool
    def burn() -> None:
        raise error

    assert call_one([burn], CallRequest("burn")) == CallFailed("tool_error", name, message)


def test_a_tool_that_a_future_ends_like_a_generator_has_a_result() -> None:
    """Python closes all coroutines of the task at once then, and the tool's words are lost."""

    @tool
    async def burn() -> None:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_exception, GeneratorExit())
        await future

    result = call_one([burn], CallRequest("burn"))

    assert result == CallFailed("tool_error", "InternalError", "the call failed inside the engine")


@leaving
@ways
@pytest.mark.guarantee("hooks-fail-closed")
def test_whatever_leaves_a_rule_blocks_the_call(error: BaseException, how: str) -> None:
    assert read(hooks=SimpleNamespace(before_tool_call=raising(error, how))) == BLOCKED


@leaving
@ways
def test_whatever_leaves_a_hook_that_looks_on_changes_nothing(error: BaseException, how: str) -> None:
    assert read(hooks=SimpleNamespace(after_tool_call=raising(error, how))) == CallOk(b'{"path":"a"}')


@leaving
@ways
def test_whatever_leaves_the_audit_changes_nothing(error: BaseException, how: str) -> None:
    assert read(audit=raising(error, how)) == CallOk(b'{"path":"a"}')


@leaving
@ways
def test_an_approver_that_whatever_leaves_has_not_approved(error: BaseException, how: str) -> None:
    ran: list[str] = []

    @tool(requires_approval=True)
    async def pay() -> None:
        ran.append("paid")

    result = call_one([pay], CallRequest("pay"), approve=raising(error, how))

    assert result == CallFailed(
        "denied", "ApprovalRefused", "pay was not approved: the approval handler failed"
    )
    assert ran == []


def test_arguments_that_cannot_be_copied_for_the_next_rule_block_the_call() -> None:
    def put_a_lock_in(event: BeforeToolCall) -> Rewrite:
        return Rewrite({"path": threading.Lock()})

    def say_nothing(event: BeforeToolCall) -> None:
        return None

    chain = [SimpleNamespace(before_tool_call=rule) for rule in (put_a_lock_in, say_nothing)]

    assert read(hooks=chain) == BLOCKED


def test_an_interrupt_of_the_main_thread_ends_the_loop_after_the_call_has_its_result() -> None:
    told: list[CallResult] = []

    @tool
    async def press() -> None:
        raise KeyboardInterrupt

    async def main() -> None:
        calling = Executor(Catalog([press])).start(
            CallRequest("press"), lambda _, result: told.append(result)
        )
        await join([calling])

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    gc.collect()

    assert told == [CallFailed("tool_error", "KeyboardInterrupt", "KeyboardInterrupt")]


def test_an_interrupt_raised_on_a_loop_of_another_thread_is_the_tools_error() -> None:
    results: list[CallResult] = []

    @tool
    async def press() -> None:
        raise KeyboardInterrupt("pressed")

    thread = threading.Thread(target=lambda: results.append(call_one([press], CallRequest("press"))))
    thread.start()
    thread.join(30)

    assert results == [CallFailed("tool_error", "KeyboardInterrupt", "pressed")]


def test_a_tool_that_cancels_its_own_task_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "_AFTERLIFE_SECONDS", 0)

    @tool
    async def end_it() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.Event().wait()

    assert call_one([end_it], CallRequest("end_it")) == CallFailed(
        "aborted", "Aborted", "the call was cancelled"
    )


@pytest.mark.guarantee("tools-are-stopped-and-joined")
@pytest.mark.parametrize("where", ["before", "tool", "after", "approve", "audit"])
async def test_a_stopped_call_is_cancelled_wherever_it_is_and_nobody_is_told(where: str) -> None:
    told: list[CallResult] = []
    reached = asyncio.Event()

    async def stay(place: str) -> None:
        if place == where:
            reached.set()
            await asyncio.Event().wait()

    @tool(requires_approval=True)
    async def work() -> None:
        await stay("tool")

    async def approve(_: object) -> bool:
        await stay("approve")
        return True

    def at(place: str) -> Any:
        def reach(_: object) -> Awaitable[None]:
            return stay(place)

        return reach

    rule = SimpleNamespace(before_tool_call=at("before"), after_tool_call=at("after"))
    made = Executor(Catalog([work]), hooks=rule, approve=approve, audit=at("audit"))
    calling = made.start(CallRequest("work"), lambda _, result: told.append(result))
    await reached.wait()
    calling.stop()
    await join([calling])
    assert calling.task is not None
    assert calling.task.cancelled()
    assert told == []


def test_a_loop_that_ends_leaves_the_call_without_a_result() -> None:
    """A result would be kept as the tool's last word; without one the call counts as interrupted."""
    told: list[CallResult] = []

    async def main() -> None:
        reached = asyncio.Event()

        @tool
        async def stay() -> None:
            reached.set()
            await asyncio.Event().wait()

        Executor(Catalog([stay])).start(CallRequest("stay"), lambda _, result: told.append(result))
        await reached.wait()

    asyncio.run(main())

    assert told == []


def test_a_call_that_is_collected_with_its_loop_tells_nobody() -> None:
    told: list[CallResult] = []
    seen: list[BaseException] = []

    async def main() -> Calling:
        reached = asyncio.Event()

        @tool
        async def stay() -> None:
            reached.set()
            try:
                await asyncio.Event().wait()
            except BaseException as error:
                seen.append(error)
                raise

        calling = Executor(Catalog([stay])).start(CallRequest("stay"), lambda _, result: told.append(result))
        await reached.wait()
        return calling

    loop = asyncio.new_event_loop()
    calling = loop.run_until_complete(main())
    assert calling.task is not None
    coroutine = calling.task.get_coro()
    assert coroutine is not None
    coroutine.close()
    with contextlib.suppress(asyncio.CancelledError, RuntimeError):  # it has already ended
        calling.task.cancel()
        loop.run_until_complete(calling.task)
    loop.close()

    assert ([type(error) for error in seen], told) == ([GeneratorExit], [])


async def test_a_call_that_ends_in_the_turn_in_which_it_is_cancelled_ends_in_peace() -> None:
    started, release = asyncio.Event(), asyncio.Event()

    @tool
    async def work() -> None:
        started.set()
        await release.wait()

    call = asyncio.create_task(Executor(Catalog([work])).call(CallRequest("work")))
    await started.wait()
    (task,) = asyncio.all_tasks() - {call, asyncio.current_task()}
    release.set()
    call.cancel()
    await asyncio.wait({call})
    assert (call.cancelled(), task.exception()) == (True, None)
