"""`codemode wait`: continues a run that an earlier command left in a store."""

from __future__ import annotations

import argparse
import os

from codemode.cli.commands.run import add_result_arguments
from codemode.cli.engine_options import add_engine_arguments, add_scope_arguments
from codemode.cli.errors import CommandError

DESCRIPTION = """\
Goes on with a run that is waiting in a store, until it is over. Give the tools it had: a
store keeps the program and where it stopped, not the tools. With --no-wait it waits once,
at most for the time of one leg (--timeout)."""
EXAMPLES = """\
  codemode wait RUN --store runs.sqlite --tools shop.py:tools
  codemode wait RUN --store runs.sqlite --no-wait --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the run's id; `codemode runs --store PATH` lists them")
    add_result_arguments(parser)
    add_engine_arguments(parser)
    add_scope_arguments(parser, None)


def run(options: argparse.Namespace) -> int:
    require_store(options.store)
    from codemode.cli.program_run import run_program

    return run_program(
        options, lambda driver: driver.wait(options.run, once=options.no_wait), run_id=options.run
    )


def require_store(path: str | None) -> None:
    """Commands about runs in a store do not create a new store."""
    if path is None:
        raise CommandError("give --store PATH: the file that the run was left in")
    if "://" not in path and not os.path.isfile(path):
        raise CommandError(f"--store {path}: there is no such file, so no run is waiting in it")
