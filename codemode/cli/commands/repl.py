"""`codemode repl`: runs programs typed at a prompt."""

from __future__ import annotations

import argparse

from codemode.cli.commands.run import add_language_arguments
from codemode.cli.engine_options import add_engine_arguments, add_scope_arguments

DESCRIPTION = """\
Reads programs and runs each of them. What is typed is tried as an expression first, and its
value is shown; what is none is run as it is, and shows what it returns. A line with an open
bracket, template or comment goes on in the next one. What a program declares is there in the
next one; .back undoes the last, .fork goes on in a copy. Tab completes, .help tells more."""
EXAMPLES = """\
  codemode repl --tools shop.py:tools
  codemode repl --ts --mcp servers.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_language_arguments(parser)
    add_engine_arguments(parser)
    add_scope_arguments(parser, "cli")


def run(options: argparse.Namespace) -> int:
    from codemode.cli.repl.session import run_repl

    return run_repl(options)
