"""`codemode run`: runs one program from start to end."""

from __future__ import annotations

import argparse
import contextlib
import sys

from codemode.cli.engine_options import add_engine_arguments, add_scope_arguments
from codemode.cli.errors import CommandError

DESCRIPTION = """\
Runs a program: the body of an async function, in JavaScript or TypeScript. Its output is
printed as it comes, then the value it returns, as JSON; on a terminal the calls it makes
are drawn as a tree while they happen. A program that waits for slow tools is suspended and
goes on by itself; a terminal is asked for approvals."""
EXAMPLES = """\
  codemode run -e 'return 1 + 1'
  codemode run -e 'return await tools.add({ a: 1, b: 2 })' --tools shop.py:tools
  codemode run report.ts --mcp servers.json --timeout 30
  codemode run - --json < program.js
  codemode run order.js --tools shop.py --store runs.sqlite --no-wait
"""
_MAX_BYTES = 4 << 20  # a program has at most 2**20 characters, and UTF-8 takes up to 4 bytes for one
_TYPESCRIPT = (".ts", ".mts", ".cts")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("file", nargs="?", metavar="FILE", help="the program; - is standard input")
    what.add_argument("-e", "--eval", metavar="CODE", help="the program itself")
    add_language_arguments(parser)
    add_result_arguments(parser)
    add_engine_arguments(parser)
    add_scope_arguments(parser, "cli")


def add_language_arguments(parser: argparse.ArgumentParser) -> None:
    language = parser.add_mutually_exclusive_group()
    language.add_argument(
        "--language",
        choices=("javascript", "typescript"),
        help="default: by the file's suffix, else javascript",
    )
    language.add_argument(
        "--ts", dest="language", action="store_const", const="typescript", help="--language typescript"
    )


def add_result_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result object, and nothing else")
    parser.add_argument("--no-wait", action="store_true", help="leave a run that waits in the store")
    parser.add_argument("-q", "--quiet", action="store_true", help="draw no tree")
    parser.add_argument("--trace", metavar="FILE", help="save the run's trajectory, for `codemode trace`")
    parser.add_argument(
        "--values", action="store_true", help="record inputs and results in the trajectory, not only shapes"
    )


def run(options: argparse.Namespace) -> int:
    program = read_program(options)
    language = options.language or _language_of(options.file)
    if options.no_wait and options.store is None:
        raise CommandError("--no-wait needs --store PATH: without a store a run that waits ends here")
    # imported after the checks of the options, because it loads the engine
    from codemode.cli.program_run import run_program

    return run_program(options, lambda driver: driver.exec(program, language, once=options.no_wait))


def read_program(options: argparse.Namespace) -> str:
    """Turns a first line `#!…` into a comment of the same length, so that positions stay right."""
    if options.eval is not None:
        return options.eval
    try:
        with (
            contextlib.nullcontext(sys.stdin.buffer)
            if options.file == "-"
            else open(options.file, "rb") as file
        ):
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{options.file}: cannot be read: {error.strerror}") from None
    if len(data) > _MAX_BYTES:
        raise CommandError(f"{options.file}: has more than {_MAX_BYTES} bytes, which no program may have")
    with contextlib.suppress(UnicodeDecodeError):
        text = data.decode("utf-8-sig")
        return "//" + text[2:] if text.startswith("#!") else text
    raise CommandError(f"{options.file}: is not UTF-8 text")


def _language_of(file: str | None) -> str:
    return "typescript" if file and file.lower().endswith(_TYPESCRIPT) else "javascript"
