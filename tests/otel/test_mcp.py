"""Requests to MCP servers as client spans; the server hears in which trace it was called."""

from __future__ import annotations

import sys
from pathlib import Path

from opentelemetry.trace import SpanKind, StatusCode

from tests.harness.engine import engine, value_of
from tests.harness.mcp_servers import fast_at, fast_listening, free_port, servers
from tests.harness.otel import Watch, about, id_of, parent_of, span_id

META = {"command": sys.executable, "args": [str(Path(__file__).parent / "meta_server.py")]}


async def test_a_tool_of_an_mcp_server_is_a_client_span_below_its_call_and_the_server_hears_of_it() -> None:
    watch = Watch()
    async with engine((), otel=watch.settings(), mcp=servers(meta=META)) as made:
        told = value_of(await made.exec("return (await MCP.meta.whence({})).content[0].text"))
        points = watch.points()
    call, request = watch.one("execute_tool whence"), watch.one("tools/call whence")
    assert told == id_of(request)
    assert (request.kind, parent_of(request)) == (SpanKind.CLIENT, span_id(call))
    found = about(request)
    assert len(found.pop("mcp.protocol.version")) == len("2026-01-01")
    assert found == {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "whence",
        "network.transport": "pipe",
        "codemode.mcp.server": "meta",
    }
    (point,) = points["mcp.client.operation.duration"]
    assert (point.count, point.attributes["mcp.method.name"]) == (1, "tools/call")


async def test_a_tool_that_fails_is_a_tool_error_and_its_words_stay_out_of_the_span() -> None:
    watch = Watch()
    async with engine((), otel=watch.settings(), mcp=servers(meta=META)) as made:
        await made.exec("return MCP.meta.fail({ secret: 'hunter2' }).catch(() => 0)")
    request = watch.one("tools/call fail")
    assert (request.status.status_code, about(request)["error.type"]) == (StatusCode.ERROR, "tool_error")
    assert "hunter2" not in str([(about(span), span.events, span.status.description) for span in watch.spans])


async def test_a_server_over_http_is_named_by_its_address_and_prompts_by_their_name() -> None:
    watch, port = Watch(), free_port()
    async with (
        fast_listening(port),
        engine((), otel=watch.settings(), mcp=servers(fast=fast_at(port))) as made,
    ):
        await made.exec(
            "await MCP.fast.prompts.get({ name: 'greet', arguments: { name: 'x' } });"
            "await MCP.fast.resources.read({ uri: 'memo://one' }); return MCP.fast.add({ a: 1, b: 2 })"
        )
    request = about(watch.one("tools/call add"))
    assert (request["network.transport"], request["network.protocol.name"]) == ("tcp", "http")
    assert (request["server.address"], request["server.port"]) == ("127.0.0.1", port)
    assert about(watch.one("prompts/get greet"))["gen_ai.prompt.name"] == "greet"
    assert "memo" not in str(about(watch.one("resources/read")))  # which one is content
