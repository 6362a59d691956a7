"""`codemode wrap`: what it makes of a command, a URL or a file, and the server that others then see."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from codemode.cli.commands import wrap
from codemode.cli.errors import CommandError
from tests.harness import npm
from tests.harness.cli import COMMAND
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.processes import PROJECT, environment

pytestmark = pytest.mark.usefixtures("leaves_nothing")
SERVER = str(PROJECT / "tests" / "mcp" / "fast_server.py")
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"


def servers_of(*arguments: str) -> Any:
    parser = argparse.ArgumentParser()
    wrap.add_arguments(parser)
    return wrap.servers_of(parser.parse_args(arguments))


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("npx -y @modelcontextprotocol/server-filesystem@1.2 /srv/docs", "filesystem"),
        ("node /opt/server-memory/dist/index.js", "memory"),
        ("uvx mcp-server-git --repository .", "git"),
        ("python3.12 -m weather", "weather"),
        ("/opt/github-mcp-server stdio", "github"),
        ("https://mcp.example.com/v1/mcp", "example"),
        ("server.py", "server"),
        ("docker run -i", "server"),
    ],
)
def test_a_server_is_named_after_what_it_is(command: str, name: str) -> None:
    assert wrap.name_of(command.split()) == name


def test_a_command_a_url_and_a_file_become_what_the_engine_takes() -> None:
    command = servers_of(
        "--env", "KEY", "--env", "A=b=c", "--cwd", "/tmp", "--", "uvx", "git-mcp", "--flag", "x"
    )
    assert command == {
        "mcpServers": {
            "git": {
                "command": "uvx",
                "args": ["git-mcp", "--flag", "x"],
                "env": {"KEY": "${KEY}", "A": "b=c"},
                "cwd": "/tmp",
            }
        }
    }
    url = servers_of("https://example.com/mcp", "--header", "Authorization: Bearer x:y", "--name", "mine")
    headers = {"Authorization": "Bearer x:y"}
    assert url == {"mcpServers": {"mine": {"url": "https://example.com/mcp", "headers": headers}}}
    assert servers_of("mcp.json") == "mcp.json"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("mcp.json", "more"), "one file at a time"),
        (("https://example.com/mcp", "more"), "one URL at a time"),
        (("mcp.json", "--name", "x"), "the file says name"),
        (("https://example.com/mcp", "--env", "X=1"), "--env and --cwd go with a command"),
        (("--header", "A: b", "--", "uvx", "x"), "--header goes with a URL"),
        (("https://example.com/mcp", "--header", "secret"), "write it as 'Name: value'"),
        (("--env", "=x", "--", "uvx"), "give a name"),
    ],
)
def test_what_does_not_go_together_is_refused_without_repeating_a_secret(
    arguments: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(CommandError, match=problem) as refused:
        servers_of(*arguments)
    assert "secret" not in str(refused.value)


async def test_a_wrapped_server_has_exec_and_wait_and_programs_reach_its_tools() -> None:
    command = ["wrap", "--name", "fast", "--", sys.executable, SERVER]
    server = StdioServerParameters(command=str(COMMAND), args=command, cwd=PROJECT, env=environment())
    async with Client(server, cache=None) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        listed = await client.call_tool("exec", {"code": "return Object.keys(MCP.fast).length > 1"})
    assert names == ["exec", "wait"]
    assert listed.structured_content is not None
    assert listed.structured_content["value"] is True


def test_the_official_inspector_uses_a_wrapped_server_in_two_commands(tmp_path: Path) -> None:
    modules = npm.installed_or_skip(INSPECTOR)
    script = modules / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
    wrapped = {"command": str(COMMAND), "args": ["wrap", "--name", "fast", "--", sys.executable, SERVER]}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"code": wrapped}}))

    def inspect(*arguments: str) -> Any:
        command = [npm.node(), str(script), "--cli", "--config", str(file), "--server", "code", *arguments]
        told = npm.environment() | {"MCP_INSPECTOR_SECRET_STORE": "memory", "HOME": str(tmp_path)}
        done = subprocess.run(
            command, cwd=PROJECT, env=told, capture_output=True, timeout=PATIENCE_SECONDS, check=True
        )
        return json.loads(done.stdout)

    listed = inspect("--method", "tools/list")
    assert [tool["name"] for tool in listed["tools"]] == ["exec", "wait"]
    program = "code=return 'fast' in MCP"
    called = inspect("--method", "tools/call", "--tool-name", "exec", "--tool-arg", program)
    assert called["structuredContent"]["value"] is True
