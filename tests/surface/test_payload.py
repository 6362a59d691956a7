"""The guard over the final payload: exec and wait and nothing else, in every provider's shape."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.surface import PayloadRefused, check_payload, exec_tool, wait_tool
from codemode.tools import Tool
from tests.harness.tool_samples import make, takes

OURS = [exec_tool("Runs.", ["javascript", "typescript"]), wait_tool()]
READ = make("read", parameters=takes("path"))
SHELL = make("exec", "Shell.", parameters=takes("command"))


def openai_chat(tools: list[Tool]) -> dict[str, Any]:
    return {
        "model": "m",
        "messages": [{"role": "user", "content": "tools"}],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "tools": [
            {"type": "function", "function": {"name": t.name, "parameters": t.parameters, "strict": False}}
            for t in tools
        ],
    }


def openai_responses(tools: list[Tool]) -> dict[str, Any]:
    return {
        "model": "m",
        "input": "hi",
        "tools": [{"type": "function", "name": t.name, "parameters": t.parameters} for t in tools],
    }


def anthropic(tools: list[Tool]) -> dict[str, Any]:
    listed = [{"name": t.name, "description": t.description, "input_schema": t.parameters} for t in tools]
    return {"model": "m", "max_tokens": 1, "messages": [], "tools": listed, "tool_choice": {"type": "auto"}}


def gemini(tools: list[Tool]) -> dict[str, Any]:
    declared = [{"name": t.name, "parameters": t.parameters} for t in tools]
    return {
        "contents": [],
        "tools": [{"functionDeclarations": declared}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    }


def gemini_sdk(tools: list[Tool]) -> dict[str, Any]:
    declared = [{"name": t.name, "parameters_json_schema": t.parameters} for t in tools]
    return {"model": "m", "config": {"tools": [{"function_declarations": declared}]}}


def mcp(tools: list[Tool]) -> dict[str, Any]:
    return {"tools": [{"name": t.name, "inputSchema": t.parameters} for t in tools]}


def mcp_response(tools: list[Tool]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": mcp(tools)}


SHAPES = [openai_chat, openai_responses, anthropic, gemini, gemini_sdk, mcp, mcp_response]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.guarantee("payload-guard-fails-closed")
def test_exec_and_wait_alone_pass(shape: Any) -> None:
    check_payload(shape(OURS))
    check_payload(shape(OURS[::-1]))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("tools", "problem"),
    [
        ([*OURS, READ], 'contains the tool "read"'),
        ([READ], 'contains the tool "read"'),
        ([SHELL, OURS[1]], 'contains another tool under the name "exec"'),
        ([*OURS, OURS[0]], 'contains "exec" twice'),
        (OURS[:1], "lacks wait"),
        ([], "lacks exec and wait"),
    ],
)
@pytest.mark.guarantee("payload-guard-fails-closed")
def test_anything_else_is_a_hard_error(shape: Any, tools: list[Tool], problem: str) -> None:
    with pytest.raises(PayloadRefused) as refused:
        check_payload(shape(tools))
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    "extra",
    [
        {"functions": [{"name": "read"}]},
        {"mcp_servers": [{"url": "https://example.com"}]},
        {"web_search_options": {"search_context_size": "low"}},
        {"toolConfig": {"tools": [{"toolSpec": {"name": "read"}}]}},
        {"plugins": [{"id": "web"}]},
        {"extra_body": {"tools": [{"name": "read"}]}},
        {"config": {"tools": [{"functionDeclarations": [{"name": "read"}]}]}},
    ],
)
@pytest.mark.guarantee("payload-guard-fails-closed")
def test_tools_that_come_in_another_way_are_a_hard_error(extra: dict[str, Any]) -> None:
    with pytest.raises(PayloadRefused, match="brings tools in through"):
        check_payload(openai_chat(OURS) | extra)


@pytest.mark.parametrize(
    "built_in",
    [
        {"type": "web_search"},
        {"type": "web_search_20250305", "name": "exec"},
        {"type": "bash_20250124", "name": "exec"},
        {"type": "mcp", "server_url": "https://example.com"},
        {"googleSearch": {}},
        {"codeExecution": {}},
        {"functionDeclarations": [], "googleSearch": {}},
    ],
)
@pytest.mark.guarantee("payload-guard-fails-closed")
def test_a_providers_own_tools_are_a_hard_error(built_in: dict[str, Any]) -> None:
    payload = mcp(OURS)
    payload["tools"].append(built_in)

    with pytest.raises(PayloadRefused):
        check_payload(payload)


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        "tools",
        {},
        {"model": "m", "messages": []},
        {"tools": None},
        {"tools": {"exec": {}, "wait": {}}},
        {"tools": ["exec", "wait"]},
        {"tools": [{"name": "exec"}, {"name": "wait"}]},
        {"tools": [{"type": "function", "function": None}]},
        {"toolConfig": {"tools": [{"toolSpec": {"name": "exec"}}]}},
        {"request": mcp(OURS)},
    ],
)
@pytest.mark.guarantee("payload-guard-fails-closed")
def test_an_unknown_shape_fails_closed(payload: Any) -> None:
    with pytest.raises(PayloadRefused):
        check_payload(payload)


leaves = st.none() | st.booleans() | st.sampled_from(["exec", "wait", "function", "read", "object"])
keys = st.sampled_from(
    ["tools", "name", "type", "function", "parameters", "input_schema", "result", "properties"]
)
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4)
)


@given(anything)
@settings(max_examples=300)
@pytest.mark.guarantee("payload-guard-fails-closed")
def test_any_payload_passes_or_is_refused_and_nothing_else(payload: Any) -> None:
    try:
        check_payload(payload)
    except PayloadRefused:
        return
    raise AssertionError("a random payload passed")
