"""`codemode trace`: shows an exported trajectory as a tree with a time axis. Runs nothing."""

from __future__ import annotations

import argparse

DESCRIPTION = """\
Shows what happened in a run, or in the runs of a session: each exec and wait, the calls
made in it, and when. The file is what `codemode run --trace FILE` and `Trajectory.save`
write. Nothing in it is run."""
EXAMPLES = """\
  codemode run order.js --tools shop.py --trace order.json
  codemode trace order.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="an exported trajectory (JSON)")
    parser.add_argument("--width", type=int, metavar="COLUMNS", help="default: the terminal's, else 100")


def run(options: argparse.Namespace) -> int:
    from codemode.cli.errors import CommandError, ExitCode
    from codemode.cli.terminal.screen import Screen
    from codemode.trajectory.load import TrajectoryRefused, load_trajectory

    screen = Screen()
    try:
        found = load_trajectory(options.file)
    except TrajectoryRefused as refused:
        raise CommandError(f"{options.file}: {refused}") from None
    screen.print(found.tree(options.width or screen.width))
    return ExitCode.DONE
