"""`codemode init`: writes a configuration with comments, which every command takes with --config."""

from __future__ import annotations

import argparse
from pathlib import Path

from codemode.cli.errors import CommandError, ExitCode

DESCRIPTION = """\
Writes a configuration in TOML: standard tools, which commands may run, policy, MCP servers,
and each limit with its default as a comment. An existing file stays as it is."""
EXAMPLES = """\
  codemode init
  codemode init agent.toml --toolbox web
  codemode run --config codemode.toml -e 'return await tools.read({ path: "." })'
"""
_PROFILES = ("minimal", "coding", "web", "full")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="codemode.toml", metavar="FILE", help="codemode.toml")
    parser.add_argument("--toolbox", choices=_PROFILES, default="coding", help="the standard tools (coding)")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def run(options: argparse.Namespace) -> int:
    from codemode.cli.starting_config import starting_config
    from codemode.cli.terminal.screen import Screen

    file = Path(options.file)
    if file.suffix.lower() != ".toml":
        raise CommandError(f"{file}: name a file that ends in .toml")
    try:
        with file.open("w" if options.force else "x", encoding="utf-8") as out:
            out.write(starting_config(options.toolbox))
    except FileExistsError:
        raise CommandError(f"{file} exists: edit it, or replace it with --force") from None
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}") from None
    screen = Screen()
    screen.note(f"wrote {file}; try: codemode run --config {file} -e 'return Object.keys(tools)'")
    return ExitCode.DONE
