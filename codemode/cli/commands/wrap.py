"""`codemode wrap`: any MCP server, or a file of them, as a code-mode MCP server."""

from __future__ import annotations

import argparse
import re
from pathlib import PurePath
from typing import Any

from codemode.cli.commands import serve
from codemode.cli.errors import CommandError

DESCRIPTION = """\
Turns MCP servers into one MCP server with exec and wait: whoever connects writes programs
that call their tools. WHAT is a command with its arguments behind --, the URL of a server,
or a file with mcpServers; it is `codemode serve --mcp` without a file of one's own."""
EXAMPLES = """\
  codemode wrap -- npx -y @modelcontextprotocol/server-filesystem /srv/docs
  codemode wrap --http 127.0.0.1:8000 -- python my_server.py
  codemode wrap --env API_KEY -- uvx some-server
  codemode wrap https://example.com/mcp --header 'Authorization: Bearer ${TOKEN}'
  codemode wrap mcp.json
"""
# words of a command that do not say which server it is
_NO_NAMES = frozenset(
    (
        "npx", "uvx", "node", "bunx", "bun", "deno", "docker", "uv", "python", "python3", "pipx", "env",
        "run", "x", "exec", "tool", "index", "main", "__main__", "server", "mcp", "dist", "build",
        "src", "bin",
    )
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="+", metavar="WHAT", help="a command behind --, a URL, or a file")
    parser.add_argument("--name", metavar="NAME", help="what programs call the server: MCP.NAME")
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="a variable for the command, without a value from this environment; it gets few others",
    )
    parser.add_argument(
        "--header", action="append", default=[], metavar="'NAME: VALUE'", help="a header for the URL"
    )
    parser.add_argument("--cwd", metavar="FOLDER", help="where the command runs")
    serve.add_serving_arguments(parser)


def run(options: argparse.Namespace) -> int:
    options.speaks = "mcp"
    options.wrapped = servers_of(options)
    return serve.run(options)


def servers_of(options: argparse.Namespace) -> object:
    """What `Engine(mcp=…)` takes. Raises CommandError."""
    first, *rest = options.what
    is_url = first.startswith(("http://", "https://"))
    is_file = not is_url and first.endswith((".json", ".jsonc", ".json5", ".toml"))
    if (is_url or is_file) and rest:
        raise CommandError(f"one {'URL' if is_url else 'file'} at a time: what does {rest[0]!r} mean?")
    if is_file:
        if options.name or options.env or options.header or options.cwd:
            raise CommandError("the file says name, env, headers and cwd of its servers itself")
        return first
    entry: dict[str, Any]
    if is_url:
        if options.env or options.cwd:
            raise CommandError("--env and --cwd go with a command, --header with a URL")
        entry = {"url": first, "headers": dict(map(_header, options.header))}
    else:
        if options.header:
            raise CommandError("--header goes with a URL, --env with a command")
        entry = {"command": first, "args": rest, "env": dict(map(_variable, options.env))}
        if options.cwd:
            entry["cwd"] = options.cwd
    return {"mcpServers": {options.name or name_of(options.what): entry}}


def name_of(what: list[str]) -> str:
    """A short name from a command or a URL: `npx -y @scope/server-files@1.2 /srv` is "files"."""
    for word in what:
        path = PurePath(re.sub(r"^https?://(?:www\.|mcp\.|api\.)?([^/:.]+).*$", r"\1", word))
        if word.startswith("-") or path.name in _NO_NAMES or re.fullmatch(r"python[\d.]+", path.name):
            continue
        # of /opt/server-files/dist/index.js the folder says what it is
        found = (_plain(part) for part in reversed(path.parts))
        return next((name for name in found if name and name not in _NO_NAMES), "server")
    return "server"


def _plain(part: str) -> str:
    part = re.sub(r"(?<=.)@[^@]*$|\.(?:py|js|mjs|cjs|ts|sh|exe)$", "", part)
    part = re.sub(r"^(?:mcp[-_.])?(?:server[-_.])?|(?:[-_.]mcp)?(?:[-_.]server)?$", "", part) or part
    return part.strip("/@").replace(":", "-")[:60]


def _variable(text: str) -> tuple[str, str]:
    name, given, value = text.partition("=")
    if not name:
        raise CommandError(f"--env {text!r}: give a name, or NAME=VALUE")
    return name, value if given else f"${{{name}}}"


def _header(text: str) -> tuple[str, str]:
    name, given, value = text.partition(":")
    if not given or not name.strip():
        raise CommandError("--header: write it as 'Name: value'")
    return name.strip(), value.strip()
