"""A real `codemode serve --http` for tests: its process, clients with tokens, and streams of events."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from codemode.serve.tokens import digest_of
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.processes import PROJECT, environment
from tests.harness.serve import SHOP, serve

SECRETS = {name: f"{name}-" + "x" * 40 for name in ("all", "ada", "bob", "reader", "boss")}
ENTRIES = [
    {"name": "all", "rights": ["admin"], "agent": "*"},
    {"name": "ada", "rights": ["run", "read"], "sessions": ["ada-*"]},
    {"name": "bob", "rights": ["run", "read", "approve"], "sessions": ["bob"]},
    {"name": "reader", "rights": ["read"]},
    {"name": "boss", "rights": ["approve"]},
]


def write_tokens(path: Path) -> Path:
    entries = [{**entry, "sha256": digest_of(SECRETS[str(entry["name"])])} for entry in ENTRIES]
    path.write_text(json.dumps({"tokens": entries}))
    return path


class Server:
    def __init__(self, address: str, process: asyncio.subprocess.Process) -> None:
        self.url = f"http://{address}"
        self.port = int(address.rpartition(":")[2])
        self.process = process

    def client(self, token: str | None = "all", **headers: str) -> httpx2.AsyncClient:
        own = {} if token is None else {"authorization": f"Bearer {SECRETS.get(token, token)}"}
        return httpx2.AsyncClient(base_url=self.url, headers={**own, **headers}, timeout=PATIENCE_SECONDS)


@asynccontextmanager
async def api_server(
    folder: Path, *arguments: str | Path, needs_tokens: bool = True
) -> AsyncGenerator[Server]:
    """Ended by a signal, which it must obey with exit code 0."""
    tokens = ("--tokens", write_tokens(folder / "tokens.json")) if needs_tokens else ("--no-tokens",)
    process = await asyncio.create_subprocess_exec(
        *serve("--http", "127.0.0.1:0", *tokens, "--tools", SHOP, *arguments),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=PROJECT,
        env=environment(),
    )
    assert process.stderr is not None
    try:
        address = ""
        while not address:
            async with asyncio.timeout(PATIENCE_SECONDS):
                line = (await process.stderr.readline()).decode()
            assert line, "the server did not start"
            address = line.partition("API at http://")[2].partition("/")[0]
        drained = asyncio.create_task(process.stderr.read())
        yield Server(address, process)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(process.wait(), PATIENCE_SECONDS)
    await drained
    assert code == 0


async def events_of(response: httpx2.Response) -> AsyncGenerator[dict[str, Any]]:
    """Each event with the id it came under."""
    name = ""
    async for line in response.aiter_lines():
        field, _, value = line.partition(": ")
        if field == "id":
            name = value
        elif field == "data":
            yield {**json.loads(value), "id": name}


async def until(stream: AsyncGenerator[dict[str, Any]], *types: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for event in stream:
            if event["type"] in types:
                return event
    raise AssertionError(f"the stream ended without {types}")
