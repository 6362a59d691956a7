"""`--toolbox`, `--workspace` and `--allow-command`: standard tools for every command that has an engine."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from codemode.cli.errors import CommandError

if TYPE_CHECKING:
    from codemode.toolbox import Toolbox

_PROFILES = ("minimal", "coding", "web", "full")  # of the toolbox, which only commands that have one load


def add_toolbox_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("standard tools")
    group.add_argument(
        "--toolbox",
        choices=_PROFILES,
        help="coding: files, commands and notes of a workspace; web: pages; full: both",
    )
    group.add_argument("--workspace", metavar="DIR", help="the folder that they work in (.)")
    group.add_argument(
        "--allow-command",
        action="append",
        default=[],
        metavar="WORDS",
        help='a command that needs nobody\'s approval, by its first words, such as "git status"',
    )


def made_toolbox(options: argparse.Namespace, document: Mapping[str, Any]) -> Toolbox | None:
    """None if nobody asked for one. Raises CommandError and ConfigError."""
    if "toolbox" not in document and options.toolbox is None:
        if options.workspace or options.allow_command:
            raise CommandError("--workspace and --allow-command go with --toolbox, such as --toolbox coding")
        return None
    from codemode.cli.toolbox_section import toolbox_from

    return toolbox_from(
        document.get("toolbox", {}),
        options.config,
        profile=options.toolbox,
        workspace=options.workspace,
        allow=options.allow_command,
    )
