"""How a command ends: its exit codes, and the one exception that becomes a line on stderr."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemode.contract.results import CodeModeResult

_ENGINE_FAILURES = ("runtime_unavailable", "internal_error")


class ExitCode(IntEnum):
    """Scripts rely on these codes; docs/cli.md has the table."""

    DONE = 0  # the program completed; the engine is healthy
    FAILED = 1  # the program failed, or there is no such run; the engine is degraded
    USAGE = 2  # the command line, or a file it names, has to be corrected
    WAITING = 3  # the run is not over
    UNAVAILABLE = 4  # the engine or the store cannot work
    INTERRUPTED = 130  # Ctrl-C
    BROKEN_PIPE = 141  # the reader of the output is gone


class CommandError(Exception):
    """The command cannot be carried out; its text says what to do. Nothing was run."""

    def __init__(self, text: str, exit_code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(text)
        self.exit_code = exit_code


def exit_code_of(result: CodeModeResult) -> ExitCode:
    match result.status:
        case "completed":
            return ExitCode.DONE
        case "waiting":
            return ExitCode.WAITING
        case "failed":
            return ExitCode.UNAVAILABLE if result.code in _ENGINE_FAILURES else ExitCode.FAILED
