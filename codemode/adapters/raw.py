"""For hosts that talk to a provider themselves: plain dicts as in the HTTP interfaces, no SDK.

`answer_calls` turns a response's tool calls into the messages that answer them; `converse` is the whole loop
around the host's `send`, with the guard before each request. raw_shapes.py has the differences between
providers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from codemode.adapters.calling import ModelAnswer, ModelTools
from codemode.adapters.raw_shapes import SHAPES, RawProvider, Turn
from codemode.surface import render_tools
from codemode.trajectory.payload_log import log_payload
from codemode.trajectory.sse_log import Chunk, watched

Message = dict[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[Mapping[str, Any]]]

_MAX_TURNS = 50
_CUT_OFF = "The response was cut off at its token limit, so this call was not made. Send a shorter one."


class TurnLimit(Exception):
    """The model still calls tools after `max_turns` turns. Its suspended runs stay suspended."""

    def __init__(self, turns: int, messages: list[Message]) -> None:
        self.messages = messages
        super().__init__(f"the model still calls tools after {turns} turns")


class Conversation(Struct, frozen=True):
    """`response` is the last one and calls no tool; `messages` is the history up to and with it."""

    response: Mapping[str, Any]
    messages: list[Message]


def declare(tools: ModelTools, provider: RawProvider) -> list[dict[str, Any]]:
    """The value for `tools` in a request."""
    declared = render_tools(tools.visible, provider)
    log_payload({"tools": declared}, "a declaration")
    return declared


def watch_sse(chunks: AsyncIterable[Chunk], origin: str = "the model") -> AsyncGenerator[Chunk]:
    """Passes on the event stream of a model as it is; with CODEMODE_DEBUG_SSE the log tells about it."""
    return watched(chunks, origin)


async def answer_calls(
    tools: ModelTools, response: Mapping[str, Any], provider: RawProvider
) -> list[Message]:
    """The messages to append to the history after the response; none if it calls no tool.

    The calls of one response run at the same time. A call that was cut off is answered, but not made.
    Raises ValueError for a response that is not of this provider.
    """
    return await _answer(tools, SHAPES[provider].read(response), provider)


async def converse(
    tools: ModelTools,
    request: Mapping[str, Any],
    send: Send,
    provider: RawProvider,
    *,
    max_turns: int = _MAX_TURNS,
) -> Conversation:
    """Sends the request with tools until the model calls none. `send` posts a body and returns the response.

    Raises PayloadRefused before a request that shows more than exec and wait would be sent, and TurnLimit.
    """
    shape = SHAPES[provider]
    messages: list[Message] = shape.history_of(request)
    own = {**request, "tools": [*request.get("tools", ()), *render_tools(tools.visible, provider)]}
    if not own["tools"]:
        del own["tools"]
    for _ in range(max_turns):
        body = {**own, shape.history: list(messages)}
        tools.guard(body)
        response = await send(body)
        turn = shape.read(response)
        messages += turn.said
        answers = await _answer(tools, turn, provider)
        if not answers:
            return Conversation(response, messages)
        messages += answers
    raise TurnLimit(max_turns, messages)


async def _answer(tools: ModelTools, turn: Turn, provider: RawProvider) -> list[Message]:
    async def answer(at: int) -> ModelAnswer:
        call = turn.calls[at]
        if turn.is_cut_off and at == len(turn.calls) - 1:
            return ModelAnswer(_CUT_OFF, is_error=True)
        return await tools.call(call.name, call.arguments, call.id)

    answers = await asyncio.gather(*(answer(at) for at in range(len(turn.calls))))
    return SHAPES[provider].write(list(zip(turn.calls, answers, strict=True)))
