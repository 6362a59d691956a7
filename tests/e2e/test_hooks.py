"""The host's rules through the engine: hooks around nested calls and around exec itself, and the audit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from codemode import CallContext, tool
from codemode.contract.error_codes import ErrorCode
from codemode.executor import (
    AfterToolCall,
    AnswerWith,
    AuditEvent,
    BeforeToolCall,
    Block,
    RequireApproval,
    Rewrite,
)
from tests.harness.engine import echo, engine, failure_of, pay, statuses, value_of, waiting
from tests.harness.tool_samples import make, takes
from tests.harness.trajectory import nested_in, only_run

pytestmark = pytest.mark.usefixtures("leaves_nothing")

Before = Callable[[BeforeToolCall], Any]


class Panic(BaseException):
    """No Exception, as bindings to other languages raise it."""


class Rule:
    """One rule, asked about tools or about programs; remembers what it was asked and told."""

    def __init__(self, answer: Before, kind: str = "tool") -> None:
        self.answer, self.kind = answer, kind
        self.before: list[BeforeToolCall] = []
        self.after: list[AfterToolCall] = []

    def before_tool_call(self, event: BeforeToolCall) -> Any:
        if event.tool_kind != self.kind:
            return None
        self.before.append(event)
        return self.answer(event)

    def after_tool_call(self, event: AfterToolCall) -> None:
        if event.tool_kind == self.kind:
            self.after.append(event)


def allow(_: BeforeToolCall) -> None:
    return None


def giving(answer: Any) -> Before:
    def answer_or_raise(_: BeforeToolCall) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return answer_or_raise


@pytest.mark.guarantee("nested-calls-keep-the-rules")
async def test_a_hook_rewrites_the_arguments_of_a_nested_call() -> None:
    rule = Rule(lambda event: Rewrite({"value": [event.arguments["value"], "checked"]}))
    async with engine(hooks=rule) as made:
        result = await made.exec("return await tools.echo({ value: 'mine' })")
        assert value_of(result) == ["mine", "checked"]
        assert statuses(result) == [("echo", "ok")]
        assert [event.arguments for event in rule.after] == [{"value": ["mine", "checked"]}]


@pytest.mark.guarantee("nested-calls-keep-the-rules")
async def test_a_blocked_call_does_not_run_and_the_program_hears_why() -> None:
    ran: list[str] = []

    @tool
    async def discard(name: str) -> None:
        """Throws away."""
        ran.append(name)

    rule = Rule(lambda event: Block("the office is closed") if event.tool == "discard" else None)
    async with engine([echo, discard], hooks=rule) as made:
        caught = "return await tools.discard({ name: 'x' }).catch((e) => [e.name, e.code, e.message])"
        result = await made.exec(caught)
        words = ["ToolBlocked", "denied", "discard was blocked: the office is closed"]
        assert value_of(result) == words
        assert statuses(result) == [("discard", "denied")]
        result = await made.exec("text('before'); await tools.discard({ name: 'x' })")
        assert "discard was blocked: the office is closed" in failure_of(result, "nested_tool_failed").error
        assert (ran, rule.after) == ([], [])


@pytest.mark.guarantee("nested-calls-keep-the-rules")
async def test_a_hook_can_want_an_approval_for_what_it_has_rewritten() -> None:
    first = Rule(lambda event: Rewrite({"value": f"{event.arguments['value']}!"}))
    second = Rule(lambda event: RequireApproval(f"Really {event.tool}?"))
    async with engine(hooks=[first, second]) as made:
        result = waiting(await made.exec("return await tools.echo({ value: 'hello' })"), "approval")
        (call,) = result.pending_tool_calls
        assert call.approval is not None
        assert call.approval.summary == "Really echo?"
        assert await made.approve(result.run_id, call.approval.id)
        assert value_of(await made.wait(result.run_id)) == "hello!"
        assert (len(first.before), len(second.before)) == (1, 1)  # not asked again after the approval


@pytest.mark.guarantee("nested-calls-keep-the-rules")
async def test_hooks_and_audit_see_the_real_tool_however_it_is_called() -> None:
    rule, audited = Rule(allow), list[AuditEvent]()
    program = """
    await Promise.all([tools.echo({}), tools.call("echo", {}), tools.call("openclaw:core:echo", {})]);
    await tools.call("no_such_tool", {}).catch(() => 0);
    """
    async with engine([echo], hooks=rule, audit=audited.append) as made:
        value_of(await made.exec(program, session="s", agent="a", context=CallContext(sender="ann")))
    real = ("echo", "openclaw:core:echo")
    assert [(event.tool, event.tool_id) for event in rule.before] == [real] * 3
    assert [(event.tool, event.tool_id) for event in rule.after] == [real] * 3
    assert [(event.tool, event.tool_id, event.outcome) for event in audited] == [
        *[(*real, "ok")] * 3,
        ("no_such_tool", None, "error"),
    ]
    assert {(event.agent_id, event.session_id, event.sender) for event in audited} == {("a", "s", "ann")}
    assert {event.tool_kind for event in rule.after} == {"tool"}


@pytest.mark.guarantee("exec-is-told-from-a-shell")
async def test_a_rule_tells_exec_from_a_shell_of_that_name() -> None:
    seen: list[tuple[str, str, str | None, dict[str, Any]]] = []

    class Watch:
        def before_tool_call(self, event: BeforeToolCall) -> None:
            seen.append((event.tool, event.tool_kind, event.tool_input_kind, event.arguments))

    shell = make("exec", "Runs a shell command.", parameters=takes("command"))
    async with engine([shell], hooks=Watch()) as made:
        program = "return await tools.exec({ command: 'ls' })"
        assert value_of(await made.exec(program)) == {"command": "ls"}
        assert value_of(await made.exec({"command": "return 1 as number", "language": "typescript"})) == 1
    assert seen == [
        (
            "exec",
            "code_mode_exec",
            "javascript",
            {"code": program, "command": program, "language": "javascript"},
        ),
        ("exec", "tool", None, {"command": "ls"}),
        (
            "exec",
            "code_mode_exec",
            "typescript",
            {**dict.fromkeys(("code", "command"), "return 1 as number"), "language": "typescript"},
        ),
    ]


@pytest.mark.guarantee("exec-is-told-from-a-shell")
async def test_a_program_is_rewritten_by_a_hook_before_it_runs() -> None:
    def rewrite(event: BeforeToolCall) -> Rewrite:
        return Rewrite({**event.arguments, "code": event.arguments["code"].replace("secret", "public")})

    async with engine(hooks=Rule(rewrite, "code_mode_exec")) as made:
        assert value_of(await made.exec("return 'secret'")) == "public"


@pytest.mark.guarantee("exec-is-told-from-a-shell")
@pytest.mark.parametrize("sent", ["code", "command"])
@pytest.mark.parametrize("changed", [("code",), ("command",), ("code", "command")])
async def test_rules_see_code_and_command_alike_whichever_the_model_or_a_rule_before_used(
    sent: str, changed: tuple[str, ...]
) -> None:
    seen: list[dict[str, Any]] = []

    def note(event: BeforeToolCall) -> None:
        seen.append(event.arguments)

    def rewrite(event: BeforeToolCall) -> Rewrite:
        return Rewrite({**event.arguments, **dict.fromkeys(changed, "return 2")})

    first, second, last = (Rule(rule, "code_mode_exec") for rule in (note, rewrite, note))
    rules = [first, second, last]
    async with engine(hooks=rules) as made:
        assert value_of(await made.exec({sent: "return 1"})) == 2
    seen.append(first.after[0].arguments)
    texts = [(arguments["code"], arguments["command"]) for arguments in seen]
    assert texts == [("return 1",) * 2, ("return 2",) * 2, ("return 2",) * 2]


async def test_a_rule_that_gives_two_programs_or_none_gives_no_program() -> None:
    two, none = {"code": "return 2", "command": "return 3"}, {"language": "javascript"}
    blank = {"code": ""}
    for given, told in ((two, "two names for one program"), (none, "needs a program"), (blank, "needs")):

        def rewrite(_: BeforeToolCall, given: dict[str, Any] = given) -> Rewrite:
            return Rewrite(given)

        async with engine(hooks=Rule(rewrite, "code_mode_exec")) as made:
            assert told in failure_of(await made.exec("return 1"), "invalid_input").error


@pytest.mark.guarantee("hooks-fail-closed")
async def test_a_program_that_no_rule_let_through_does_not_run() -> None:
    ran: list[object] = []

    @tool
    async def note() -> None:
        """Notes that it ran."""
        ran.append(note)

    unasked = "A rule of the host blocked this program: a rule of the host could not be asked"
    refusals: list[tuple[Any, ErrorCode, str]] = [
        (Block("not today"), "aborted", "A rule of the host blocked this program: not today"),
        (
            RequireApproval(),
            "aborted",
            "A rule of the host wants an approval for exec, which nobody can give.",
        ),
        (RuntimeError("the rule book is on fire"), "aborted", unasked),
        (Panic("the rule book is on fire"), "aborted", unasked),
        (asyncio.CancelledError(), "aborted", unasked),
        (SystemExit(3), "aborted", unasked),
        ("yes", "aborted", unasked),
        (
            Rewrite({"code": " "}),
            "invalid_input",
            "exec needs a program in `code`: JavaScript or TypeScript, for example `return 1 + 1`.",
        ),
        (
            Rewrite({"code": "return 1", "language": "perl"}),
            "unsupported_language",
            'language must be "javascript" or "typescript", not \'perl\'.',
        ),
    ]
    rule = Rule(allow, "code_mode_exec")
    async with engine([note], hooks=rule) as made:
        for answer, code, text in refusals:
            rule.answer = giving(answer)
            result = failure_of(await made.exec("await tools.note()"), code)
            assert (result.error, result.telemetry.calls, ran) == (text, (), [])


@pytest.mark.guarantee("hooks-fail-closed")
async def test_a_rule_that_cannot_be_asked_allows_no_call() -> None:
    rule = Rule(allow)
    async with engine(hooks=rule) as made:
        for answer in (RuntimeError("on fire"), Panic("on fire"), asyncio.CancelledError(), True):
            rule.answer = giving(answer)
            program = "return await tools.echo({ value: 1 }).catch((e) => [e.code, e.message])"
            result = await made.exec(program)
            assert value_of(result) == [
                "denied",
                "echo was blocked: a rule of the host could not be asked",
            ]
            assert statuses(result) == [("echo", "denied")]


@pytest.mark.parametrize("kind", [RuntimeError, Panic, asyncio.CancelledError, SystemExit])
async def test_an_after_hook_that_breaks_changes_no_result(kind: type[BaseException]) -> None:
    class Broken:
        async def after_tool_call(self, event: AfterToolCall) -> None:
            raise kind(event.tool)

    async with engine(hooks=Broken()) as made:
        assert value_of(await made.exec("return await tools.echo({ value: 1 })")) == 1


@pytest.mark.parametrize("kind", ["before", "after"])
async def test_a_caller_that_is_cancelled_while_a_hook_of_exec_thinks_stays_cancelled(kind: str) -> None:
    thinking = asyncio.Event()

    async def think(_: object) -> None:
        thinking.set()
        await asyncio.Event().wait()

    async with engine(hooks=SimpleNamespace(**{f"{kind}_tool_call": think})) as made:
        calling = asyncio.create_task(made.exec("return 1"))
        await thinking.wait()
        calling.cancel()
        await asyncio.wait({calling})
        assert calling.cancelled()
        assert await made.runs() == []


async def test_parallel_calls_are_each_rewritten_blocked_or_approved() -> None:
    def decide(event: BeforeToolCall) -> Any:
        amount = event.arguments["amount"]
        return Block("too much") if amount > 100 else Rewrite({"amount": amount + 1})

    asked: list[int] = []

    async def approve(request: Any) -> bool:
        asked.append(request.arguments["amount"])
        return request.arguments["amount"] % 2 == 0

    async with engine([pay], hooks=Rule(decide), approve=approve) as made:
        program = """
        const amounts = [1, 2, 3, 101, 5, 6, 7, 102];
        return await Promise.all(amounts.map((amount) => tools.pay({ amount }).catch((e) => e.message)));
        """
        result = await made.exec(program)
        no, blocked = "pay was not approved", "pay was blocked: too much"
        assert value_of(result) == ["paid 2", no, "paid 4", blocked, "paid 6", no, "paid 8", blocked]
        assert asked == [2, 3, 4, 6, 7, 8]
        assert [status for _, status in statuses(result)] == [
            "ok", "denied", "ok", "denied", "ok", "denied", "ok", "denied",
        ]  # fmt: skip


@pytest.mark.guarantee("exec-is-told-from-a-shell")
async def test_hooks_of_exec_hear_who_asks_and_what_became_of_it() -> None:
    rule, tools = Rule(allow, "code_mode_exec"), Rule(allow)
    async with engine(hooks=[rule, tools]) as made:
        result = await made.exec(
            "return await tools.echo({ value: 1 })",
            agent="scout",
            session="s7",
            context=CallContext(sender="ada"),
        )
        assert value_of(result) == 1
    (asked,) = rule.before
    assert (asked.context.agent_id, asked.context.session_id, asked.context.sender) == (
        "scout",
        "s7",
        "ada",
    )
    (nested,), (outer,) = tools.after, rule.after
    assert (nested.tool, nested.tool_kind) == ("echo", "tool")
    assert (outer.tool, outer.tool_kind, outer.tool_input_kind) == (
        "exec",
        "code_mode_exec",
        "javascript",
    )
    assert outer.context.run_id == asked.context.run_id == nested.context.run_id
    assert outer.result.status == "ok"


@pytest.mark.guarantee("hooks-may-answer")
async def test_a_hook_may_answer_a_call_and_the_ledger_and_the_trajectory_say_so() -> None:
    ran: list[str] = []

    @tool(requires_approval=True)
    async def send(to: str) -> str:
        """Sends a mail."""
        ran.append(to)
        return "sent"

    rehearsal = Rule(lambda event: AnswerWith({"would": event.arguments}) if event.tool == "send" else None)
    async with engine([send, echo], hooks=rehearsal) as made:
        result = await made.exec("return [await tools.send({ to: 'ada' }), await tools.echo({ value: 1 })]")
        trajectory = await only_run(made)

    assert value_of(result) == [{"would": {"to": "ada"}}, 1]
    assert ran == []
    assert [call.meta for call in result.telemetry.calls] == [{"answeredBy": "hook"}, None]
    assert [call.answered_by for call in nested_in(trajectory)] == ["hook", ""]


@pytest.mark.guarantee("hooks-may-answer")
async def test_a_later_hook_may_still_block_what_one_answered_and_none_answers_for_a_program() -> None:
    cache, guard = Rule(lambda _: AnswerWith(1)), Rule(lambda _: Block("not now"))
    async with engine(hooks=[cache, guard]) as made:
        blocked = failure_of(await made.exec("return tools.echo({})"), "nested_tool_failed")
    async with engine(hooks=Rule(lambda _: AnswerWith(1), "code_mode_exec")) as made:
        refused = failure_of(await made.exec("return 1"), "aborted")

    assert blocked.error.splitlines()[0] == "ToolBlocked: echo was blocked: not now (1:14)"
    assert refused.error == "A rule of the host answered in place of this program; it was not run."


@pytest.mark.guarantee("hooks-may-answer")
async def test_an_answer_that_is_not_json_fails_the_call() -> None:
    async with engine(hooks=Rule(lambda _: AnswerWith(object()))) as made:
        code = value_of(await made.exec("return tools.echo({}).catch((e) => e.name)"))

    assert code == "NotJson"
