"""When exec returns, and with what: nested work is drained inside it, and nothing fails in silence."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import asyncio

import msgspec
import pytest

from codemode.runs.work import Work
from tests.harness.engine import Desk, engine, failure_of, statuses, texts, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")


async def test_only_return_makes_a_value() -> None:
    async with engine() as made:
        assert value_of(await made.exec("return 1 + 1")) == 2
        assert value_of(await made.exec("1 + 1")) is None
        assert value_of(await made.exec("const a = await tools.echo({ value: 3 }); return { a }")) == {"a": 3}


async def test_calls_run_at_once_and_are_delivered_in_the_order_they_settle() -> None:
    desk = Desk()
    program = """
    const order = [];
    const values = await Promise.all(["a", "b", "c"].map(async (name) => {
      const value = await tools.hold({ name });
      order.push(name);
      return value;
    }));
    return { order, values };
    """
    async with engine(desk.tools) as made:
        running = asyncio.create_task(made.exec(program))
        await desk.asked("a", "b", "c")
        for name in ("c", "a", "b"):
            desk.answer(name)
        assert value_of(await running) == {"order": ["c", "a", "b"], "values": ["a", "b", "c"]}


async def test_a_program_goes_on_with_one_result_while_other_calls_are_still_running() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        running = asyncio.create_task(
            made.exec(
                "const slow = tools.hold({ name: 'slow' });"
                "await tools.hold({ name: 'first' }); await tools.hold({ name: 'second' });"
                "return await slow"
            )
        )
        await desk.asked("slow", "first")
        desk.answer("first")
        await desk.asked("second")
        desk.answer("second")
        desk.answer("slow", 5)
        assert value_of(await running) == 5


async def test_a_call_that_was_never_awaited_is_drained_before_exec_returns() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        running = asyncio.create_task(made.exec("tools.hold({ name: 'left' }); return 'returned'"))
        await desk.asked("left")
        assert not running.done()
        desk.answer("left")
        result = await running
        assert value_of(result) == "returned"
        assert statuses(result) == [("hold", "ok")]


async def test_an_unawaited_call_that_outlives_the_budget_suspends_the_run_and_its_value_is_kept() -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 100}) as made:
        result = await made.exec("tools.hold({ name: 'left' }); return 'returned'")
        result = waiting(result, "pending_tools")
        assert result.pending_tool_calls[0].tool == "openclaw:core:hold"
        desk.answer("left")
        assert value_of(await made.wait(result.run_id)) == "returned"


@pytest.mark.guarantee("no-silent-failure")
@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("tools.fail({}); return 'fine'", "nested_tool_failed"),
        ("tools.fail({}); await tools.echo({}); return 'fine'", "nested_tool_failed"),
        ("Promise.reject(new Error('lost')); return 'fine'", "guest_error"),
        ("setTimeout(() => { throw new Error('in a timer') }, 1); await new Promise(r => setTimeout(r, 20)); return 1", "guest_error"),
        ("setTimeout(async () => { await tools.fail({}) }, 1); await new Promise(r => setTimeout(r, 20)); return 1", "nested_tool_failed"),
        ("await Promise.any([tools.fail({}), tools.fail({})])", "nested_tool_failed"),
        ("try { await tools.fail({}) } catch (cause) { throw new Error('wrapped', { cause }) }", "nested_tool_failed"),
        ("await tools.call('nope')", "nested_tool_failed"),
        ("await tools.nope()", "guest_error"),
        ("await new Promise(() => {})", "guest_error"),
    ],
)  # fmt: skip
async def test_a_failure_that_nobody_handled_fails_the_run(program: str, code: str) -> None:
    async with engine() as made:
        failure_of(await made.exec(program), code)  # pyright: ignore[reportArgumentType] - data


@pytest.mark.parametrize(
    ("program", "first"),
    [
        ("await Promise.any([tools.fail({ message: 'full' }), tools.fail({ message: 'full' })])", "AggregateError (1:15)"),
        ("try { await tools.fail({ message: 'full' }) } catch (cause) { throw new Error('wrapped', { cause }) }", "Error: wrapped (1:73)"),
    ],
)  # fmt: skip
async def test_the_tool_s_own_message_is_told_when_its_error_is_inside_another(
    program: str, first: str
) -> None:
    async with engine() as made:
        lines = failure_of(await made.exec(program), "nested_tool_failed").error.splitlines()
        assert (lines[0], lines[-1]) == (first, "caused by ToolError: full")


async def test_a_failure_that_is_handled_late_but_before_the_end_is_no_failure() -> None:
    async with engine() as made:
        result = await made.exec(
            "const p = tools.fail({ message: 'm' }); await tools.echo({}); await tools.echo({});"
            "return await p.catch((e) => [e.name, e.message, e.code, e.data])"
        )
        assert value_of(result) == ["ToolError", "m", "tool_error", {"asked": "m"}]


async def test_when_a_program_fails_its_running_calls_are_cancelled_joined_and_said_to_be_aborted() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        running = asyncio.create_task(
            made.exec("tools.hold({ name: 'a' }); await tools.hold({ name: 'b' }); throw new Error('x')")
        )
        await desk.asked("a", "b")
        desk.answer("b")
        result = failure_of(await running, "guest_error")
        assert statuses(result) == [("hold", "aborted"), ("hold", "ok")]
        assert desk.joined == ["a"]


async def test_a_call_made_in_the_last_breath_of_a_failing_program_is_never_dispatched() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        result = await made.exec("tools.hold({ name: 'late' }); throw new Error('x')")
        failure_of(result, "guest_error")
        assert desk.started == []
        assert result.telemetry.calls == ()


async def test_timers_still_running_after_the_program_returned_are_dropped() -> None:
    async with engine() as made:
        result = await made.exec("setTimeout(() => text('too late'), 600000); return 'done'")
        assert value_of(result) == "done"
        assert texts(result) == []


async def test_timers_do_not_count_as_pending_calls() -> None:
    async with engine(config={"maxPendingToolCalls": 1}) as made:
        result = await made.exec(
            "await Promise.all(Array.from({ length: 50 }, (_, i) => new Promise((r) => setTimeout(r, i % 3))));"
            "return await tools.echo({ value: 'still fine' })"
        )
        assert value_of(result) == "still fine"


async def test_a_budget_that_ends_while_the_program_is_idle_suspends_it_and_is_no_timeout() -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 100}) as made:
        result = waiting(await made.exec("return await tools.hold({ name: 'a' })"), "pending_tools")
        assert [(call.id, call.method) for call in result.pending_tool_calls] == [("1", "call")]
        assert statuses(result) == [("hold", "pending")]


async def test_yield_suspends_at_once_whatever_else_is_running() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        result = waiting(
            await made.exec("tools.hold({ name: 'a' }); await yield_control(); return 1"), "yield"
        )
        assert [call.method for call in result.pending_tool_calls] == ["call", "yield"]
        desk.answer("a")
        assert value_of(await made.wait(result.run_id)) == 1


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ("'the rest costs money'", "the rest costs money"),
        ("'é'.repeat(5000)", "é" * 500),
        ("", None),
        ("''", None),
        ("{ toString: () => 'not a string' }", None),
    ],
)
async def test_the_text_given_to_yield_control_is_in_its_pending_call_and_in_no_other(
    argument: str, reason: str | None
) -> None:
    async with engine(Desk().tools) as made:
        result = waiting(await made.exec(f"tools.hold({{ name: 'a' }}); await yield_control({argument})"))
        assert [(call.method, call.reason) for call in result.pending_tool_calls] == [
            ("call", None),
            ("yield", reason),
        ]


def test_the_reason_of_a_yield_is_part_of_the_stored_state_and_old_states_have_none() -> None:
    work = Work(7, "yield", 1, reason="why")
    encode, decoder = msgspec.msgpack.encode, msgspec.msgpack.Decoder(Work)
    assert decoder.decode(encode(work)) == work
    assert decoder.decode(encode({"id": 7, "method": "yield", "since_ms": 1})).reason == ""


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (
            "await Promise.all([tools.pay({ amount: 1 }), yield_control(), tools.hold({ name: 'a' })])",
            "approval",
        ),
        ("await Promise.all([yield_control(), tools.hold({ name: 'a' })])", "yield"),
        ("await Promise.all([tools.hold({ name: 'a' })])", "pending_tools"),
        ("await Promise.all([tools.pay({ amount: 1 }), tools.hold({ name: 'a' })])", "approval"),
        ("await new Promise((r) => setTimeout(r, 600000))", "pending_tools"),
    ],
)
async def test_the_reason_is_approval_before_yield_before_pending_tools(program: str, reason: str) -> None:
    async with engine(Desk().tools, {"timeoutMs": 100}) as made:
        waiting(await made.exec(program), reason)


@pytest.mark.guarantee("loops-do-not-block-the-host")
async def test_the_host_goes_on_working_while_a_program_loops_for_ever() -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 60_000}) as made:
        looping = asyncio.create_task(made.exec("await tools.hold({ name: 'a' }); for (;;);", session="loop"))
        await desk.asked("a")
        desk.answer("a")
        for number in range(5):
            assert value_of(await made.exec(f"return {number}")) == number
        assert not looping.done()
        assert await made.abort_session("loop") == 1
        failure_of(await looping, "aborted")


@pytest.mark.guarantee("loops-do-not-block-the-host")
async def test_an_endless_loop_times_out_and_its_output_is_kept() -> None:
    async with engine(config={"timeoutMs": 100}) as made:
        assert texts(failure_of(await made.exec("text('before'); for (;;);"), "timeout")) == ["before"]
