"""OAuth against a real authorization server: from 401 to a called tool with a refreshed token."""

from __future__ import annotations

import asyncio
import json
import re
import stat
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from codemode import ConfigError, Engine
from codemode.mcp.oauth import read_answer
from codemode.mcp.token_store import TokenFile
from tests.harness.cli import COMMAND
from tests.harness.engine import value_of
from tests.harness.mcp_servers import free_port, listening
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.processes import PROJECT, environment

pytestmark = pytest.mark.usefixtures("leaves_nothing")
SCRIPT = str(PROJECT / "tests" / "mcp" / "login_server.py")
READ = "return (await MCP.notes.secretNote()).content[0].text"


@asynccontextmanager
async def private(folder: Path) -> AsyncGenerator[tuple[dict[str, Any], Path]]:
    """The server that wants a login: what an engine takes, and the server's log."""
    port, log = free_port(), folder / "grants"
    redirect = f"http://127.0.0.1:{free_port()}/callback"
    entry = {"url": f"http://127.0.0.1:{port}/mcp", "oauth": {"redirectUri": redirect}}
    async with listening([sys.executable, SCRIPT, str(port), str(log)], port):
        yield {"mcpServers": {"notes": entry}}, log


async def browse(_server: str, url: str) -> str:
    """A person with a browser: the page says yes, and sends them on."""
    async with httpx2.AsyncClient() as browser:
        return (await browser.get(url)).headers["location"]


async def test_from_401_over_a_pasted_login_to_a_tool_called_with_a_refreshed_token(tmp_path: Path) -> None:
    tokens, file = tmp_path / "deep" / "logins.json", tmp_path / "servers.json"
    async with private(tmp_path) as (given, log):
        await asyncio.to_thread(file.write_text, json.dumps(given))
        async with Engine(mcp=given, mcp_tokens=tokens) as engine:
            problem = engine.health()["mcp"][0]["reason"]
        said = await _log_in_by_pasting(file, tokens)
        async with Engine(mcp=given, mcp_tokens=tokens) as engine:
            first = value_of(await engine.exec(READ))
        log.with_suffix(".expired").touch()
        async with Engine(mcp=given, mcp_tokens=tokens) as engine:
            second = value_of(await engine.exec(READ))
        async with Engine(mcp=given, mcp_tokens=tokens) as engine:
            third = value_of(await engine.exec(READ))
        grants = log.read_text().split("\n")[:-1]
    assert problem == "it wants a login: `codemode mcp login notes`"
    assert said[-1] == "logged in: notes has 1 tools"
    assert first == second == third == "the cake is in the fridge"
    assert [grant for grant in grants if grant != "refused"] == [
        "registered",
        "authorized",
        "token by code",
        "token by refresh",
    ]
    assert stat.S_IMODE(tokens.stat().st_mode) == 0o600
    assert stat.S_IMODE(tokens.parent.stat().st_mode) == 0o700


async def _log_in_by_pasting(file: Path, tokens: Path) -> list[str]:
    """`codemode mcp login` as a person without a browser on the machine uses it."""
    command = [str(COMMAND), "mcp", "login", "notes", "--servers", str(file), "--tokens", str(tokens)]
    process = await asyncio.create_subprocess_exec(
        *command,
        "--no-browser",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=PROJECT,
        env=environment(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (found := re.search(rb"http\S+", await process.stdout.readline())):
            pass
        answer = await browse("", found.group().decode())
        process.stdin.write(f"not this\n{answer}\n".encode())
        rest = (await process.stdout.read()).decode()
        assert await process.wait() == 0
    process.stdin.close()
    return rest.strip().split("\n")


async def test_a_host_logs_in_by_its_own_means_and_keeps_the_login_in_its_own_store(tmp_path: Path) -> None:
    class Vault:
        def __init__(self) -> None:
            self.kept: dict[str, str] = {}

        async def load(self, url: str) -> str | None:
            return self.kept.get(url)

        async def save(self, url: str, text: str | None) -> None:
            self.kept[url] = text or ""

    vault = Vault()
    async with private(tmp_path) as (given, _):
        async with Engine(mcp=given, mcp_login=browse, mcp_tokens=vault) as engine:
            value = value_of(await engine.exec(READ))
            told = json.dumps([engine.health(), engine.stats()], default=str)
        url = given["mcpServers"]["notes"]["url"]
    assert value == "the cake is in the fridge"
    token = json.loads(json.loads(vault.kept[url])["tokens"])["access_token"]
    assert token not in told


async def test_a_refused_login_fails_the_calls_and_nothing_else(tmp_path: Path) -> None:
    async def refuse(server: str, url: str) -> str:
        return "http://127.0.0.1/callback?error=access_denied"

    options: dict[str, Any] = {"mcp_login": refuse, "mcp_tokens": tmp_path / "t.json"}
    async with private(tmp_path) as (given, _), Engine(mcp=given, **options) as engine:
        one = value_of(await engine.exec("return 1"))
        reason = engine.health()["mcp"][0]["reason"]
    assert one == 1
    assert "login: was refused: access_denied." in reason


def test_a_file_of_logins_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "logins.json")
    file.path.write_text("{}")
    file.path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        file.read()


@pytest.mark.parametrize("pasted", ["", "https://x/?state=1", "hello"])
def test_what_is_pasted_must_be_the_whole_address(pasted: str) -> None:
    with pytest.raises(ConfigError, match="needs the whole URL"):
        read_answer(pasted)
