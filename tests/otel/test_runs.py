"""Runs as spans and metrics, seen by OpenTelemetry's own SDK."""

from __future__ import annotations

import asyncio
import contextvars
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import baggage, trace
from opentelemetry.context import attach, detach
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind, StatusCode

from codemode import ConfigError, Engine, OpenTelemetry, tool
from tests.harness.engine import Desk, engine, failure_of, value_of, waiting
from tests.harness.loops import until
from tests.harness.otel import Watch, about, parent_of, span_id, trace_of
from tests.harness.processes import modules_after
from tests.harness.tool_search import Log, catalog_of_300, reach

SECRET = "hunter2"


async def told(watch: Watch, metric: str) -> dict[str, list[Any]]:
    """All metrics, once this one is there: what happens is told a moment later."""
    await until(lambda: metric in watch.points())
    return watch.points()


@tool
async def current(note: str = "") -> str:
    """The span in which it runs."""
    context = trace.get_current_span().get_span_context()
    return f"{context.span_id:016x}"


async def test_an_exec_is_a_span_and_each_of_its_calls_one_below_it_by_the_names_of_the_conventions() -> None:
    watch = Watch()
    async with engine((current,), otel=watch.settings()) as made:
        ran = await made.exec(
            "return await tools.current({})", session="s1", tool_call="call_7", provider="acme", model="m-1"
        )
    outer, inner = watch.one("execute_tool exec"), watch.one("execute_tool current")
    assert value_of(ran) == f"{span_id(inner):016x}"
    assert (outer.kind, inner.kind) == (SpanKind.INTERNAL, SpanKind.INTERNAL)
    assert (parent_of(outer), parent_of(inner)) == (None, span_id(outer))
    told = about(outer)
    assert told.pop("codemode.run.id") == about(inner)["codemode.run.id"]
    assert told == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "exec",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call_7",
        "gen_ai.conversation.id": "s1",
        "gen_ai.agent.id": "main",
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": "m-1",
        "codemode.program.language": "javascript",
        "codemode.program.size": 30,
        "codemode.status": "completed",
        "codemode.calls": 1,
    }
    told = about(inner)
    del told["codemode.run.id"]
    assert told == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "current",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "1",
        "gen_ai.tool.description": "The span in which it runs.",
        "codemode.call.method": "call",
        "codemode.call.arguments.size": 4,
        "codemode.call.status": "ok",
        "codemode.call.result.size": 18,
    }
    assert outer.start_time is not None
    assert inner.start_time is not None
    assert outer.end_time is not None
    assert inner.end_time is not None
    assert outer.start_time <= inner.start_time <= inner.end_time <= outer.end_time


async def test_the_callers_span_is_the_parent_of_an_exec() -> None:
    watch = Watch()
    tracer = watch.tracers.get_tracer("host")
    async with engine((current,), otel=watch.settings()) as made:
        with tracer.start_as_current_span("agent") as agent:
            await made.exec("return 1")
    assert parent_of(watch.one("execute_tool exec")) == agent.get_span_context().span_id


async def test_spans_of_tools_are_below_their_call_also_from_a_thread_and_baggage_is_the_callers() -> None:
    watch = Watch()
    tracer = watch.tracers.get_tracer("tool")

    @tool
    def look_up(number: int) -> str:
        """Runs in a thread."""
        with tracer.start_as_current_span("query"):
            return str(baggage.get_baggage("user"))

    async with engine((look_up,), otel=watch.settings()) as made:
        token = attach(baggage.set_baggage("user", "anna"))
        program = "return Promise.all([1, 2, 3, 4].map((number) => tools.look_up({ number })))"
        assert value_of(await made.exec(program)) == ["anna"] * 4
        detach(token)
    calls, inner = watch.named("execute_tool look_up"), watch.named("query")
    assert sorted(map(span_id, calls)) == sorted(parent_of(one) or 0 for one in inner)
    assert {parent_of(call) for call in calls} == {span_id(watch.one("execute_tool exec"))}


async def test_a_wait_on_another_node_is_in_the_same_trace_and_linked_to_what_was_before(
    tmp_path: Path,
) -> None:
    watch = Watch()
    store: dict[str, Any] = {"store": tmp_path / "runs.sqlite", "store_key": b"k" * 32}
    program = "await yield_control(); await yield_control(); return tools.current({})"
    async with engine((current,), otel=watch.settings(), **store) as first:
        ran = waiting(await first.exec(program))
    async with engine((current,), **store) as silent:  # keeps what the run remembers
        waiting(await silent.wait(ran.run_id))
    async with engine((current,), otel=watch.settings(), **store) as last:
        value_of(await last.wait(ran.run_id))
    outer, wait, call = (watch.one(f"execute_tool {name}") for name in ("exec", "wait", "current"))
    assert trace_of(outer) == trace_of(wait) == trace_of(call)
    assert parent_of(wait) == span_id(outer)
    assert parent_of(call) == span_id(wait)
    (link,) = wait.links
    assert (link.context.span_id, dict(link.attributes or {})) == (span_id(outer), {"codemode.link": "exec"})
    assert [event.name for event in outer.events] == ["codemode.suspended"]
    assert [event.name for event in wait.events] == ["codemode.resumed"]
    assert about(outer)["codemode.suspension.reason"] == "yield"


async def test_a_wait_inside_a_span_of_its_caller_is_linked_to_the_exec_and_to_the_leg_before() -> None:
    watch = Watch()
    tracer = watch.tracers.get_tracer("host")
    async with engine((current,), otel=watch.settings()) as made:
        ran = waiting(await made.exec("await yield_control(); await yield_control(); return 1"))
        waiting(await made.wait(ran.run_id))
        with tracer.start_as_current_span("next day") as day:
            await made.wait(ran.run_id)
    outer, (first, second) = watch.one("execute_tool exec"), watch.named("execute_tool wait")
    assert parent_of(second) == day.get_span_context().span_id
    assert trace_of(second) != trace_of(outer)
    assert [(link.context.span_id, (link.attributes or {})["codemode.link"]) for link in second.links] == [
        (span_id(outer), "exec"),
        (span_id(first), "previous leg"),
    ]


async def test_tools_see_the_context_variables_of_the_wait_that_carries_the_program_on() -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")

    @tool
    async def who() -> str:
        """For whom it runs."""
        return user.get()

    async with engine((who,)) as made:
        user.set("first")
        ran = waiting(
            await made.exec(
                "const a = await tools.who({}); await yield_control(); return [a, await tools.who({})]"
            )
        )

        async def later() -> Any:
            user.set("second")
            return value_of(await made.wait(ran.run_id))

        assert await asyncio.create_task(later()) == ["first", "second"]


async def test_a_call_that_waits_for_an_approval_is_two_spans_that_are_linked_also_over_two_nodes(
    tmp_path: Path,
) -> None:
    watch = Watch()
    store: dict[str, Any] = {"store": tmp_path / "runs.sqlite", "store_key": b"k" * 32}
    async with engine(otel=watch.settings(), **store) as first:
        ran = waiting(await first.exec("return await tools.pay({ amount: 3 })"), "approval")
        (asked_for,) = [call.approval for call in ran.pending_tool_calls if call.approval]
    async with engine(otel=watch.settings(), **store) as last:
        assert await last.approve(ran.run_id, asked_for.id)
        assert value_of(await last.wait(ran.run_id)) == "paid 3"
    asked, paid = watch.named("execute_tool pay")
    assert about(asked)["codemode.call.status"] == "needs_approval"
    assert about(asked)["codemode.approval.id"] == asked_for.id
    assert (about(paid)["codemode.approval.approved"], about(paid)["codemode.call.status"]) == (True, "ok")
    assert [link.context.span_id for link in paid.links] == [span_id(asked)]
    assert trace_of(asked) == trace_of(paid)


async def test_spans_and_metrics_have_nothing_of_what_programs_send_and_get() -> None:
    watch = Watch()
    async with engine(otel=watch.settings()) as made:
        await made.exec(
            f"const secret = '{SECRET}'; await tools.echo({{ value: secret }}); text(secret);"
            "await tools.fail({ message: secret }).catch(() => 0);"
            "await tools.call('unknown_' + secret, {}).catch(() => 0); throw new Error(secret)"
        )
        points = watch.points()
    told = [(span.name, about(span), span.events, span.status.description) for span in watch.spans]
    assert len(told) == 4
    assert SECRET not in str(told)
    assert SECRET not in str(points)


async def test_with_content_spans_have_the_program_the_arguments_and_the_results_clipped() -> None:
    watch = Watch()
    async with engine(otel=watch.settings(content=True)) as made:
        await made.exec("return await tools.echo({ value: 'abc' })")
        await made.exec("return (await tools.echo({ value: 'x'.repeat(50000) })).length")
    first, second = watch.named("execute_tool echo")
    outer, _ = watch.named("execute_tool exec")
    assert (
        about(outer)["gen_ai.tool.call.arguments"] == '{"code":"return await tools.echo({ value: \'abc\' })"}'
    )
    assert about(outer)["gen_ai.tool.call.result"] == '"abc"'
    assert about(first)["gen_ai.tool.call.arguments"] == '{"value":"abc"}'
    assert about(first)["gen_ai.tool.call.result"] == '"abc"'
    assert len(about(second)["gen_ai.tool.call.result"]) == 16 << 10


async def test_what_fails_is_an_error_with_its_code_and_metrics_know_few_words() -> None:
    watch = Watch()
    async with engine(otel=watch.settings()) as made:
        failure_of(await made.exec("await tools.fail({})"), "nested_tool_failed")
        failure_of(await made.exec("return tools.call('nobody', {})"), "nested_tool_failed")
        await until(
            lambda: len(watch.points().get("codemode.leg.duration", ())) == 1 and len(watch.spans) == 4
        )
        points = watch.points()
    outer, unknown = watch.named("execute_tool exec")[0], watch.one("execute_tool")
    assert (outer.status.status_code, about(outer)["error.type"]) == (StatusCode.ERROR, "nested_tool_failed")
    assert about(unknown)["error.type"] == "unknown_tool"
    assert about(unknown)["gen_ai.tool.name"] == "unknown"
    assert [(dict(point.attributes), point.count) for point in points["gen_ai.execute_tool.duration"]] == [
        ({"gen_ai.tool.name": "fail", "error.type": "tool_error"}, 1),
        ({"gen_ai.tool.name": "unknown", "error.type": "unknown_tool"}, 1),
    ]


async def test_metrics_tell_durations_suspensions_and_the_state_of_the_engine() -> None:
    watch, desk = Watch(), Desk()
    async with engine(desk.tools, {"timeoutMs": 100}, otel=watch.settings()) as made:
        waiting(await made.exec("return tools.hold({ name: 'a' })"))
        points = await told(watch, "codemode.leg.duration")
        told_of = {
            name: [(dict(point.attributes), getattr(point, "value", None)) for point in found]
            for name, found in points.items()
        }
        assert told_of["codemode.runs"] == [
            ({"codemode.state": "running"}, 0),
            ({"codemode.state": "waiting"}, 1),
        ]
        assert told_of["codemode.queue.length"] == [({}, 0)]
        assert told_of["codemode.suspensions"] == [({"codemode.suspension.reason": "pending_tools"}, 1)]
        assert {name: len(found) for name, found in told_of.items()} == {
            "codemode.leg.duration": 1,
            "codemode.snapshot.size": 1,
            "codemode.suspensions": 1,
            "codemode.runs": 2,
            "codemode.workers": 3,
            "codemode.queue.length": 1,
            "codemode.loop.lag": 1,
        }
        (leg,) = points["codemode.leg.duration"]
        assert dict(leg.attributes) == {"codemode.leg": "exec", "codemode.status": "waiting"}
    assert "codemode.runs" not in watch.points()  # a closed engine tells nothing more


async def test_a_cancelled_exec_ends_its_spans() -> None:
    watch, desk = Watch(), Desk()
    async with engine(desk.tools, otel=watch.settings()) as made:
        task = asyncio.create_task(made.exec("return tools.hold({ name: 'a' })"))
        await desk.asked("a")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    outer, call = watch.one("execute_tool exec"), watch.one("execute_tool hold")
    assert (about(outer)["error.type"], about(call)["error.type"]) == ("aborted", "aborted")


async def test_a_call_under_way_when_its_engine_closes_ends_its_span() -> None:
    watch, desk = Watch(), Desk()
    async with engine(desk.tools, {"timeoutMs": 100}, otel=watch.settings()) as made:
        waiting(await made.exec("return tools.hold({ name: 'a' })"))
    assert [span.name for span in watch.spans] == ["execute_tool exec", "execute_tool hold"]


async def test_an_exporter_that_fails_fails_no_run() -> None:
    class Broken(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            raise RuntimeError("no")

    class BrokenProcessor(SimpleSpanProcessor):
        def on_start(self, span: Any, parent_context: Any = None) -> None:
            raise RuntimeError("no")

    watch = Watch()
    watch.tracers.add_span_processor(BrokenProcessor(Broken()))
    async with engine(otel=watch.settings()) as made:
        assert value_of(await made.exec("return await tools.echo({ value: 1 })")) == 1


async def test_calls_of_tool_search_are_spans_too() -> None:
    watch = Watch()
    async with engine(catalog_of_300(Log()), {"enabled": False}, otel=watch.settings()) as made:
        prepared = await made.tool_search({"mode": "tools"}).prepare()
        answer = await reach(prepared, "export record 07", {"subject": "x"})
        assert answer.value == {"did": "export_record_07", "subject": "x"}
    assert [span.name for span in watch.spans] == ["execute_tool export_record_07"]


@pytest.mark.parametrize("given", ["yes", 1, {}])
def test_anything_but_true_false_or_settings_is_refused(given: object) -> None:
    with pytest.raises(ConfigError, match="otel"):
        Engine(otel=given)  # pyright: ignore[reportArgumentType] - that it is refused is the point
    assert isinstance(Engine(otel=OpenTelemetry()), Engine)


FIRST_RUN = """
import asyncio
from codemode import Engine
async def main():
    async with Engine() as engine:
        assert (await engine.exec("return 1")).unwrap() == 1
asyncio.run(main())
"""


def test_an_engine_that_was_not_asked_loads_nothing_of_it() -> None:
    loaded = {
        name for name in modules_after(FIRST_RUN) if name.startswith(("opentelemetry", "codemode.otel."))
    }
    assert loaded == {"codemode.otel.settings", "codemode.otel.story"}
