"""The command line. `main` finds the command and loads only that one, because `--help` has to be quick.

Each command is a module in codemode/cli/commands with `DESCRIPTION`, `EXAMPLES`, `add_arguments(parser)` and
`run(options)`, which returns the exit code. A command that cannot go on raises CommandError.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # loading typing, enum and argparse takes longer than the rest of --help
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

COMMANDS = {
    "init": "write a configuration with comments: tools, policy, limits",
    "run": "run a program, from a file or from the command line",
    "wait": "go on with a run that was left waiting in a store",
    "runs": "the runs of a store: list, show, abort, approve, deny, fork, export",
    "approvals": "what waits for a yes, in a store or at a running server",
    "store": "look after a store: tables of a database, seals, copies of a file",
    "image": "keep the guest image of this version, for runs that a later one restores",
    "repl": "type programs and see what they give",
    "types": "the TypeScript declarations of tools and MCP servers",
    "replay": "run a recorded run again, without tools, and say what differs",
    "trace": "show an exported trajectory as a tree with a time axis",
    "doctor": "check what the engine needs, and say how to fix what is wrong",
    "serve": "offer the engine to other programs: HTTP, MCP, or JSON-RPC over stdio",
    "tokens": "make the tokens of a server over HTTP",
    "mcp": "log in to MCP servers that want it: login, logout, status",
    "completion": "a script for your shell: bash, zsh, fish",
    "wrap": "any MCP server as a code-mode MCP server: codemode wrap -- COMMAND",
}
_NEEDS_WORKERS = ("run", "wait", "repl", "serve", "wrap")  # a worker is on its way while their modules load
_BROKEN_PIPE = 141  # ExitCode.BROKEN_PIPE, which is not loaded for --help
_HELP = """\
usage: codemode COMMAND ...

Runs JavaScript and TypeScript programs that can do nothing but compute and call tools.

commands:
{commands}

options:
  -h, --help  show this help and exit
  --version   print the version and exit

examples:
  codemode run -e 'return 1 + 1'
  codemode run report.ts --tools shop.py:tools --mcp servers.json
  codemode run order.js --tools shop.py:tools --store runs.sqlite --no-wait
  codemode wait RUN --tools shop.py:tools --store runs.sqlite
  codemode wrap -- npx -y @modelcontextprotocol/server-filesystem /srv/docs
  codemode doctor

`codemode COMMAND --help` has the options and examples of one command.\
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code. Never raises for anything a user, a program or a server does."""
    _replace_closed_streams()
    try:
        code = _carry_out(sys.argv[1:] if argv is None else list(argv))
    except BrokenPipeError:  # the program that read our output has gone
        code = _BROKEN_PIPE
    return _flush(code)


def _carry_out(arguments: list[str]) -> int:
    match arguments[:1]:
        case ["-h" | "--help" | "help"]:
            print(_help())
            return 0
        case ["--version"]:
            from importlib.metadata import version

            print(f"codemode {version('codemode')}")
            return 0
        case [name] if name in COMMANDS:
            return _run(name, arguments[1:])
        case wrong:
            return _refuse(*wrong)


def _help() -> str:
    return _HELP.format(commands="\n".join(f"  {name:12}{told}" for name, told in COMMANDS.items()))


def _refuse(name: str = "") -> int:
    from codemode.nearest import did_you_mean

    problem = f"there is no command {name!r}.{did_you_mean(name, COMMANDS)}" if name else "name a command."
    print(f"codemode: {problem} `codemode --help` lists them.", file=sys.stderr)
    return 2


def _run(name: str, arguments: list[str]) -> int:
    if name not in _NEEDS_WORKERS or not {"-h", "--help"}.isdisjoint(arguments):
        return _run_loaded(name, arguments)
    from codemode.workers.head_start import ahead

    with ahead():
        return _run_loaded(name, arguments)


def _run_loaded(name: str, arguments: list[str]) -> int:
    from codemode.cli.errors import CommandError, ExitCode

    try:
        options = parser_of(name).parse_args(arguments)
        return int(options.run_command(options))
    except SystemExit as ending:  # argparse: 0 for --help, 2 for options it cannot read
        return ending.code if isinstance(ending.code, int) else ExitCode.USAGE
    except CommandError as error:
        print(f"codemode {name}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def _replace_closed_streams() -> None:
    """A shell may start a command without these streams (`>&-`): output to them is then dropped."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open("/dev/null", "w"))  # noqa: SIM115 - as long as the process


def _flush(code: int) -> int:
    """Writes what Python still holds, because a failure at its exit cannot be caught: it prints a complaint
    and makes the exit code 120. What cannot be written goes nowhere."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            import os

            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
            code = _BROKEN_PIPE if isinstance(error, BrokenPipeError) else code or 1
    return code


def parser_of(name: str) -> argparse.ArgumentParser:
    import argparse
    from importlib import import_module

    from codemode.cli.option_parser import OptionParser

    module = import_module(f"codemode.cli.commands.{name}")
    parser = OptionParser(
        prog=f"codemode {name}",
        description=module.DESCRIPTION,
        epilog=f"examples:\n{module.EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run_command=module.run)
    module.add_arguments(parser)
    return parser
