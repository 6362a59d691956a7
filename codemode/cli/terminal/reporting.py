"""Tells how a run ended, on the terminal or as JSON, and how to continue one that is not over."""

from __future__ import annotations

import argparse
import shlex

import msgspec
from codemode_snapshots.label import NO_VALUE

from codemode.cli.errors import ExitCode, exit_code_of
from codemode.cli.terminal.screen import Screen, escaped
from codemode.contract.results import CodeModeResult, Completed, Failed, Waiting
from codemode.contract.shown_json import escaped_json
from codemode.trajectory.escape import plain

_INTERRUPTED = (
    "  calls that were still running ended with this command: the program sees them as interrupted,\n"
    "  except those of idempotent tools, which start again"
)


def report(result: CodeModeResult, screen: Screen, options: argparse.Namespace) -> ExitCode:
    """Prints the outcome. The output was printed as it came, unless the user asked for JSON."""
    if options.json:
        print_json(result.to_json(), screen)
    match result:
        case Completed():
            if not options.json:
                screen.value(bytes(result.raw_value).decode())
        case Failed():
            if not options.json:
                screen.note(f"failed ({result.code}): {escaped(result.error)}", "red")
        case Waiting():
            _tell_waiting(result, screen, options)
    return exit_code_of(result)


def print_json(json: str, screen: Screen) -> None:
    """Prints one line for programs, several for people."""
    screen.print(escaped_json(msgspec.json.format(json, indent=2) if screen.out.isatty() else json))


def _tell_waiting(result: Waiting, screen: Screen, options: argparse.Namespace) -> None:
    """Prints on stderr, also beside JSON: this is for people."""
    screen.note(f"{result.run_id} is waiting: {result.reason}", "yellow")
    asking = [call for call in result.pending_tool_calls if call.approval is not None]
    for call in asking:
        assert call.approval is not None
        screen.note(f"  {plain(call.tool or '')}: {plain(call.approval.summary)} ({call.approval.id})")
    if options.store is None:
        screen.note("  it ends with this command: give --store PATH to keep what is waiting")
        return
    if any(call.method == "call" and call.approval is None for call in result.pending_tool_calls):
        screen.note(_INTERRUPTED)
    screen.note(f"  go on:   {command_for(['wait', result.run_id], options)}")
    if asking:
        screen.note(f"  approve: {command_for(['runs', 'approve', result.run_id], options)}")


def command_for(words: list[str], options: argparse.Namespace) -> str:
    """A command with the same tools: the user has to give them again, as no store can keep them."""
    given = [*words, "--store", options.store]
    for spec in options.tools:
        given += ["--tools", spec]
    for name, value in (("--servers", options.servers), ("--config", options.config)):
        given += [name, value] if value else []
    if options.agent_run != NO_VALUE:
        given += ["--agent-run", options.agent_run]
    return shlex.join(["codemode", *given])
