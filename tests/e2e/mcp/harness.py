"""MCP servers for scenarios: commands of the fixtures, and servers that listen, started by a test."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.harness.loops import until

HERE = Path(__file__).parent


def fast(**options: Any) -> dict[str, Any]:
    """The framework's server, over stdio."""
    return {"command": sys.executable, "args": [str(HERE / "fast_server.py")], **options}


def hostile(mode: str, *more: str, **options: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(HERE / "hostile_server.py"), mode, *more], **options}


def servers(**given: dict[str, Any]) -> dict[str, Any]:
    return {"mcpServers": given}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@asynccontextmanager
async def listening(command: list[str], port: int, **env: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Runs a server until the block ends; the block begins when the port answers."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env={**os.environ, **env},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await until(lambda: process.returncode is not None or answers(port))
        assert process.returncode is None, "the server did not start"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
