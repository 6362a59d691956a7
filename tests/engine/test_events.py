"""The event stream of real runs: typed, in order, complete, and never in the engine's way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codemode import Engine
from codemode.contract.events import Event
from codemode.runs.event_hub import CAPACITY, Subscription
from tests.harness.engine import Desk, engine, failure_of, shown, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")


async def read(listening: Subscription) -> list[Event]:
    return [event async for event in listening]


async def all_of(made: Engine, listening: Subscription) -> list[Event]:
    await made.close()
    return await read(listening)


def in_short(events: list[Event]) -> list[Any]:
    found: list[Any] = []
    for event in events:
        match event.type:
            case "output":
                found.append(("output", shown(event.item)))
            case "call_started":
                found.append(("call_started", event.name))
            case "call_finished":
                found.append(("call_finished", event.name, event.status))
            case "suspended":
                found.append(("suspended", event.reason))
            case "resumed":
                found.append(("resumed", event.settled))
            case "limit_hit":
                found.append(("limit_hit", event.code))
            case "finished":
                found.append(("finished", event.status, event.code))
            case "call_update":
                found.append(("call_update", event.call_id))
            case "started":
                found.append(("started", event.session, event.language))
            case "loop_late":  # of a busy machine, not of a run
                pass
            case "approval_opened" | "approval_closed" | "tools_changed":
                found.append((event.type,))
    return found


async def test_the_events_of_one_run_come_in_order_and_say_everything() -> None:
    desk = Desk()
    program = """
    text("one");
    await tools.echo({ value: 1 });
    await tools.call("nope").catch(() => {});
    json({ two: 2 });
    const held = tools.hold({ name: "a" });
    await yield_control();
    text("three");
    return await held;
    """
    async with engine(desk.tools) as made:
        listening = made.events()
        result = waiting(await made.exec(program, session="s"))
        await desk.asked("a")
        waiter = asyncio.create_task(made.wait(result.run_id, session="s"))
        async for event in (mine := made.events(result.run_id)):
            if event.type == "output":
                break
        desk.answer("a")
        assert value_of(await waiter) == "a"
        assert [event.type for event in await read(mine)] == ["call_finished", "finished"]
        events = await all_of(made, listening)
        assert in_short(events) == [
            ("started", "s", "javascript"),
            ("output", "one"),
            ("call_started", "echo"),
            ("call_finished", "echo", "ok"),
            ("call_started", "nope"),
            ("call_finished", "nope", "error"),
            ("output", {"two": 2}),
            ("call_started", "hold"),
            ("suspended", "yield"),
            ("resumed", 1),
            ("output", "three"),
            ("call_finished", "hold", "ok"),
            ("finished", "completed", None),
        ]
        assert {event.run_id for event in events} == {result.run_id}
        times = [event.at_ms for event in events]
        assert times == sorted(times)


async def test_output_streams_while_the_program_is_still_running() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        listening = made.events()
        task = asyncio.create_task(made.exec("text('early'); return await tools.hold({ name: 'a' })"))
        seen = [await anext(listening) for _ in range(3)]
        assert in_short(seen)[1:] == [("output", "early"), ("call_started", "hold")]
        assert not task.done()
        await desk.asked("a")
        desk.answer("a", 1)
        assert value_of(await task) == 1


@pytest.mark.parametrize(
    ("program", "ends"),
    [
        ("for (;;);", [("limit_hit", "timeout"), ("finished", "failed", "timeout")]),
        ("throw new Error('x')", [("finished", "failed", "guest_error")]),
        (
            "return 'x'.repeat(2000)",
            [("limit_hit", "output_limit_exceeded"), ("finished", "failed", "output_limit_exceeded")],
        ),
        ("let x = ;", [("finished", "failed", "invalid_input")]),
    ],
)
async def test_a_failed_run_says_which_limit_it_hit_and_finishes_once(program: str, ends: list[Any]) -> None:
    async with engine(config={"timeoutMs": 100, "maxOutputBytes": 1024}) as made:
        listening = made.events()
        await made.exec(program)
        assert in_short(await all_of(made, listening))[1:] == ends


async def test_an_aborted_run_finishes_in_the_stream_too_while_it_runs_and_while_it_is_suspended() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        everything = made.events()
        task = asyncio.create_task(made.exec("await tools.hold({ name: 'a' })", session="s"))
        await desk.asked("a")
        started = await anext(everything)
        mine = made.events(started.run_id)
        assert await made.abort(started.run_id, session="s")
        failure_of(await task, "aborted")
        assert in_short(await read(mine))[-1] == ("finished", "failed", "aborted")

        result = waiting(await made.exec("await yield_control()", session="s"))
        mine = made.events(result.run_id)
        assert await made.abort(result.run_id, session="s")
        assert in_short(await read(mine)) == [("finished", "failed", "aborted")]


async def test_an_expired_run_finishes_in_the_stream_too() -> None:
    async with engine(config={"snapshotTtlSeconds": 1}) as made:
        result = waiting(await made.exec("await yield_control()"))
        mine = made.events(result.run_id)
        assert in_short(await read(mine)) == [("finished", "failed", "snapshot_expired")]


async def test_a_listener_that_does_not_read_loses_its_oldest_events_and_holds_up_nobody() -> None:
    async with engine(config={"maxOutputBytes": 1 << 20}) as made:
        slow = made.events()
        result = await made.exec("for (let i = 0; i < 3000; i++) text(String(i)); return 'done'")
        assert value_of(result) == "done"
        assert len(result.output) == 3000
        events = await all_of(made, slow)
        assert len(events) == CAPACITY
        assert slow.dropped == 3002 - CAPACITY
        assert in_short(events)[-2:] == [("output", "2999"), ("finished", "completed", None)]


async def test_each_of_two_runs_at_once_has_its_own_stream() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        everything = made.events()
        ids: dict[str, str] = {}
        results = []
        for name in ("a", "b"):
            program = f"await yield_control(); text('{name}'); return await tools.hold({{ name: '{name}' }})"
            result = waiting(await made.exec(program, session=name))
            ids[name] = result.run_id
        streams = {name: made.events(run_id) for name, run_id in ids.items()}
        tasks = {name: asyncio.create_task(made.wait(ids[name], session=name)) for name in ids}
        await desk.asked("a", "b")
        desk.answer("b")
        desk.answer("a")
        results = [value_of(await tasks[name]) for name in ("a", "b")]
        assert results == ["a", "b"]
        for name, stream in streams.items():
            events = await read(stream)
            assert {event.run_id for event in events} == {ids[name]}
            assert in_short(events) == [
                ("resumed", 1),
                ("output", name),
                ("call_started", "hold"),
                ("call_finished", "hold", "ok"),
                ("finished", "completed", None),
            ]
        seen = await all_of(made, everything)
        assert [event.run_id for event in seen if event.type == "finished"].count(ids["a"]) == 1
