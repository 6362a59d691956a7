"""Progress that a running tool reports is an event of its run, as it happens."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codemode import CallContext, tool
from codemode.contract.events import CallUpdated
from tests.harness.engine import engine, value_of

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@tool
async def upload(context: CallContext, parts: int) -> int:
    """Uploads, and says how far it is."""
    for part in range(parts):
        context.update({"part": part})
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    return parts


@tool
def count(context: CallContext) -> str:
    """Reports from a thread, and once what is no JSON."""
    context.update("half way")
    context.update(object())
    return "done"


async def updates_of(program: str, **options: Any) -> list[tuple[str, Any]]:
    async with engine([upload, count], **options) as made:
        listening = made.events()
        value_of(await made.exec(program))
        await made.close()
        return [
            (e.type, e.progress) if isinstance(e, CallUpdated) else (e.type, None) async for e in listening
        ]


async def test_updates_come_between_the_start_and_the_end_of_their_call() -> None:
    assert await updates_of("return await tools.upload({ parts: 3 })") == [
        ("started", None),
        ("call_started", None),
        ("call_update", {"part": 0}),
        ("call_update", {"part": 1}),
        ("call_update", {"part": 2}),
        ("call_finished", None),
        ("finished", None),
    ]


async def test_an_update_from_a_thread_arrives_and_one_that_is_no_json_does_not() -> None:
    found = await updates_of("return await tools.count()")
    assert [progress for kind, progress in found if kind == "call_update"] == ["half way"]


def test_an_update_names_its_call() -> None:
    event = CallUpdated("2", "openclaw:core:upload", {"part": 1}, run_id="r", at_ms=5)
    assert event.to_dict() == {
        "type": "call_update",
        "runId": "r",
        "atMs": 5,
        "callId": "2",
        "tool": "openclaw:core:upload",
        "progress": {"part": 1},
    }
