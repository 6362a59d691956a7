"""The shape of a turn at each provider: where the calls are, and how answers are written. Pure.

Reads responses of Anthropic's messages, OpenAI's chat completions and OpenAI's responses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

from msgspec import Struct

from codemode.adapters.blocks import (
    ShownContent,
    anthropic_blocks,
    openai_chat_parts,
    openai_responses_parts,
)
from codemode.adapters.calling import ModelAnswer

RawProvider = Literal["anthropic", "openai", "openai-responses"]
Item = dict[str, Any]


class ModelCall(Struct, frozen=True):
    id: str
    name: str
    arguments: Mapping[str, Any] | str | None


class Turn(Struct, frozen=True):
    """One response: `said` goes into the history as it came."""

    said: list[Item]
    calls: list[ModelCall]
    is_cut_off: bool = False


class Shape(Struct, frozen=True):
    provider: RawProvider
    history: str  # the request's key for the history
    reader: Callable[[Mapping[str, Any]], Turn]
    write: Callable[[Sequence[tuple[ModelCall, ModelAnswer]]], list[Item]]

    def read(self, response: Mapping[str, Any]) -> Turn:
        """Reads a response. Raises nothing but ValueError, for data that is not one of this provider."""
        try:
            return self.reader(response)
        except (LookupError, TypeError, AttributeError, ValueError) as problem:
            raise ValueError(f'this is no response of "{self.provider}": {problem!r}') from problem

    def history_of(self, request: Mapping[str, Any]) -> list[Item]:
        given: object = request.get(self.history, [])
        if isinstance(given, str):  # OpenAI's responses take a bare prompt
            return [{"role": "user", "content": given}]
        return list(cast("Sequence[Item]", given))


def _read_anthropic(response: Mapping[str, Any]) -> Turn:
    content = _list(response["content"])
    used = [block for block in content if block.get("type") == "tool_use"]
    calls = [ModelCall(block["id"], block["name"], block["input"]) for block in used]
    # providers refuse an assistant message without content, so the history leaves it out
    said = [{"role": "assistant", "content": content}] if content else []
    return Turn(said, calls, response.get("stop_reason") == "max_tokens")


def _write_anthropic(answered: Sequence[tuple[ModelCall, ModelAnswer]]) -> list[Item]:
    results = [
        {
            "type": "tool_result",
            "tool_use_id": call.id,
            "content": _with_blocks(answer, {"type": "text", "text": answer.text}, anthropic_blocks),
            "is_error": answer.is_error,
        }
        for call, answer in answered
    ]
    return [{"role": "user", "content": results}] if results else []


def _read_openai(response: Mapping[str, Any]) -> Turn:
    choice = _list(response["choices"])[0]
    message = cast("Item", choice["message"])
    called = cast("list[Item]", message.get("tool_calls") or [])
    calls = [
        ModelCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in called
        if call.get("type", "function") == "function"
    ]
    return Turn([message], calls, choice.get("finish_reason") == "length")


def _write_openai(answered: Sequence[tuple[ModelCall, ModelAnswer]]) -> list[Item]:
    """Tool messages take text only: what they show comes in a user message behind them."""
    messages: list[Item] = [
        {"role": "tool", "tool_call_id": call.id, "content": answer.text} for call, answer in answered
    ]
    for call, answer in answered:
        if answer.content:
            refs = ", ".join(item.ref for item in answer.content)
            said = {"type": "text", "text": f"Output of the call {call.id}: {refs}."}
            messages.append({"role": "user", "content": [said, *openai_chat_parts(answer.content)]})
    return messages


def _with_blocks(
    answer: ModelAnswer, text: Item, blocks: Callable[[Sequence[ShownContent]], list[Item]]
) -> str | list[Item]:
    """The text alone, or a list of blocks that begins with it."""
    shown = blocks(answer.content)
    return [text, *shown] if shown else answer.text


def _read_openai_responses(response: Mapping[str, Any]) -> Turn:
    output = _list(response["output"])
    called = [item for item in output if item.get("type") == "function_call"]
    calls = [ModelCall(item["call_id"], item["name"], item["arguments"]) for item in called]
    return Turn(output, calls, response.get("status") == "incomplete")


def _write_openai_responses(answered: Sequence[tuple[ModelCall, ModelAnswer]]) -> list[Item]:
    return [
        {
            "type": "function_call_output",
            "call_id": call.id,
            "output": _with_blocks(answer, _input_text(answer), openai_responses_parts),
        }
        for call, answer in answered
    ]


def _input_text(answer: ModelAnswer) -> Item:
    return {"type": "input_text", "text": answer.text}


def _list(found: object) -> list[Item]:
    if not isinstance(found, list):
        raise TypeError(f"a list is expected, not {type(found).__name__}")
    return cast("list[Item]", found)


SHAPES: dict[RawProvider, Shape] = {
    shape.provider: shape
    for shape in (
        Shape("anthropic", "messages", _read_anthropic, _write_anthropic),
        Shape("openai", "messages", _read_openai, _write_openai),
        Shape("openai-responses", "input", _read_openai_responses, _write_openai_responses),
    )
}
