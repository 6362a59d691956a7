"""The trajectory of a run: control calls with their nested calls under them, for whoever is in its scope."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codemode.trajectory import Part, Trajectory
from tests.harness.engine import Desk, engine, failure_of, value_of, waiting
from tests.harness.loops import until
from tests.harness.trajectory import nested_in, only_run, outline, seen

pytestmark = pytest.mark.usefixtures("leaves_nothing")
SECRET = "hunter2-hunter2"


@pytest.mark.guarantee("transcript-keeps-calls")
async def test_nested_calls_are_under_the_control_call_that_started_them() -> None:
    desk = Desk()
    program = """
    text("one"); await tools.echo({ value: 1 }); await tools.hold({ name: "a" });
    await tools.fail({}).catch(() => 0); json({ two: 2 }); await tools.hold({ name: "b" });
    await tools.search("echo"); return [1, 2]
    """
    async with engine(desk.tools, {"timeoutMs": 100}) as made:
        run_id = waiting(await made.exec(program, tool_call="call-1")).run_id
        desk.answer("a")
        waiting(await made.wait(run_id, tool_call="call-2"))
        half = await seen(made, run_id)
        desk.answer("b")
        value_of(await made.wait(run_id, tool_call="call-3"))
        whole = await seen(made, run_id)

    assert outline(half) == [
        ("exec", "waiting", [("echo", "ok"), ("hold", "ok")]),
        ("wait", "waiting", [("fail", "error"), ("hold", "pending")]),
    ]
    assert (half.status, half.ended_at_ms) == ("waiting", None)
    assert outline(whole) == [
        ("exec", "waiting", [("echo", "ok"), ("hold", "ok")]),
        ("wait", "waiting", [("fail", "error"), ("hold", "ok")]),
        ("wait", "completed", [("", "ok")]),
    ]
    assert (whole.status, whole.code, whole.is_partial) == ("completed", "", False)
    assert [(c.tool_kind, c.tool_input_kind, c.tool_call_id, c.reason) for c in whole.calls] == [
        ("code_mode_exec", "javascript", "call-1", "pending_tools"),
        ("code_mode_wait", "run_id", "call-2", "pending_tools"),
        ("code_mode_wait", "run_id", "call-3", ""),
    ]
    echo, _, fail, _, search = nested_in(whole)
    assert (echo.id, echo.tool, echo.method, echo.bytes_in, echo.bytes_out) == (
        *("1", "openclaw:core:echo", "call", 13, 1),
    )
    assert (fail.tool, fail.error, fail.result) == ("openclaw:core:fail", "tool_error", None)
    assert (search.tool, search.method) == ("", "search")
    assert [c.suspended is not None for c in whole.calls] == [True, True, False]
    assert [c.resumed is not None for c in whole.calls] == [False, True, True]
    assert [c.output and (c.output.items, c.output.bytes) for c in whole.calls] == [(1, 3), (1, 9), None]
    assert whole.calls[2].value == {"type": "array", "bytes": 5}
    assert_times_are_in_order(whole)


def assert_times_are_in_order(trajectory: Trajectory) -> None:
    starts = [call.started_at_ms for call in trajectory.calls]
    assert starts == sorted(starts)
    assert starts[0] == trajectory.started_at_ms
    for call in trajectory.calls:
        assert call.ended_at_ms is not None
        assert call.started_at_ms <= call.ended_at_ms <= (trajectory.ended_at_ms or 0)
        for nested in call.calls:
            assert call.started_at_ms <= nested.started_at_ms <= call.ended_at_ms
            assert nested.ended_at_ms is not None
            assert nested.started_at_ms <= nested.ended_at_ms


async def test_a_wait_in_which_nothing_settled_is_in_the_transcript_too() -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 100}) as made:
        run_id = waiting(await made.exec("return await tools.hold({ name: 'a' })")).run_id
        waiting(await made.wait(run_id))
        waiting(await made.wait(run_id))
        desk.answer("a")
        value_of(await made.wait(run_id))
        found = await seen(made, run_id)
        assert outline(found) == [
            ("exec", "waiting", [("hold", "ok")]),
            ("wait", "waiting", []),
            ("wait", "waiting", []),
            ("wait", "completed", []),
        ]


async def test_a_running_run_can_be_looked_at() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        running = asyncio.create_task(made.exec("return await tools.hold({ name: 'a' })", session="s"))
        await desk.asked("a")
        found = await only_run(made, "s")
        assert (found.status, found.ended_at_ms) == ("running", None)
        assert outline(found) == [("exec", "running", [("hold", "pending")])]
        desk.answer("a")
        value_of(await running)
        assert outline(await seen(made, found.run_id, session="s")) == [
            ("exec", "completed", [("hold", "ok")])
        ]


async def test_an_approval_is_on_record_with_its_call() -> None:
    async with engine() as made:
        result = waiting(await made.exec("return await tools.pay({ amount: 5 })"), "approval")
        (pending,) = result.pending_tool_calls
        assert pending.approval is not None
        (asked,) = nested_in(await seen(made, result.run_id))
        assert asked.approval is not None
        assert (asked.status, asked.approval.id, asked.approval.approved) == (
            "pending",
            pending.approval.id,
            None,
        )
        assert await made.approve(result.run_id, pending.approval.id)
        value_of(await made.wait(result.run_id))
        (paid,) = nested_in(await seen(made, result.run_id))
        assert paid.approval is not None
        assert (paid.status, paid.approval.id, paid.approval.approved) == (
            "ok",
            pending.approval.id,
            True,
        )
        assert paid.approval.decided_at_ms is not None


async def test_a_failed_run_keeps_its_code_and_an_aborted_one_its_calls() -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 100}) as made:
        failure_of(await made.exec("await tools.echo(); null.x", session="f"), "guest_error")
        broken = await only_run(made, "f")
        assert (broken.status, broken.code, broken.calls[0].code) == (
            "failed",
            "guest_error",
            "guest_error",
        )
        result = waiting(await made.exec("await tools.hold({ name: 'a' })"))
        assert await made.abort(result.run_id)
        aborted = await seen(made, result.run_id)
        assert (aborted.status, aborted.code) == ("aborted", "aborted")
        assert outline(aborted) == [("exec", "waiting", [("hold", "aborted")])]
        assert aborted.ended_at_ms is not None


async def test_a_run_that_is_aborted_while_it_runs_ends_its_exec_as_failed() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        running = asyncio.create_task(made.exec("await tools.hold({ name: 'a' })"))
        await desk.asked("a")
        run_id = (await only_run(made)).run_id
        assert await made.abort(run_id)
        failure_of(await running, "aborted")
        found = await seen(made, run_id)
        assert outline(found) == [("exec", "failed", [("hold", "aborted")])]
        assert (found.status, found.calls[0].code) == ("aborted", "aborted")


async def test_an_expired_run_is_seen_as_expired() -> None:
    desk = Desk()
    async with engine(desk.tools, {"snapshotTtlSeconds": 1}) as made:
        result = waiting(await made.exec("tools.hold({ name: 'a' }); await yield_control()"))
        await until(lambda: desk.joined == ["a"])
        found = await seen(made, result.run_id)
        assert (found.status, found.code) == ("expired", "snapshot_expired")
        assert outline(found) == [("exec", "waiting", [("hold", "aborted")])]


@pytest.mark.guarantee("trajectory-is-redacted")
async def test_by_default_only_shapes_are_recorded() -> None:
    program = f"""
    const key = "{SECRET}"; text(key); json({{ key }}); console.log(key);
    const given = await tools.echo({{ value: key }});
    await tools.fail({{ message: key }}).catch(() => 0); await yield_control(key);
    await tools.call(key).catch(() => 0); await tools.describe(key).catch(() => 0); await tools.search(key);
    return [given]
    """
    async with engine() as made:
        run_id = waiting(await made.exec(program)).run_id
        for found in (await seen(made, run_id), await only_run(made)):
            assert SECRET not in found.to_json().decode()
            assert SECRET not in found.tree()
        value_of(await made.wait(run_id))
        found = await seen(made, run_id)
        assert SECRET not in found.to_json().decode()
        assert found.redaction == "shape"
        assert found.calls[0].input == {"type": "string", "bytes": len(program.encode())}
        echo, fail, *others = nested_in(found)
        assert echo.input == {"type": "object", "keys": ["value"], "bytes": 29}
        assert echo.result == {"type": "string", "bytes": 17}
        assert (fail.input, fail.result) == ({"type": "object", "keys": ["message"], "bytes": 31}, None)
        assert [(call.name, call.method, call.error) for call in others] == [
            ("", "call", "unknown_tool"),
            ("", "describe", "unknown_tool"),
            ("", "search", ""),
        ]


async def test_a_host_that_says_so_before_the_run_gets_values() -> None:
    program = "text('out'); json([1]); await yield_control(); return await tools.echo({ value: { a: 1 } })"
    async with engine(redact=False) as made:
        run_id = waiting(await made.exec(program)).run_id
        value_of(await made.wait(run_id))
        found = await seen(made, run_id)
        assert found.redaction == "none"
        first, second = found.calls
        assert first.input == {"type": "string", "bytes": len(program), "value": program}
        assert first.output is not None
        assert first.output.values == ["out", [1]]
        (echo,) = second.calls
        assert echo.input == {
            "type": "object",
            "keys": ["value"],
            "bytes": 19,
            "value": {"value": {"a": 1}},
        }
        assert echo.result == {"type": "object", "bytes": 7, "value": {"a": 1}}
        assert second.value == {"type": "object", "bytes": 7, "value": {"a": 1}}


async def test_a_redactor_decides_what_is_recorded_and_one_that_fails_records_shapes() -> None:
    asked: list[tuple[str, str]] = []

    def hide(part: Part) -> Any:
        asked.append((part.kind, part.tool))
        if part.kind == "result":
            raise ValueError(SECRET)
        return {"only": [*part.value]} if part.kind == "input" else "hidden"

    async with engine(redact=hide) as made:
        value_of(await made.exec("return await tools.echo({ value: 'x' })"))
        found = await only_run(made)
        assert found.redaction == "custom"
        (echo,) = nested_in(found)
        assert echo.input == {
            "type": "object",
            "keys": ["value"],
            "bytes": 15,
            "value": {"only": ["value"]},
        }
        assert echo.result == {"type": "string", "bytes": 3}
        assert found.calls[0].value == {"type": "string", "bytes": 3, "value": "hidden"}
        assert asked == [
            ("program", ""),
            ("input", "openclaw:core:echo"),
            ("result", "openclaw:core:echo"),
            ("value", ""),
        ]


async def test_recorded_values_are_bounded() -> None:
    program = "const big = 'x'.repeat(60000); for (let i = 0; i < 40; i++) await tools.echo({ value: big })"
    async with engine(redact=False) as made:
        value_of(await made.exec(program))
        value_of(
            await made.exec("return (await tools.echo({ value: 'x'.repeat(70000) })).length", session="one")
        )
        many = await only_run(made)
        assert len(many.to_json()) < 1_200_000
        assert [call.input is not None and "value" in call.input for call in nested_in(many)].count(
            True
        ) in range(8, 18)
        (large,) = nested_in(await only_run(made, "one"))
        assert large.result == {"type": "string", "bytes": 70002}
