"""Raw loops: responses in the exact shapes of the providers, and the messages that answer them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from codemode.adapters import prepare_tools
from codemode.adapters.raw import TurnLimit, answer_calls, converse, declare
from codemode.adapters.raw_shapes import RawProvider
from codemode.surface import PayloadRefused, check_payload
from tests.harness.engine import engine

ONE = {"code": "return 1"}
BAD = {"code": "return ("}
PROVIDERS: tuple[RawProvider, ...] = ("anthropic", "openai", "openai-responses")


def anthropic(*calls: dict[str, Any], stop: str = "tool_use") -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": "I try."}]
    for at, given in enumerate(calls):
        content.append({"type": "tool_use", "id": f"id_{at}", "name": "exec", "input": given})
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": stop if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def openai(*calls: dict[str, Any], stop: str = "tool_calls") -> dict[str, Any]:
    called = [
        {"id": f"id_{at}", "type": "function", "function": {"name": "exec", "arguments": json.dumps(given)}}
        for at, given in enumerate(calls)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": "I try.", "refusal": None}
    if called:
        message["tool_calls"] = called
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": stop if calls else "stop"}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def responses(*calls: dict[str, Any], stop: str = "completed") -> dict[str, Any]:
    text: dict[str, Any] = {"type": "output_text", "text": "I try.", "annotations": []}
    output: list[dict[str, Any]] = [
        {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [text]}
    ]
    for at, given in enumerate(calls):
        output.append(
            {
                "type": "function_call",
                "id": f"fc_{at}",
                "call_id": f"id_{at}",
                "name": "exec",
                "arguments": json.dumps(given),
                "status": "completed",
            }
        )
    return {"id": "resp_1", "object": "response", "status": stop, "output": output}


MAKE = {"anthropic": anthropic, "openai": openai, "openai-responses": responses}
CUT_OFF = {"anthropic": "max_tokens", "openai": "length", "openai-responses": "incomplete"}
HISTORY = {"anthropic": "messages", "openai": "messages", "openai-responses": "input"}


async def answered(response: Mapping[str, Any], provider: RawProvider) -> list[dict[str, Any]]:
    async with engine() as host:
        return await answer_calls(await prepare_tools(host), response, provider)


async def test_anthropics_tool_uses_are_answered_in_one_user_message(leaves_nothing: None) -> None:
    (message,) = await answered(anthropic(ONE, BAD), "anthropic")

    assert message["role"] == "user"
    shown = [(block["type"], block["tool_use_id"], block["is_error"]) for block in message["content"]]
    assert shown == [("tool_result", "id_0", False), ("tool_result", "id_1", True)]
    bodies = [json.loads(block["content"]) for block in message["content"]]
    assert (bodies[0]["value"], bodies[1]["code"]) == (1, "invalid_input")


async def test_openais_chat_calls_are_answered_by_a_tool_message_each() -> None:
    messages = await answered(openai(ONE, BAD), "openai")

    assert [(m["role"], m["tool_call_id"]) for m in messages] == [("tool", "id_0"), ("tool", "id_1")]
    assert [json.loads(m["content"])["status"] for m in messages] == ["completed", "failed"]


async def test_openais_responses_calls_are_answered_by_an_output_item_each() -> None:
    items = await answered(responses(ONE, BAD), "openai-responses")

    assert [(i["type"], i["call_id"]) for i in items] == [
        ("function_call_output", "id_0"),
        ("function_call_output", "id_1"),
    ]
    assert [json.loads(i["output"])["status"] for i in items] == ["completed", "failed"]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_response_without_calls_is_answered_with_nothing(provider: RawProvider) -> None:
    assert await answered(MAKE[provider](), provider) == []


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_last_call_of_a_response_that_was_cut_off_is_answered_but_not_made(
    provider: RawProvider,
) -> None:
    cut_off = MAKE[provider](ONE, {"code": "return 2"}, stop=CUT_OFF[provider])

    said = json.dumps(await answered(cut_off, provider))

    assert '\\"value\\":1' in said
    assert '\\"value\\":2' not in said
    assert "was cut off at its token limit" in said


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("response", [{}, {"content": None}, {"choices": []}, {"output": [7]}])
async def test_what_is_no_response_of_the_provider_is_refused(
    provider: RawProvider, response: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=f'no response of "{provider}"'):
        await answered(response, provider)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_loop_sends_exec_and_wait_until_no_tool_is_called(provider: RawProvider) -> None:
    sent: list[dict[str, Any]] = []
    script = [MAKE[provider](ONE), MAKE[provider](BAD, ONE), MAKE[provider]()]

    async def send(body: dict[str, Any]) -> Mapping[str, Any]:
        check_payload(body)
        sent.append(body)
        return script[len(sent) - 1]

    async with engine() as host:
        tools = await prepare_tools(host)
        request = {"model": "m", HISTORY[provider]: [{"role": "user", "content": "Go."}]}
        ended = await converse(tools, request, send, provider)
    assert ended.response is script[-1]
    assert ended.messages[0] == {"role": "user", "content": "Go."}
    # each request has the history so far, and the last response is the history's end
    histories = [body[HISTORY[provider]] for body in sent]
    assert [ended.messages[: len(history)] for history in histories] == histories
    assert "id_1" in json.dumps(histories[2])
    assert len(ended.messages) > len(histories[2]) > len(histories[1]) > len(histories[0]) == 1


async def test_a_bare_prompt_of_openais_responses_is_the_first_message() -> None:
    async def send(body: dict[str, Any]) -> Mapping[str, Any]:
        assert body["input"] == [{"role": "user", "content": "Go."}]
        return responses()

    async with engine() as host:
        await converse(await prepare_tools(host), {"input": "Go."}, send, "openai-responses")


async def test_a_request_that_brings_other_tools_is_never_sent() -> None:
    async def send(body: dict[str, Any]) -> Mapping[str, Any]:
        raise AssertionError(body)

    request = {"messages": [], "tools": [{"name": "bash", "input_schema": {"type": "object"}}]}
    async with engine() as host:
        tools = await prepare_tools(host)
        with pytest.raises(PayloadRefused, match="bash"):
            await converse(tools, request, send, "anthropic")


async def test_a_model_that_never_stops_calling_ends_at_the_turn_limit() -> None:
    async def send(body: dict[str, Any]) -> Mapping[str, Any]:
        return openai(ONE)

    async with engine() as host:
        tools = await prepare_tools(host)
        with pytest.raises(TurnLimit, match="after 3 turns") as limit:
            await converse(tools, {"messages": []}, send, "openai", max_turns=3)
    assert [message["role"] for message in limit.value.messages] == ["assistant", "tool"] * 3


@pytest.mark.parametrize("config", [{"enabled": False}, {"enabled": True}])
async def test_a_run_without_tools_declares_none(config: dict[str, Any]) -> None:
    async def send(body: dict[str, Any]) -> Mapping[str, Any]:
        assert "tools" not in body
        return openai()

    async with engine(config=config) as host:
        tools = await prepare_tools(host, allow=[])
        assert declare(tools, "openai") == []
        await converse(tools, {"messages": []}, send, "openai")
