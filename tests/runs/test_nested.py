"""Nested calls through the engine: what a program can reach, under whose rules, and what a tool is told."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import contextvars
from typing import Any

import msgspec
import pytest

from codemode import CallContext, Engine, tool
from codemode.executor import AfterToolCall, BeforeToolCall, Block, Rewrite
from tests.harness.engine import echo, engine, fail, failure_of, pay, statuses, value_of, waiting
from tests.harness.tool_samples import make
from tests.harness.workers import ROGUE

pytestmark = pytest.mark.usefixtures("leaves_nothing")
CALLER: contextvars.ContextVar[str] = contextvars.ContextVar("caller", default="nobody")


@tool(name="exec")
async def shell(command: str) -> str:
    """A host's own shell."""
    return f"$ {command}"


@pytest.mark.guarantee("all-tools-and-no-more")
async def test_the_effective_tools_are_all_there_and_denied_ones_look_like_ones_that_never_were() -> None:
    async with engine([echo, fail, pay], policy={"deny": ["fail"]}) as made:
        program = """
        const text = async (id) => tools.call(id).catch((e) => [e.name, e.code, e.message.replaceAll(id, "ID")]);
        return {
          all: ALL_TOOLS.map((entry) => entry.id),
          keys: Object.keys(tools).filter((name) => !["search", "describe", "call"].includes(name)),
          found: (await tools.search("always fails")).map((entry) => entry.id),
          denied: await text("openclaw:core:fail"),
          unknown: await text("openclaw:core:fall"),
          described: await tools.describe("openclaw:core:fail").catch((e) => e.code),
        };
        """
        found = value_of(await made.exec(program))
        assert found["all"] == ["openclaw:core:echo", "openclaw:core:pay"]
        assert found["keys"] == ["echo", "pay"]
        assert "openclaw:core:fail" not in found["found"]
        assert found["denied"] == found["unknown"]
        assert found["denied"][1] == found["described"] == "unknown_tool"


async def test_search_describe_and_call_work_together() -> None:
    async with engine() as made:
        program = """
        const [hit] = await tools.search("gives back");
        const { parameters, ...entry } = await tools.describe(hit.id);
        return [hit.id, entry.name, Object.keys(parameters.properties), await tools.call(hit.id, { value: 7 })];
        """
        assert value_of(await made.exec(program)) == ["openclaw:core:echo", "echo", ["value"], 7]


@pytest.mark.guarantee("no-recursion")
async def test_a_program_cannot_call_the_model_s_exec_or_wait_but_a_host_s_shell_of_that_name() -> None:
    program = "const codes = []; for (const id of ['exec', 'wait', 'openclaw:core:exec', 'openclaw:core:wait', 'tool_search', 'tool_call', 'tool_search_code']) codes.push(await tools.call(id, { command: 'x' }).catch((e) => e.code)); return codes"
    async with engine() as made:
        assert value_of(await made.exec(program)) == ["unknown_tool"] * 7
    async with engine([shell]) as made:
        unknown = ["unknown_tool"]
        assert value_of(await made.exec(program)) == ["$ x", *unknown, "$ x", *unknown * 4]


@pytest.mark.guarantee("nested-calls-keep-the-rules")
async def test_hooks_see_the_real_tool_rewrite_its_arguments_and_block_it_with_a_reason() -> None:
    seen: list[Any] = []

    class Rule:
        async def before_tool_call(self, call: BeforeToolCall) -> Any:
            if call.tool_kind == "code_mode_exec":
                return None
            seen.append(("before", call.tool, call.tool_id, call.arguments, call.context.session_id))
            if call.tool == "fail":
                return Block("never that")
            return Rewrite({"value": "rewritten"}) if call.arguments.get("value") == "secret" else None

        def after_tool_call(self, call: AfterToolCall) -> None:
            if call.tool_kind != "code_mode_exec":
                seen.append(("after", call.tool, call.result.status))

    async with engine(hooks=Rule()) as made:
        result = await made.exec(
            "return [await tools.echo({ value: 'secret' }), await tools.fail({}).catch((e) => [e.code, e.message])]",
            session="s",
        )
        value, (code, message) = value_of(result)
        assert (value, code) == ("rewritten", "denied")
        assert "never that" in message
        assert statuses(result) == [("echo", "ok"), ("fail", "denied")]
        assert seen == [
            ("before", "echo", "openclaw:core:echo", {"value": "secret"}, "s"),
            ("after", "echo", "ok"),
            ("before", "fail", "openclaw:core:fail", {}, "s"),
        ]


async def test_a_tool_is_told_who_calls_and_has_a_stable_key_and_the_variables_of_the_caller_of_its_leg() -> (
    None
):
    told: list[Any] = []

    @tool
    async def ask(context: CallContext) -> None:
        """Remembers its context."""
        told.append(
            (context.agent_id, context.session_id, context.sender, context.channel, context.run_id, context.call_id, context.tool_id, context.idempotency_key, CALLER.get())
        )  # fmt: skip

    async with engine([ask]) as made:
        CALLER.set("somebody")
        given = CallContext(sender="anna", channel="mail")
        result = waiting(
            await made.exec(
                "await tools.ask(); await yield_control(); await tools.ask()",
                session="s",
                agent="a",
                context=given,
            )
        )
        CALLER.set("somebody else")
        value_of(await made.wait(result.run_id, session="s", agent="a"))
        run_id = result.run_id
        assert told == [
            (
                "a",
                "s",
                "anna",
                "mail",
                run_id,
                number,
                "openclaw:core:ask",
                f"{run_id}:{number}",
                caller,
            )
            for number, caller in (("1", "somebody"), ("3", "somebody else"))
        ]


@pytest.mark.parametrize(
    ("program", "code", "words"),
    [
        ("await tools.echo({ valeu: 1 })", "invalid_arguments", ("valeu", "value")),
        ("await tools.pay({ amount: 'x' })", "invalid_arguments", ("amount", "integer")),
        ("await tools.pay()", "invalid_arguments", ("amount",)),
        ("await tools.call('ehco')", "unknown_tool", ("ehco", "echo")),
        ("await tools.fail({ message: 'own words' })", "tool_error", ("own words",)),
    ],
)
async def test_a_failed_call_says_what_would_be_right(
    program: str, code: str, words: tuple[str, ...]
) -> None:
    async with engine() as made:
        caught = value_of(await made.exec(f"try {{ {program} }} catch (e) {{ return [e.code, e.message] }}"))
        assert caught[0] == code
        failed = failure_of(await made.exec(program), "nested_tool_failed")
        for word in words:
            assert word in caught[1]
            assert word in failed.error


@pytest.mark.parametrize("method", ["call", "describe"])
async def test_a_hint_offers_no_name_that_the_same_call_refuses(method: str) -> None:
    files = [make(name, source="mcp", owner="files") for name in ("read", "write")]
    async with engine([*files, echo]) as made:

        async def told(name: str) -> tuple[str, str]:
            failed = failure_of(await made.exec(f"return tools.{method}('{name}')"), "nested_tool_failed")
            first, *_, last = failed.error.splitlines()
            return first, last

        first, last = await told("mcp:files:read")
        assert first.startswith(
            'UnknownTool: No tool "mcp:files:read" in tools. MCP tools are called as MCP.files.read()'
        )
        assert last == "Call it as `await MCP.files.read({…})`."
        assert (await told("mcp:files:wirte"))[1] == "Nearest: `MCP.files.write`."
        assert (await told("ehco"))[1] == "Nearest: `openclaw:core:echo`."


async def test_no_path_and_no_traceback_of_the_host_crosses() -> None:
    @tool
    async def broken() -> None:
        """Fails deep inside."""
        raise ValueError(f"cannot read {__file__}")

    async with engine([broken]) as made:
        found = value_of(
            await made.exec(
                "return await tools.broken().catch((e) => [e.name, e.message, e.stack ?? '', Object.getPrototypeOf(e) === Error.prototype])"
            )
        )
        assert found[0] == "ValueError"
        assert found[3] is True
        assert found[1] == "cannot read …/test_nested.py"
        assert "Traceback" not in "".join(map(str, found))
        assert __file__ not in "".join(map(str, found))


async def test_a_program_can_catch_whatever_its_tool_raised() -> None:
    class Panic(BaseException):
        """No Exception, as bindings to other languages raise it."""

    @tool
    async def pump() -> None:
        """Burns."""
        raise Panic("the pump is on fire")

    async with engine([pump, echo]) as made:
        program = "return [await tools.pump({}).catch((e) => [e.name, e.code, e.message]), await tools.echo({ value: 1 })]"
        result = await made.exec(program)
        assert value_of(result) == [["Panic", "tool_error", "the pump is on fire"], 1]
        assert statuses(result) == [("pump", "error"), ("echo", "ok")]


async def test_each_run_sees_its_own_tools_beside_the_engine_s() -> None:
    @tool(source="client", owner="app")
    async def pick() -> str:
        """Of one run."""
        return "picked"

    async with engine() as made:
        mine = await made.exec(
            "await yield_control(); return [await tools.pick(), ALL_TOOLS.length]", tools=[pick]
        )
        assert value_of(await made.wait(waiting(mine).run_id)) == ["picked", 4]
        assert value_of(await made.exec("return [typeof tools.pick, ALL_TOOLS.length]")) == [
            "undefined",
            3,
        ]


@pytest.mark.parametrize("ids", [[1, 1], [2, 1, 2], list(range(1, 18))], ids=["twice", "again", "too many"])
async def test_calls_that_no_guest_of_ours_would_make_end_the_run(ids: list[int]) -> None:
    """The guest keeps to the cap and to its numbers; whoever owns its memory may not."""
    made = Engine([echo], {"enabled": True})
    supervisor = made._supervisor  # pyright: ignore[reportPrivateUsage] - nobody else has workers that lie
    supervisor.settings = msgspec.structs.replace(supervisor.settings, entry=ROGUE)
    async with made:
        result = await made.exec("calls:" + ":".join(map(str, ids)))
        assert "program" in failure_of(result, "internal_error").error
        assert value_of(await made.exec("anything else")) is None
