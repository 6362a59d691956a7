"""`codemode types`: prints declarations of what programs can call."""

from __future__ import annotations

import argparse

from codemode.cli.engine_options import add_tool_arguments, engine_arguments

DESCRIPTION = """\
Prints TypeScript declarations of the tools and MCP servers that a program can call: of all,
or of those that are named. Servers are connected for it."""
EXAMPLES = """\
  codemode types --tools shop.py:tools > tools.d.ts
  codemode types --mcp servers.json github
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="a tool, an MCP server or server.tool")
    add_tool_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from codemode.cli.engine_session import explained, on_stderr, open_engine
    from codemode.cli.errors import ExitCode
    from codemode.cli.surface import read_surface
    from codemode.cli.terminal.interrupt import Interrupt, run_until_stopped
    from codemode.cli.terminal.screen import Screen, escaped

    screen = Screen()

    async def main(_: Interrupt) -> int:
        with explained():
            arguments = engine_arguments(options) | {"agent_config": {"enabled": False}}  # it runs no program
        async with open_engine(arguments, screen) as engine:
            surface = await read_surface(engine)
        found = [surface.declare(name) for name in options.names] if options.names else [surface.all]
        screen.print(escaped("\n".join(found)).rstrip("\n"))
        return ExitCode.DONE

    with on_stderr(screen):
        return run_until_stopped(main, screen)
