"""The event stream: in order, never in the engine's way, and over when its run is."""

from __future__ import annotations

import asyncio
import gc

from codemode.contract.events import (
    Event,
    OutputAdded,
    RunFinished,
)
from codemode.contract.results import TextOutput
from codemode.runs.event_hub import EventHub, Subscription


def output(run_id: str, text: str) -> OutputAdded:
    return OutputAdded(TextOutput(text), run_id=run_id, at_ms=1)


def finished(run_id: str) -> RunFinished:
    return RunFinished("completed", run_id=run_id, at_ms=2)


async def read_all(subscription: Subscription) -> list[Event]:
    return [event async for event in subscription]


async def test_a_listener_gets_the_events_of_its_run_and_ends_with_it() -> None:
    hub = EventHub()
    one, every = hub.subscribe("a"), hub.subscribe()
    sent: list[Event] = [
        output("a", "1"),
        output("b", "2"),
        finished("a"),
        output("b", "3"),
        finished("b"),
    ]
    for event in sent:
        hub.publish(event)
    assert await read_all(one) == [sent[0], sent[2]]
    hub.close()
    assert await read_all(every) == sent


async def test_a_listener_that_waits_is_woken_by_an_event_and_by_the_end() -> None:
    hub = EventHub()
    reading = asyncio.create_task(read_all(hub.subscribe("a")))
    await asyncio.sleep(0)
    hub.publish(output("a", "1"))
    await asyncio.sleep(0)
    hub.close()
    assert await reading == [output("a", "1")]
    assert await read_all(hub.subscribe("a")) == []
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_slow_listener_loses_its_oldest_events_and_knows_how_many() -> None:
    hub = EventHub(capacity=3)
    slow, quick = hub.subscribe("a"), hub.subscribe("a")
    for number in range(9):
        hub.publish(output("a", str(number)))
        await anext(quick)
    hub.publish(finished("a"))
    assert await read_all(slow) == [output("a", "7"), output("a", "8"), finished("a")]
    assert (slow.dropped, quick.dropped) == (7, 0)


async def test_a_listener_nobody_holds_is_forgotten() -> None:
    hub = EventHub()
    assert not hub.listeners
    held = hub.subscribe()
    assert hub.listeners
    del held
    gc.collect()
    assert not hub.listeners


async def test_a_cancelled_reader_can_read_again() -> None:
    hub = EventHub()
    subscription = hub.subscribe("a")
    reading = asyncio.create_task(anext(subscription))
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait({reading})
    hub.publish(finished("a"))
    assert await read_all(subscription) == [finished("a")]
