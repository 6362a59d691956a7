"""The REPL's completion of the word before the cursor, and its history file. Uses readline if it exists."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import ModuleType

from codemode.cli.surface import GuestSurface
from codemode.failures.available import GLOBALS

_HISTORY_LINES = 2000
_DELIMITERS = " \t\n`~!@#%^&*()=+[{]}\\|;:'\",<>/?-"
DOT_COMMANDS = (".exit", ".help", ".tools", ".trace", ".types")


def completions(surface: GuestSurface, word: str, is_first: bool) -> list[str]:
    """Whole words, sorted. `is_first`: the line begins with the word."""
    found = [f"tools.{name}" for name in ("search", "describe", "call", *surface.catalog.convenience_names())]
    found += [*GLOBALS, *(DOT_COMMANDS if is_first else ())]
    for server, tools in surface.servers.items():
        found += [f"MCP.{server}", *(f"MCP.{server}.{tool}" for tool in (*tools, "$api"))]
    for namespace, members in surface.namespaces.items():
        found += [namespace, *(f"{namespace}.{member}" for member in members)]
    # offers a member only after its owner is typed: else the list of globals would hold all tools
    return sorted({name for name in found if name.startswith(word) and name.count(".") == word.count(".")})


class PromptReader:
    """input() with completion and history; without readline plain input()."""

    def __init__(self, surface: GuestSurface) -> None:
        self._surface = surface
        self._found: list[str] = []
        self._readline = _load_readline()
        self._history = _history_file()

    def open(self) -> None:
        if self._readline is None:
            return
        self._readline.set_completer_delims(_DELIMITERS)
        self._readline.set_completer(self._complete)
        self._readline.parse_and_bind("tab: complete")
        self._readline.set_history_length(_HISTORY_LINES)
        if self._history is not None:
            with contextlib.suppress(OSError):
                self._readline.read_history_file(self._history)

    def close(self) -> None:
        """Saves the history. In a home that cannot be written to, only the history is lost."""
        if self._readline is None:
            return
        self._readline.set_completer(None)
        if self._history is None:
            return
        with contextlib.suppress(OSError):
            self._history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # made private before it holds anything: people may type secrets
            os.close(os.open(self._history, os.O_WRONLY | os.O_CREAT, 0o600))
            self._readline.write_history_file(self._history)

    def read(self, prompt: str) -> str:
        """Raises EOFError, KeyboardInterrupt."""
        return input(prompt)

    def _complete(self, word: str, state: int) -> str | None:
        if state == 0 and self._readline is not None:
            self._found = completions(self._surface, word, self._readline.get_begidx() == 0)
        return self._found[state] if state < len(self._found) else None


def _load_readline() -> ModuleType | None:
    try:
        import readline
    except ImportError:
        return None
    return readline


def _history_file() -> Path | None:
    """None for a user without a home: then no history is kept."""
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not base.is_absolute():
        try:
            base = Path.home() / ".local" / "state"
        except RuntimeError:
            return None
    return base / "codemode" / "history"
