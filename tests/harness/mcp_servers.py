"""MCP servers for tests: the commands of those in tests/mcp, and servers that listen while a block runs."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.harness.loops import until

FILES = Path(__file__).parents[1] / "mcp"


def fast(**options: Any) -> dict[str, Any]:
    """The framework's server, over stdio."""
    return {"command": sys.executable, "args": [str(FILES / "fast_server.py")], **options}


def hostile(mode: str, *more: str, **options: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(FILES / "hostile_server.py"), mode, *more], **options}


def fast_at(port: int, **options: Any) -> dict[str, Any]:
    """The same server as one that listens."""
    return {"url": f"http://127.0.0.1:{port}/mcp", **options}


def fast_listening(port: int) -> AbstractAsyncContextManager[asyncio.subprocess.Process]:
    return listening([sys.executable, str(FILES / "fast_server.py"), str(port)], port)


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


def give(path: Path, text: str) -> None:
    """Lets a held call of `fast` return: the file appears with its text, never without."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text)
    part.rename(path)
