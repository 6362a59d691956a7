"""Event streams: when the first event came and how they ended, and a look at the first ones."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from codemode.adapters.raw import watch_sse
from tests.e2e.serve.mcp_clients import TOOLS, another, call
from tests.harness.engine import engine, value_of
from tests.harness.mcp_servers import fast_at, fast_listening, free_port, servers
from tests.harness.serve import http_server

SSE = "CODEMODE_DEBUG_SSE"
SECRET = "hunter2-hunter2"
EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("message_start", {"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "m-1"}}),
    *[("content_block_delta", {"type": "content_block_delta", "index": 7, "delta": {"text": SECRET}})] * 6,
    ("message_stop", {"type": "message_stop"}),
]
STREAM = "".join(f"event: {kind}\r\ndata: {json.dumps(data)}\r\n\r\n" for kind, data in EVENTS)


async def pieces(text: str, size: int) -> AsyncIterator[bytes]:
    data = text.encode()
    for at in range(0, len(data), size):
        yield data[at : at + size]


def facts(records: Iterable[logging.LogRecord]) -> list[dict[str, Any]]:
    return [vars(record)["codemode"] for record in records if record.name == "codemode.sse"]


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "codemode.sse")
    return caplog


@pytest.mark.guarantee("payloads-can-be-seen")
@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("name", [SSE, "OPENCLAW_DEBUG_SSE"])
async def test_events_tell_the_first_event_and_the_end_and_change_nothing(
    size: int, name: str, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "events")
    passed = b"".join([chunk async for chunk in watch_sse(pieces(STREAM, size))])
    assert passed == STREAM.encode()
    first, end = facts(log.records)
    assert (first["event"], first["type"], first["origin"]) == ("sse_first", "message_start", "the model")
    counted = {"message_start": 1, "content_block_delta": 6, "message_stop": 1}
    assert (end["event"], end["events"], end["bytes"], end["types"]) == ("sse_end", 8, len(STREAM), counted)
    assert SECRET not in log.text


@pytest.mark.guarantee("payloads-can-be-seen")
async def test_peek_shows_five_events_without_what_was_said_in_them(
    log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SSE, "peek")
    async for _ in watch_sse(pieces(STREAM, 50), "anthropic"):
        pass
    found = facts(log.records)
    assert [one["event"] for one in found] == ["sse_first", *["sse_peek"] * 5, "sse_end"]
    size = len(SECRET)
    assert [json.loads(one["data"]) for one in found[1:3]] == [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "m-1"}},
        {
            "type": "content_block_delta",
            "index": "[number]",
            "delta": {"text": f"[text of {size} characters]"},
        },
    ]
    assert SECRET not in log.text


async def test_streams_of_other_shapes_are_counted_too(
    log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SSE, "peek")
    chat = f': hello\n\ndata: {{"choices": [{{"delta": {{"content": "{SECRET}"}}}}]}}\n\ndata: [DONE]'

    async def texts() -> AsyncIterator[str]:
        yield chat

    assert [part async for part in watch_sse(texts())] == [chat]
    *_, second, end = facts(log.records)
    assert (second["data"], end["types"]) == ('"[text of 6 characters]"', {"message": 2})
    assert SECRET not in log.text


async def test_a_stream_that_breaks_off_or_that_nobody_reads_to_its_end_is_told(
    log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SSE, "events")

    async def broken() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        raise ConnectionResetError(SECRET)

    with pytest.raises(ConnectionResetError):
        async for _ in watch_sse(broken()):
            pass
    left = watch_sse(pieces(STREAM, 10))
    await anext(left)
    await left.aclose()
    ends = [one["problem"] for one in facts(log.records) if one["event"] == "sse_end"]
    assert ends == ["ConnectionResetError", "its reader left"]
    assert SECRET not in log.text


async def test_a_hostile_stream_costs_a_bounded_line(
    log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SSE, "peek")
    huge = "".join(f"event: \x1b[31m{number}{'k' * 500}\ndata: {{\n\n" for number in range(200))
    endless = "data: " + "x" * 300_000
    async for _ in watch_sse(pieces(huge + endless, 4_096)):
        pass
    lines = [record.getMessage() for record in log.records]
    assert all(len(line) < 4_000 and "\x1b" not in line for line in lines)
    assert facts(log.records)[-1]["events"] == 201


async def test_without_the_variable_a_stream_is_not_looked_at(log: pytest.LogCaptureFixture) -> None:
    assert b"".join([chunk async for chunk in watch_sse(pieces(STREAM, 9))]) == STREAM.encode()
    assert facts(log.records) == []


async def test_streams_of_an_mcp_server_are_watched(
    log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SSE, "peek")
    port = free_port()
    async with fast_listening(port), engine(mcp=servers(far=fast_at(port))) as made:
        result = await made.exec("return (await MCP.far.add({ a: 40, b: 2 })).result")
        assert value_of(result) == 42
    found = facts(log.records)
    assert {one["origin"] for one in found} == {"MCP server far"}
    assert "sse_end" in {one["event"] for one in found}


async def test_streams_to_clients_of_the_mcp_server_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SSE, "peek")
    log: list[str] = []
    async with http_server(*TOOLS, log=log) as (url, _), another(url, "before 2026") as client:
        assert (await call(client, "exec", code=f"return '{SECRET}'.length"))["value"] == len(SECRET)
    assert "stream of the MCP server to a client after" in log[0]
    assert "first event: " in log[0]
    assert SECRET not in log[0]
