"""Hooks: rewriting, blocking, asking for approval, looking on; and what happens when they fail."""

from types import SimpleNamespace
from typing import Any

import pytest

from codemode.catalog import Catalog
from codemode.executor import (
    AfterToolCall,
    BeforeToolCall,
    Block,
    CallFailed,
    CallOk,
    CallRequest,
    CallResult,
    Executor,
    HookChain,
    NeedsApproval,
    RequireApproval,
    Rewrite,
)
from codemode.tools import CallContext
from tests.harness.tool_samples import make, takes

READ = make("read", parameters=takes("path"))


def before(answer: Any) -> SimpleNamespace:
    """A hook that always answers this."""

    def before_tool_call(event: BeforeToolCall) -> Any:
        return answer

    return SimpleNamespace(before_tool_call=before_tool_call)


async def call(hooks: Any, arguments: Any = None, **options: Any) -> CallResult:
    executor = Executor(Catalog([READ]), hooks=hooks, **options)
    request = CallRequest("read", arguments or {"path": "a"}, "7", context=CallContext(sender="ada"))
    return await executor.call(request)


async def test_a_hook_sees_the_real_tool_and_who_calls() -> None:
    seen: list[BeforeToolCall] = []
    await call(SimpleNamespace(before_tool_call=seen.append))

    (event,) = seen
    assert (event.tool, event.tool_id, event.arguments) == ("read", "openclaw:core:read", {"path": "a"})
    assert (event.tool_kind, event.tool_input_kind) == ("tool", None)
    assert (event.context.sender, event.context.call_id) == ("ada", "7")


async def test_a_hook_may_be_async() -> None:
    class Rule:
        async def before_tool_call(self, event: BeforeToolCall) -> Block:
            return Block(f"not {event.arguments['path']}")

    assert await call(Rule()) == CallFailed("denied", "ToolBlocked", "read was blocked: not a")


async def test_rewritten_arguments_reach_the_next_hook_and_the_tool() -> None:
    seen: list[Any] = []
    chain = [before(Rewrite({"path": "b"})), SimpleNamespace(before_tool_call=seen.append)]

    assert await call(chain) == CallOk(b'{"path":"b"}')
    assert seen[0].arguments == {"path": "b"}


async def test_rewritten_arguments_are_checked_again_without_telling_their_values() -> None:
    result = await call(before(Rewrite({"token": "s3cret"})))

    assert result == CallFailed(
        "invalid_arguments",
        "InvalidArguments",
        "read: a rule of the host changed the arguments to something it does not take",
    )


async def test_changing_the_event_in_place_changes_nothing() -> None:
    class Meddler:
        def before_tool_call(self, event: BeforeToolCall) -> None:
            event.arguments["path"] = "/etc/passwd"

    assert await call(Meddler()) == CallOk(b'{"path":"a"}')


async def test_the_first_block_ends_the_chain() -> None:
    seen: list[Any] = []
    result = await call([before(Block("no")), SimpleNamespace(before_tool_call=seen.append)])

    assert isinstance(result, CallFailed)
    assert (result.code, result.status, seen) == ("denied", "denied", [])


async def test_a_hook_can_require_approval() -> None:
    result = await call([before(RequireApproval("Reads a file of yours")), before(None)])

    assert isinstance(result, NeedsApproval)
    assert result.approval.summary == "Reads a file of yours"


async def test_a_later_block_wins_over_an_approval() -> None:
    result = await call([before(RequireApproval()), before(Block("no"))])

    assert isinstance(result, CallFailed)
    assert result.code == "denied"


@pytest.mark.parametrize("answer", [True, {"block": False}, "yes"])
@pytest.mark.guarantee("hooks-fail-closed")
async def test_an_answer_that_is_none_blocks(answer: Any) -> None:
    result = await call(before(answer))

    assert result == CallFailed(
        "denied", "ToolBlocked", "read was blocked: a rule of the host could not be asked"
    )


@pytest.mark.guarantee("hooks-fail-closed")
async def test_a_hook_that_fails_blocks() -> None:
    class Broken:
        def before_tool_call(self, event: BeforeToolCall) -> None:
            raise RuntimeError("/home/ada/rules.py")

    result = await call(Broken())

    assert result == CallFailed(
        "denied", "ToolBlocked", "read was blocked: a rule of the host could not be asked"
    )


@pytest.mark.guarantee("arguments-are-checked-first")
async def test_invalid_arguments_are_refused_before_any_hook() -> None:
    seen: list[Any] = []
    await call(SimpleNamespace(before_tool_call=seen.append), {"wrong": 1})

    assert seen == []


async def test_after_hooks_see_the_result_and_cannot_change_it() -> None:
    seen: list[AfterToolCall] = []

    class Watcher:
        async def after_tool_call(self, event: AfterToolCall) -> str:
            seen.append(event)
            return "ignored"

    assert await call([Watcher(), before(Rewrite({"path": "b"}))]) == CallOk(b'{"path":"b"}')
    assert [(event.tool, event.arguments, event.result) for event in seen] == [
        ("read", {"path": "b"}, CallOk(b'{"path":"b"}'))
    ]


async def test_an_after_hook_that_fails_changes_nothing() -> None:
    class Broken:
        def after_tool_call(self, event: AfterToolCall) -> None:
            raise RuntimeError

    assert await call(Broken()) == CallOk(b'{"path":"a"}')


async def test_after_hooks_do_not_run_for_a_call_that_never_ran() -> None:
    seen: list[Any] = []
    await call([before(Block("no")), SimpleNamespace(after_tool_call=seen.append)])

    assert seen == []


@pytest.mark.guarantee("exec-is-told-from-a-shell")
async def test_the_outer_exec_goes_through_the_same_chain() -> None:
    class NoShell:
        def before_tool_call(self, event: BeforeToolCall) -> Block | None:
            return None if event.tool_kind == "code_mode_exec" else Block("no shell")

    chain = HookChain(NoShell())
    event = BeforeToolCall("exec", "exec", {"code": "1"}, CallContext(), "code_mode_exec", "javascript")

    assert (await chain.before(event)).blocked is None


def test_an_object_that_is_no_hook_is_refused() -> None:
    with pytest.raises(TypeError, match="int has neither before_tool_call nor after_tool_call"):
        HookChain([7])
