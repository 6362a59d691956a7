"""The MCP server over stdio against clients that do not keep to the protocol, or leave."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.serve.mcp_clients import TOOLS
from tests.harness.loops import until
from tests.harness.processes import python
from tests.harness.serve import RawHost, raw_host

pytestmark = pytest.mark.usefixtures("leaves_nothing")

HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "0"},
}


async def greet(host: RawHost) -> None:
    assert (await host.ask("initialize", HELLO))["result"]["serverInfo"]["name"] == "codemode"
    await host.send(method="notifications/initialized")


async def works(host: RawHost) -> None:
    answer = await host.ask("tools/call", {"name": "exec", "arguments": {"code": "return 6 * 7"}}, id="works")
    assert (answer["id"], answer["result"]["structuredContent"]["value"]) == ("works", 42)


async def test_garbage_long_lines_and_answers_to_nothing_are_dropped() -> None:
    async with raw_host(*TOOLS, speaks="--mcp", stderr=subprocess.DEVNULL) as host:
        await greet(host)
        for line in (b"garbage", b"\xff\xfe", b"[" * 100_000, b"x" * (17 << 20), b"{}", b""):
            await host.write(line + b"\n")
        await host.send(id=77, result={})
        await host.send(id=78, error={"code": 1, "message": "no"})
        await host.send(method="notifications/cancelled", params={"requestId": "nothing"})
        await works(host)


TOO_MUCH = {
    "lists": ("[" + ",".join(["[]"] * 300_000) + "]", "a message may have 20000 parts"),
    "keys": ("{" + ",".join(f'"k{at}":{at}' for at in range(11_000)) + "}", "a message may have 20000 parts"),
    "levels": ("[" * 10_000 + "]" * 10_000, "a message may be nested 256 levels deep"),
    "bytes": ('"' + "x" * (17 << 20) + '"', "a message may have 16777216 bytes"),
}


@pytest.mark.parametrize("name", TOO_MUCH)
async def test_a_message_that_is_too_much_is_answered_and_not_decoded(name: str) -> None:
    arguments, told = TOO_MUCH[name]
    async with raw_host(*TOOLS, speaks="--mcp", stderr=subprocess.DEVNULL) as host:
        await greet(host)
        head = '{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"exec","arguments":'
        await host.write(f"{head}{arguments}}}}}\n".encode())
        answer = await host.read()
        assert (answer["id"], answer["error"]["code"]) == ("big", -32600)
        assert answer["error"]["message"].startswith(told)
        await works(host)


async def test_a_flood_of_calls_is_answered_one_by_one() -> None:
    async with raw_host(*TOOLS, speaks="--mcp", stderr=subprocess.DEVNULL) as host:
        await greet(host)
        for number in range(200):
            await host.send(
                id=number, method="tools/call", params={"name": "wait", "arguments": {"runId": "run_x"}}
            )
        answers = [await host.read() for _ in range(200)]
        assert sorted(answer["id"] for answer in answers) == list(range(200))
        assert all(answer["result"]["isError"] for answer in answers)
        await works(host)


async def test_a_client_that_leaves_in_the_middle_of_a_call_ends_the_server_and_the_tool(
    tmp_path: Path,
) -> None:
    async with raw_host(*TOOLS, speaks="--mcp", stderr=subprocess.DEVNULL) as host:
        await greet(host)
        code = f"return await tools.hold({{ path: {str(tmp_path / 'file')!r} }})"
        await host.send(id=2, method="tools/call", params={"name": "exec", "arguments": {"code": code}})
        await until((tmp_path / "file.asked").exists)
        assert host.process.stdin is not None
        host.process.stdin.close()
        assert await host.ended() == 0
    assert (tmp_path / "file.cancelled").exists()


def test_without_the_sdk_the_command_says_what_to_install() -> None:
    """A finder that does not find it stands for an installation without it."""
    program = """
import sys
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "mcp" else real(name, *more)
from codemode.cli import main
sys.exit(main(["serve", "--mcp"]))
"""
    done = python("-c", program)
    assert done.returncode == 2
    assert done.stderr == ('codemode serve: mcp: serving MCP needs its SDK: pip install "codemode[mcp]".\n')
