"""Starting servers and hosts for tests: commands, node, and a host that says whatever a test wants."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.harness.npm import node
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.processes import PROJECT, environment, python

FILES = PROJECT / "tests" / "e2e" / "serve"
SHOP = str(FILES / "shop.py")


def serve(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "codemode", "serve", *map(str, arguments)]


def refusal(*arguments: str) -> tuple[int, str, str]:
    """The exit code, output and errors of a server that has no input and must not start."""
    done = python("-m", "codemode", "serve", *arguments)
    return done.returncode, done.stdout, done.stderr


HOSTS = {
    "python": lambda: [sys.executable, "-m", "tests.e2e.serve.python_host"],
    "javascript": lambda: [node(), str(FILES / "javascript_host.mjs")],
}


def run_host(language: str, scenario: str, command: list[str], argument: str = "-") -> Any:
    """What the scenario saw; the exit code if it printed nothing."""
    done = subprocess.run(
        [*HOSTS[language](), scenario, argument, *command],
        cwd=PROJECT,
        env=environment(),
        stdout=subprocess.PIPE,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return json.loads(done.stdout) if done.stdout else done.returncode


class RawHost:
    """Writes bytes, reads lines; knows nothing of the protocol."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def send(self, **message: Any) -> None:
        await self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            line = await self.process.stdout.readline()
        assert line, "the engine ended"
        return json.loads(line)

    async def ask(self, method: str, params: Any = None, id: int | str = 1) -> dict[str, Any]:
        await self.send(id=id, method=method, params=params or {})
        return await self.read()

    async def begin(self, **more: Any) -> None:
        answer = await self.ask("initialize", {"protocolVersion": 1, **more}, id="begin")
        assert answer["result"]["protocolVersion"] == 1

    async def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.ended()

    async def ended(self) -> int:
        """Its exit code, as soon as it has one."""
        return await asyncio.wait_for(self.process.wait(), PATIENCE_SECONDS)


@asynccontextmanager
async def raw_host(
    *arguments: str, speaks: str = "--stdio", stderr: int | None = None
) -> AsyncGenerator[RawHost]:
    process = await asyncio.create_subprocess_exec(
        *serve(speaks, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        limit=64 << 20,
        cwd=PROJECT,
        env=environment(),
    )
    host = RawHost(process)
    try:
        yield host
    finally:
        await host.end()


# ---- MCP ---------------------------------------------------------------------------------------------------


@asynccontextmanager
async def http_server(
    *arguments: str | Path, log: list[str] | None = None
) -> AsyncGenerator[tuple[str, asyncio.subprocess.Process]]:
    """Its URL, and the process; ended by a signal, which it must obey with exit code 0. `log` then has what
    it wrote to stderr."""
    process = await asyncio.create_subprocess_exec(
        *serve("--mcp", "--http", "127.0.0.1:0", *arguments),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=PROJECT,
        env=environment(),
    )
    assert process.stderr is not None
    try:
        url = ""
        while not url.startswith("http"):
            async with asyncio.timeout(PATIENCE_SECONDS):
                line = await process.stderr.readline()
            assert line, "the server did not start"
            url = line.decode().rpartition(" at ")[2].strip()
        drained = asyncio.create_task(process.stderr.read())  # or it would block when the pipe is full
        yield url, process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(process.wait(), PATIENCE_SECONDS)
    (log if log is not None else []).append((await drained).decode())
    assert code == 0
