"""Nested calls of one run as progress notifications, for a client that wants them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from codemode.contract.events import CallFinished, CallStarted, Event, RunStarted
from codemode.engine import Engine
from codemode.runs.event_hub import Subscription

if TYPE_CHECKING:  # loaded when it is served
    from mcp.server.context import ServerRequestContext


@asynccontextmanager
async def progress_told(
    context: ServerRequestContext[Any, Any], engine: Engine, tool_call: str, run_id: str | None
) -> AsyncGenerator[None]:
    """Tells progress of the run with this id, or of the one that exec starts under this tool call."""
    if "progress_token" not in (context.meta or {}):
        yield
        return
    events = engine.events(run_id)
    teller = asyncio.create_task(_tell(context, events, tool_call, run_id), name="codemode mcp progress")
    try:
        yield
        events.close()  # the client hears of all calls before it gets the result
        await asyncio.gather(teller, return_exceptions=True)
    finally:
        teller.cancel()


async def _tell(
    context: ServerRequestContext[Any, Any], events: Subscription, tool_call: str, run_id: str | None
) -> None:
    told = 0
    async for event in events:
        if isinstance(event, RunStarted) and event.tool_call == tool_call:
            run_id = event.run_id
        if event.run_id != run_id or (text := _text(event)) is None:
            continue
        told += 1
        await context.session.report_progress(told, message=text)


def _text(event: Event) -> str | None:
    match event:
        case CallStarted():
            return f"{event.tool or event.name} started"
        case CallFinished():
            return f"{event.tool or event.name} {event.status} after {event.ms:.0f} ms"
        case _:
            return None
