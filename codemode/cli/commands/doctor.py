"""`codemode doctor`: checks what an engine needs, and tells how to fix what is wrong."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codemode.cli.engine_options import add_engine_arguments, engine_arguments

if TYPE_CHECKING:
    from codemode.cli.checks.findings import Finding
    from codemode.cli.terminal.screen import Screen

DESCRIPTION = """\
Checks Python and packages, the guest image, the cache of compiled code, the worker
processes and each layer of their confinement, and with the options of `codemode run` the
store, the configuration, the tools and each MCP server. Says what is wrong and what to do.
Exit code: 0 healthy, 1 degraded (it works, with less), 4 unavailable."""
EXAMPLES = """\
  codemode doctor
  codemode doctor --json
  codemode doctor --http http://127.0.0.1:8000
  codemode doctor --mcp servers.json --store runs.sqlite --tools shop.py:tools
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the same as data: status, reasons, findings")
    parser.add_argument("--http", metavar="URL", help="a running `codemode serve --http`, looked at too")
    parser.add_argument("--token", metavar="TOKEN", help="for --http (else CODEMODE_HTTP_TOKEN)")
    add_engine_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from codemode.cli.checks.findings import exit_code_of, tell, to_dict
    from codemode.cli.engine_session import on_stderr
    from codemode.cli.terminal.interrupt import Interrupt, run_until_stopped
    from codemode.cli.terminal.reporting import print_json
    from codemode.cli.terminal.screen import Screen

    screen = Screen()

    async def main(_: Interrupt) -> int:
        import msgspec

        findings = await examine(options, screen)
        if options.http is not None:
            from codemode.cli.checks.server import check_server

            findings += check_server(options.http, options.token)
        if options.json:
            print_json(msgspec.json.encode(to_dict(findings)).decode(), screen)
        else:
            tell(findings, screen)
        return exit_code_of(findings)

    with on_stderr(screen):
        return run_until_stopped(main, screen)


async def examine(options: argparse.Namespace, screen: Screen) -> list[Finding]:
    """Checks in the order of need; starts an engine if its options can be used."""
    from codemode.cli.checks.engine import check_engine
    from codemode.cli.checks.files import check_cache, check_image, check_packages, check_python, check_store

    image_finding, image = check_image()
    findings = [check_python(), *check_packages(options.servers is not None), image_finding]
    if image is not None:
        findings.append(check_cache(image))
    arguments = _arguments(options, findings)
    if arguments is None:
        return findings
    if isinstance(arguments["store"], Path):
        stored, can_open = check_store(arguments["store"], "" if image is None else image.build_id)
        findings.append(stored)
        if not can_open:
            arguments["store"] = None  # the doctor must not create a file; it can still check the rest
    return findings + await check_engine(arguments, screen)


def _arguments(options: argparse.Namespace, findings: list[Finding]) -> dict[str, Any] | None:
    from codemode.cli.checks.findings import Finding
    from codemode.cli.engine_session import explained
    from codemode.cli.errors import CommandError

    try:
        with explained():
            return engine_arguments(options)
    except CommandError as error:
        findings.append(
            Finding("options", "unavailable", str(error), "correct the option, or the file it names")
        )
        return None
