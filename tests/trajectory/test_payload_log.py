"""What a model is really sent: names, or the request without what was said in it.

Run as a program this is a host with a raw loop: python -m tests.trajectory.test_payload_log
"""

# ruff: noqa: E501 - payloads are data and read best unwrapped

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from codemode.adapters import prepare_tools
from codemode.adapters.langchain import as_langchain
from codemode.adapters.openai_agents import as_openai_agents
from codemode.adapters.pydantic_ai import CodeModeToolset
from codemode.adapters.raw import converse, declare
from codemode.surface import PayloadRefused
from codemode.trajectory.payload_log import log_payload, tool_names
from codemode.trajectory.redacting import MAX_BYTES, redacted
from tests.adapters.test_raw import anthropic
from tests.e2e.serve.test_json_rpc_methods import described
from tests.harness.engine import engine
from tests.harness.processes import python
from tests.harness.serve import raw_host

PAYLOAD = "CODEMODE_DEBUG_MODEL_PAYLOAD"
SECRET = "hunter2-hunter2"
REQUEST: dict[str, Any] = {
    "model": "m-1",
    "max_tokens": 500,
    "api_key": SECRET,
    "system": f"You are {SECRET}.",
    "metadata": {"user_id": SECRET, "name": SECRET, "pin": 1234},
    "extra_headers": {"Authorization": f"Bearer {SECRET}", "x-token": SECRET},
    "messages": [
        {"role": "user", "name": SECRET, "content": SECRET},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": SECRET},
                {"type": "tool_use", "id": "t1", "name": "exec", "input": {"code": SECRET, "pin": 1234}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": SECRET}]},
    ],
}


async def host() -> None:
    async def send(body: dict[str, Any]) -> Mapping[str, Any]:
        return anthropic()

    async with engine() as made:
        await converse(await prepare_tools(made, session="s1"), REQUEST, send, "anthropic")


def log_of(**variables: str) -> str:
    done = python("-m", "tests.trajectory.test_payload_log", env={"API_KEY": SECRET, **variables})
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return done.stderr


@pytest.mark.guarantee("payloads-can-be-seen")
@pytest.mark.parametrize("name", [PAYLOAD, "OPENCLAW_DEBUG_MODEL_PAYLOAD"])
def test_the_names_of_what_a_raw_loop_sends_are_on_stderr(name: str) -> None:
    (line,) = log_of(**{name: "tools"}).splitlines()
    assert line.endswith("codemode.payload payload of the raw loop: 2 tools: exec, wait")


@pytest.mark.guarantee("payloads-can-be-seen")
def test_the_whole_request_is_shown_without_what_was_said_in_it() -> None:
    log = log_of(**{PAYLOAD: "full-redacted"})
    assert SECRET not in log
    assert "1234" not in log
    head, body = log.splitlines()
    assert head.endswith("payload of the raw loop: 2 tools: exec, wait")
    shown = json.loads(body)
    tools = shown.pop("tools")
    assert [tool["name"] for tool in tools] == ["exec", "wait"]
    assert list(tools[0]["input_schema"]["properties"]) == ["code", "command", "language"]
    assert "body of an async function" in tools[0]["description"]
    size = len(SECRET)
    assert shown == {
        "model": "m-1",
        "max_tokens": 500,
        "api_key": "[redacted]",
        "system": f"[text of {size + 9} characters]",
        "metadata": {"type": "object", "keys": ["name", "pin", "user_id"], "bytes": 65},
        "extra_headers": {"Authorization": "[redacted]", "x-token": "[redacted]"},
        "messages": [
            {"role": "user", "name": "[redacted]", "content": f"[text of {size} characters]"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": f"[text of {size} characters]"},
                    {
                        "type": "tool_use",
                        "id": "t1",
                        "name": "exec",
                        "input": {"type": "object", "keys": ["code", "pin"], "bytes": 37},
                    },
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": f"[text of {size} characters]"}
                ],
            },
        ],
    }


def test_without_the_variable_nothing_is_said_and_off_is_no_mistake() -> None:
    assert log_of(**{PAYLOAD: ""}) == ""
    assert log_of(**{PAYLOAD: "off", "CODEMODE_DEBUG_SSE": "0"}) == ""


@pytest.mark.guarantee("payloads-can-be-seen")
@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({PAYLOAD: "tolls"}, f"{PAYLOAD}='tolls' is not known and ignored; set {PAYLOAD}=tools or {PAYLOAD}=full-redacted"),
        ({"OPENCLAW_DEBUG_SSE": "all"}, "OPENCLAW_DEBUG_SSE='all' is not known and ignored; set OPENCLAW_DEBUG_SSE=events or OPENCLAW_DEBUG_SSE=peek"),
        ({"CODEMODE_DEBUG": "yes"}, "CODEMODE_DEBUG='yes' is not known and ignored; set CODEMODE_DEBUG=1"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_warned_about_once_with_the_right_ones(variables: dict[str, str], told: str) -> None:
    (line,) = log_of(**variables).splitlines()
    assert line.endswith(f"codemode {told}")


def test_our_name_goes_before_the_other_and_a_wrong_one_does_not_hide_a_right_one() -> None:
    both = log_of(**{PAYLOAD: "tools", "OPENCLAW_DEBUG_MODEL_PAYLOAD": "full-redacted"})
    assert len(both.splitlines()) == 1
    warned, shown = log_of(**{PAYLOAD: "x", "OPENCLAW_DEBUG_MODEL_PAYLOAD": "tools"}).splitlines()
    assert f"{PAYLOAD}='x' is not known" in warned
    assert shown.endswith("2 tools: exec, wait")


def test_the_other_name_of_the_debug_log_is_read_too() -> None:
    assert "run_started" not in log_of(CODEMODE_DEBUG="")
    done = python("-m", "tests.trajectory.test_logging", env={"OPENCLAW_DEBUG_CODE_MODE": "1"})
    assert "codemode.run run_started" in done.stderr


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "codemode.payload"]


async def test_frameworks_and_declarations_are_told_by_name(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PAYLOAD, "tools")
    caplog.set_level(logging.INFO, "codemode.payload")
    async with engine() as made:
        tools = await prepare_tools(made)
        as_langchain(tools)
        as_openai_agents(tools)
        await Agent(TestModel(call_tools=[])).run("go", toolsets=[CodeModeToolset(tools)])
        declare(tools, "openai")
    assert sorted(set(said(caplog))) == [
        f"payload of {who}: 2 tools: exec, wait"
        for who in ("LangChain", "a declaration", "pydantic-ai", "the OpenAI Agents SDK")
    ]


async def test_a_payload_that_is_refused_was_shown_before(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PAYLOAD, "tools")
    caplog.set_level(logging.INFO, "codemode.payload")
    async with engine() as made:
        tools = await prepare_tools(made)
        with pytest.raises(PayloadRefused):
            tools.guard({"tools": [{"name": "bash"}, {"type": "web_search"}, 7]})
    assert said(caplog) == ["payload of the raw loop: 3 tools: bash, built-in web_search, ?"]


async def test_servers_tell_what_their_hosts_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PAYLOAD, "tools")
    async with raw_host(stderr=asyncio.subprocess.PIPE) as server:
        await server.begin(tools=[described("first")])
        prepared = await server.ask("prepare")
        assert server.process.stderr is not None
        line = (await server.process.stderr.readline()).decode()
    assert [tool["name"] for tool in prepared["result"]["tools"]] == ["exec", "wait"]
    assert line.endswith("payload of the JSON-RPC host: 2 tools: exec, wait\n")


SHAPES: list[tuple[Any, list[str]]] = [
    ({"tools": [{"type": "function", "function": {"name": "a"}}]}, ["a"]),
    ({"tools": [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}]}, ["a", "b"]),
    ({"config": {"tools": [{"function_declarations": [{"name": "a"}]}]}}, ["a"]),
    ({"functions": [{"name": "old"}], "tools": ({"name": "new"},)}, ["new", "old"]),
    ({"tools": [{"googleSearch": {}}]}, ["built-in googleSearch"]),
    ({"tools": "all"}, []),
    ("no payload", []),
    (None, []),
]


@pytest.mark.parametrize(("payload", "names"), SHAPES)
def test_names_are_found_in_every_shape(payload: object, names: list[str]) -> None:
    assert list(tool_names(payload)) == names


def test_whatever_is_given_is_shown_bounded_and_never_fails(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PAYLOAD, "full-redacted")
    caplog.set_level(logging.INFO, "codemode.payload")
    deep: Any = "x"
    for _ in range(5_000):
        deep = {"content": deep}
    many = [{"name": f"t{number}\x1b[31m", "description": "d" * 9_000} for number in range(300)]
    for payload in (
        {"messages": deep},
        {"tools": many},
        {"tools": deep},
        object(),
        {1: {2: b"x"}},
        {"x": "\ud800"},
    ):
        log_payload(payload, "a test")
    lines = said(caplog)
    assert len(lines) == 6
    assert all(len(line) < 2 * MAX_BYTES for line in lines)
    assert all("\x1b" not in line for line in lines)
    assert "300 tools: t0\\x1b[31m, " in lines[1]
    assert lines[1].partition("\n")[0].endswith(" and 100 more")


@pytest.mark.parametrize(
    "request_of",
    [
        {"messages": [{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": SECRET}}]}]},
        {"messages": [{"role": "tool", "tool_call_id": "c", "content": SECRET}]},
        {"input": [{"type": "function_call_output", "call_id": "c", "output": SECRET}], "instructions": SECRET},
        {"contents": [{"parts": [{"functionCall": {"name": "f", "args": {"a": SECRET}}}, {"inlineData": {"data": SECRET}}]}]},
        {"contents": [{"parts": [{"functionResponse": {"name": "f", "response": {"name": SECRET}}}]}]},
        {"systemInstruction": {"parts": [{"text": SECRET}]}, "prompt_cache_key": SECRET, "user": SECRET},
        {"password": 1234, "previous_response_id": SECRET},
    ],
)  # fmt: skip
def test_no_provider_s_request_shows_what_was_said(request_of: dict[str, Any]) -> None:
    shown = json.dumps(redacted(request_of))
    assert SECRET not in shown
    assert "1234" not in shown


if __name__ == "__main__":
    asyncio.run(host())
