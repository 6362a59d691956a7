"""Child servers live and die with the engine; nothing of them is left, whatever they do."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from codemode.executor import Decision
from codemode.mcp.bridge import McpBridge
from codemode.tools import CallContext
from tests.harness.engine import engine, value_of
from tests.harness.leftovers import descendants, ends
from tests.harness.loops import until
from tests.harness.mcp_servers import FILES, fast, fast_at, fast_listening, free_port, hostile, servers
from tests.harness.processes import python

pytestmark = pytest.mark.usefixtures("leaves_nothing")

# Ignores that its input ends and that it is asked to go, and has a child that does the same.
STUBBORN = f"""
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
subprocess.Popen([sys.executable, "-c", code])
sys.argv = ["hostile", "calls"]
exec(open({str(FILES / "hostile_server.py")!r}).read())
time.sleep(3600)
"""


async def test_a_server_that_does_not_obey_is_killed_with_its_children() -> None:
    stubborn = {"command": sys.executable, "args": ["-c", STUBBORN]}
    before = descendants(os.getpid())
    async with engine((), mcp=servers(bad=stubborn)) as made:
        value_of(await made.exec("return await MCP.bad.ok()"))
        children = descendants(os.getpid()) - before
    assert [pid for pid in children if not ends(pid)] == []


async def test_a_start_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    bridge = McpBridge(servers(bad=hostile("mute", str(starts))), nobody)
    opening = asyncio.create_task(bridge.open())
    await until(starts.exists)
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)


async def nobody(context: CallContext, tool: str, summary: str, details: dict[str, Any]) -> Decision:
    return Decision(False)


async def test_a_cancelled_start_of_lazy_servers_is_over_when_the_engine_is_closed() -> None:
    lazy = hostile("mute", connect="lazy")
    async with engine((), mcp=servers(bad=lazy)) as made:
        first = asyncio.create_task(made.exec("return 1"))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert made.health()["mcp"][0]["state"] == "connecting"


async def test_a_restarted_http_server_is_connected_again() -> None:
    port = free_port()
    program = "return await MCP.fast.add({ a: 1 }).then((v) => v.result, (e) => e.code)"
    async with engine((), mcp=servers(fast=fast_at(port, connect="lazy"))) as made:
        async with fast_listening(port):
            first = value_of(await made.exec(program))
        down = value_of(await made.exec(program))
        async with fast_listening(port):
            await until(lambda: made.health()["mcp"][0]["state"] == "connected")
            again = value_of(await made.exec(program))
        assert (first, down, again) == (2, "mcp_error", 2)


async def test_an_engine_without_mcp_never_loads_the_sdk(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\nfrom codemode import Engine\n"
        "async def main():\n    async with Engine() as engine:\n        await engine.exec('return 1')\n"
        "asyncio.run(main())\nprint(sorted({'mcp', 'anyio', 'pydantic', 'httpx2'} & set(sys.modules)))"
    )
    assert python("-c", program).stdout == "[]\n"


async def test_two_engines_have_servers_of_their_own(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    given = servers(own=hostile("calls", str(starts)), fast=fast(disabled=True))
    async with engine((), mcp=given) as one, engine((), mcp=given) as other:
        value_of(await one.exec("return await MCP.own.ok()"))
        value_of(await other.exec("return await MCP.own.ok()"))
        assert starts.read_text() == "xx"
