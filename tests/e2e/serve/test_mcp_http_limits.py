"""Clients over HTTP that want too much: what they are told, over raw sockets, and that others are served."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from codemode import Engine
from codemode.serve.mcp.asking import ApprovalTexts
from codemode.serve.mcp.front import Front
from codemode.serve.mcp.http import open_place, serve_http
from codemode.serve.mcp.server import make_server
from codemode.serve.options import ServeOptions
from tests.e2e.serve.mcp_clients import another, call
from tests.harness.loop_meter import MOST_UNITS, LoopMeter, measured
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.serve import http_server

pytestmark = pytest.mark.usefixtures("leaves_nothing")

MIB = 1 << 20


def opened(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)


def head(port: int, *more: str) -> bytes:
    lines = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        *more,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def said(connection: socket.socket) -> tuple[int, str, str]:
    """The status, Retry-After and body of what the server says; it then closes the connection."""
    data = b""
    try:
        while chunk := connection.recv(65536):
            data += chunk
    except ConnectionError:
        assert data, "the server said nothing"
    top, _, body = data.decode().partition("\r\n\r\n")
    first, *fields = top.split("\r\n")
    headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
    return int(first.split()[1]), headers.get("retry-after", ""), body


def told(connection: socket.socket) -> tuple[int, str, str]:
    """The same with the message of its JSON-RPC error."""
    status, retry, body = said(connection)
    return status, retry, json.loads(body)["error"]["message"]


def port_of(url: str) -> int:
    return int(url.split(":")[2].partition("/")[0])


@pytest.mark.guarantee("http-clients-have-bounds")
async def test_bodies_are_bounded_each_and_together_and_what_is_let_go_can_be_used_again() -> None:
    limits = ("--max-message-bytes", str(2 * MIB), "--max-bodies-bytes", str(3 * MIB))
    async with http_server(*limits) as (url, _), another(url, "since 2026") as client:
        port = port_of(url)

        def look() -> list[Any]:
            found: list[Any] = []
            with opened(port) as too_large:
                too_large.sendall(head(port, f"Content-Length: {2 * MIB + 1}"))
                found.append(told(too_large))
            with opened(port) as chunked:
                chunked.sendall(head(port, "Transfer-Encoding: chunked"))
                for _ in range(3):
                    chunked.sendall(b"%x\r\n" % MIB + b" " * MIB + b"\r\n")
                found.append(told(chunked))
            with opened(port) as first:
                first.sendall(head(port, f"Content-Length: {2 * MIB}", "Expect: 100-continue"))
                assert first.recv(100).startswith(b"HTTP/1.1 100")  # it is read: its bytes are taken
                with opened(port) as second:
                    second.sendall(head(port, f"Content-Length: {2 * MIB}"))
                    found.append(told(second))
            with opened(port) as again:
                again.sendall(head(port, f"Content-Length: {2 * MIB}", "Connection: close") + b" " * 2 * MIB)
                found.append(said(again)[0])
            return found

        found = await asyncio.to_thread(look)
        assert found == [
            (413, "", f"a message may have {2 * MIB} bytes"),
            (413, "", f"a message may have {2 * MIB} bytes"),
            (503, "1", "the server holds as many bytes of requests as it may; try again"),
            400,
        ]
        assert (await call(client, "exec", code="return 1"))["value"] == 1


async def test_messages_of_too_many_parts_or_levels_are_refused_before_they_are_decoded() -> None:
    async with http_server() as (url, _), another(url, "since 2026") as client:
        port = port_of(url)

        def post(body: bytes) -> tuple[int, str, str]:
            with opened(port) as connection:
                connection.sendall(head(port, f"Content-Length: {len(body)}", "Connection: close") + body)
                return told(connection)

        lists = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[%b]}}' % b",".join([b"[]"] * 30_000)
        deep = b"[" * 3_000 + b"]" * 3_000
        parts = "a message may have 20000 parts: lists, objects, keys, strings, numbers"
        assert await asyncio.to_thread(post, lists) == (413, "", parts)
        assert await asyncio.to_thread(post, deep) == (400, "", "a message may be nested 256 levels deep")
        code = "/* " + "[{,:" * 200_000 + " */ return 1"
        assert (await call(client, "exec", code=code))["value"] == 1


async def test_a_client_that_takes_its_time_is_told_so_and_let_go() -> None:
    async with http_server("--head-seconds", "1", "--body-seconds", "1") as (url, _):
        port = port_of(url)

        def look() -> list[Any]:
            with opened(port) as silent, opened(port) as slow, opened(port) as half, opened(port) as later:
                slow.sendall(b"POST /mcp HTTP/1.1\r\nHost: x\r\n")
                half.sendall(head(port, "Content-Length: 100") + b"{")
                later.sendall(b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\nGET /n")
                return [said(silent), said(slow), told(half), said(later)[0]]

        found = await asyncio.to_thread(look)
        no_head = (408, "", "no request within 1 s\n")
        assert found == [no_head, no_head, (408, "", "the body did not come within 1 s"), 404]
        async with another(url, "since 2026") as client:
            assert (await call(client, "exec", code="return 1"))["value"] == 1


async def test_connections_above_the_number_are_refused_until_one_ends() -> None:
    async with http_server("--max-connections", "2") as (url, _):
        port = port_of(url)

        def look() -> list[Any]:
            with opened(port) as first, opened(port) as second, opened(port) as third:
                refused = said(third)
                for one in (first, second):
                    one.sendall(b"GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return [refused, said(first)[0], said(second)[0]]

        assert await asyncio.to_thread(look) == [(503, "1", "too many connections\n"), 404, 404]
        async with another(url, "since 2026") as client:
            assert (await call(client, "exec", code="return 1"))["value"] == 1


async def test_sessions_above_the_number_are_refused_until_one_ends() -> None:
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}).encode()
    async with http_server("--max-sessions", "1") as (url, _):
        port = port_of(url)

        def initialize() -> tuple[int, str, str]:
            with opened(port) as connection:
                connection.sendall(head(port, f"Content-Length: {len(body)}", "Connection: close") + body)
                return said(connection)

        async with another(url, "before 2026"):
            status, retry, text = await asyncio.to_thread(initialize)
            assert (status, retry) == (503, "1")
            assert "Too many open sessions" in text
        assert (await asyncio.to_thread(initialize))[0] == 200


def test_a_dozen_large_bodies_at_once_hold_up_nobody_and_cost_what_they_may() -> None:
    lists = b",".join([b"[]"] * 3_800_000)
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[%b]}}' % lists
    ping = b'{"jsonrpc":"2.0","id":1,"method":"nothing"}'

    def post(port: int, data: bytes) -> int:
        with opened(port) as connection:
            with contextlib.suppress(ConnectionError):  # it may be refused by its head
                connection.sendall(head(port, f"Content-Length: {len(data)}", "Connection: close") + data)
            try:
                return said(connection)[0]
            except (AssertionError, ConnectionError):  # so that its answer was lost with the connection
                return 0

    async def scenario(meter: LoopMeter) -> tuple[list[int], list[int]]:
        options = ServeOptions(http=("127.0.0.1", 0))
        place = open_place(options)
        loop = asyncio.get_running_loop()
        async with Engine((), {"enabled": True}) as engine:
            with place.listener, ThreadPoolExecutor(16) as clients:
                server = make_server(Front(engine, ApprovalTexts(None)), 60)
                serving = asyncio.create_task(serve_http(server, engine, place, options))
                port = place.listener.getsockname()[1]
                await loop.run_in_executor(clients, post, port, ping)
                meter.begin()
                hostile = [loop.run_in_executor(clients, post, port, body) for _ in range(12)]
                small: list[int] = []
                while not all(one.done() for one in hostile):
                    small.append(await loop.run_in_executor(clients, post, port, ping))
                large = [await one for one in hostile]
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)
        return large, small

    (large, small), worst, grown = measured(scenario)
    assert set(large) <= {0, 413, 503}
    assert set(small) == {small[0]}
    assert small[0] not in (0, 503)
    assert worst < MOST_UNITS
    assert grown < 300 * MIB
