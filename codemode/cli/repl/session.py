"""The loop of the REPL: reads a program, runs it, shows its value; and the commands that begin with a dot."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import sys
from concurrent.futures import CancelledError
from typing import Any

from codemode.cli.engine_options import engine_arguments
from codemode.cli.engine_session import explained, on_stderr
from codemode.cli.engine_thread import EngineThread
from codemode.cli.errors import CommandError, ExitCode
from codemode.cli.repl.branches import Branches
from codemode.cli.repl.completion import PromptReader
from codemode.cli.repl.text import as_expression, is_incomplete
from codemode.cli.run_driver import Driver
from codemode.cli.surface import GuestSurface, read_surface
from codemode.cli.terminal.interrupt import Interrupt
from codemode.cli.terminal.questions import TerminalQuestions
from codemode.cli.terminal.screen import Screen, escaped
from codemode.contract.results import CodeModeResult, Completed, Failed, Waiting
from codemode.contract.scope import Scope
from codemode.engine import Engine
from codemode.runs.forks import ForkError

_HELP = """\
A program per line; an expression shows its value. What a program declares is there in the next one; a
program that fails changes nothing.
  .tools [WORDS]  the tools, or those that match
  .types [NAME]   their TypeScript declarations
  .trace          the calls of the last program, with times
  .vars           what is declared, with types
  .back           undoes the last program, or .fork
  .fork [NAME]    goes on in a copy of the variables; .back leaves it
  .reset          forgets the variables
  .save FILE      writes the programs so far into a file
  .exit           or exit, or Ctrl-D
Tab completes tools, servers, namespaces and globals. An empty line ends a program that is not closed.
Ctrl-C aborts."""
_MAX_TOOLS = 50
_DOT_COMMAND = re.compile(r"\.([a-z]+)(?:\s+(.*))?", re.DOTALL)
_NO_PROGRAM = ("invalid_input", "typescript_transform_failed", "module_access_denied")


def run_repl(options: argparse.Namespace) -> int:
    screen = Screen()
    questions = TerminalQuestions(screen)
    with on_stderr(screen):
        with explained():
            arguments = engine_arguments(options)
            arguments["agent_config"] = {"sessionState": "keep", **arguments["agent_config"]}
        with EngineThread(arguments, screen) as thread:
            surface = thread.call(read_surface)
            Repl(thread, screen, questions, surface, options).loop()
    return ExitCode.DONE


class Repl:
    def __init__(
        self,
        thread: EngineThread,
        screen: Screen,
        questions: TerminalQuestions,
        surface: GuestSurface,
        options: argparse.Namespace,
    ) -> None:
        self._thread = thread
        self._screen = screen
        self._questions = questions
        self._surface = surface
        self._language: str = options.language or "javascript"
        self._branches = Branches(Scope(options.agent, options.session, options.agent_run))
        self._stop: Interrupt | None = None
        self._last_run, self._last_scope = "", self._branches.scope
        self._is_typed = sys.stdin.isatty()

    def loop(self) -> None:
        reader = PromptReader(self._surface)
        if self._is_typed:
            reader.open()
            count = len(self._surface.catalog)
            self._screen.note(f"codemode {self._language}, {count} tools; .help says more", "dim")
        try:
            while (text := self._read(reader)) is not None:
                if text.strip() and not self._do(text):
                    return
        finally:
            self._thread.call(self._branches.close)
            if self._is_typed:
                reader.close()

    def _read(self, reader: PromptReader) -> str | None:
        """Reads a whole program; None at the end of input. Ctrl-C drops what was typed."""
        lines: list[str] = []
        while True:
            try:
                line = self._line(reader, "... " if lines else "> ")
            except EOFError:
                return "\n".join(lines) if lines else None
            except KeyboardInterrupt:
                self._screen.note("")
                lines = []
                continue
            lines.append(line)
            text = "\n".join(lines)
            if not line.strip() or not is_incomplete(text):
                return text

    def _line(self, reader: PromptReader, prompt: str) -> str:
        if self._is_typed:
            with contextlib.redirect_stdout(self._screen.out):  # readline draws the prompt there
                return reader.read(prompt)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    def _do(self, text: str) -> bool:
        """Runs a program or a dot command. Returns False to leave the REPL."""
        command = _DOT_COMMAND.fullmatch(text.strip())
        if text.strip().rstrip(";") in ("exit", "quit", "exit()", "quit()"):
            return False
        if command is None:
            self._evaluate(text)
            return True
        name, given = command[1], (command[2] or "").strip()
        match name:
            case "exit" | "quit":
                return False
            case "help":
                self._screen.print(_HELP)
            case "tools":
                self._list_tools(given)
            case "types":
                self._show_types(given)
            case "trace":
                self._show_trace()
            case "vars" | "back" | "fork" | "reset":
                self._screen.note(self._thread.call(lambda engine: self._branch(engine, name, given)))
            case "save":
                self._save(given)
            case _:
                self._screen.note(f"there is no .{name}; .help lists what there is")
        return True

    def _evaluate(self, text: str) -> None:
        try:
            result = self._thread.call(lambda engine: self._run(engine, text), self._interrupt)
        except CancelledError:  # Ctrl-C where there was no run to abort
            self._screen.note("interrupted")
            return
        match result:
            case Completed():
                self._screen.value(bytes(result.raw_value).decode())
            case Failed():
                self._screen.note(f"{result.code}: {escaped(result.error)}", "red")
            case Waiting():
                asks = "it asks for an approval that nobody gave" if result.reason == "approval" else ""
                self._screen.note(f"{result.run_id} is left waiting. {asks}".rstrip(), "yellow")

    async def _run(self, engine: Engine, text: str) -> CodeModeResult:
        task = asyncio.current_task()
        assert task is not None
        self._stop = Interrupt(self._screen, task)
        branches = self._branches
        await branches.note(engine, text)
        driver = Driver(engine, self._screen, self._stop, self._questions, branches.scope)
        wrapped = as_expression(text)
        result = None if wrapped is None else await driver.exec(wrapped, self._language)
        if result is None or (isinstance(result, Failed) and result.code in _NO_PROGRAM):
            result = await driver.exec(text, self._language)
        self._last_run, self._last_scope = driver.run_id or self._last_run, branches.scope
        if isinstance(result, Completed):
            branches.programs.append(text)
        elif isinstance(result, Failed):
            await branches.forget_step(engine)
        return result

    async def _branch(self, engine: Engine, name: str, given: str) -> str:
        """Carries out a command about the variables; says what it did."""
        branches = self._branches
        try:
            match name:
                case "vars":
                    found = await engine.world(scope=branches.scope)
                    names = {} if found is None else found.names
                    listed = "\n".join(f"{one}: {type_}" for one, type_ in names.items())
                    return escaped(listed) or "nothing is declared"
                case "back":
                    undone = branches.back()
                    return "there is nothing to undo" if undone is None else escaped(f"undone: {undone}")
                case "fork":
                    return f"in {await branches.fork(engine, given)}; .back leaves it"
                case _:
                    await branches.note(engine, ".reset")
                    return "forgotten" if await engine.reset(scope=branches.scope) else "nothing is declared"
        except ForkError as error:
            return str(error)

    def _save(self, path: str) -> None:
        if not path:
            self._screen.note("give a file: .save programs.js")
            return
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write("\n".join(self._branches.programs) + "\n")
        except OSError as error:
            self._screen.note(f"{path}: cannot be written: {error.strerror}")
            return
        self._screen.note(f"{len(self._branches.programs)} programs in {path}")

    def _interrupt(self) -> None:
        if self._stop is not None:
            self._stop.ask()

    def _list_tools(self, words: str) -> None:
        catalog = self._surface.catalog
        known = catalog.all_tools()
        found = known if not words else catalog.search(words, _MAX_TOOLS) or _named(known, words)
        names = {catalog.convenience(name): name for name in catalog.convenience_names()}
        for entry in found:
            name = names.get(entry["id"], entry["id"])
            self._screen.print(escaped(f"{name}  {entry['description'].partition(chr(10))[0]}"))
        for server, tools in self._surface.servers.items():
            named = [tool for tool in tools if words.lower() in tool.lower()]
            if named:
                self._screen.print(escaped(f"MCP.{server}  {', '.join(named)}"))

    def _show_types(self, name: str) -> None:
        try:
            shown = self._surface.declare(name) if name else self._surface.all
        except CommandError as error:
            self._screen.note(str(error))
            return
        self._screen.print(escaped(shown).rstrip("\n"))

    def _show_trace(self) -> None:
        if not self._last_run:
            self._screen.note("no program has run yet")
            return
        run_id = self._last_run
        found = self._thread.call(lambda engine: engine.trajectory(run_id, scope=self._last_scope))
        self._screen.print(
            f"{run_id} is not known any more" if found is None else found.tree(self._screen.width)
        )


def _named(entries: list[dict[str, Any]], part: str) -> list[dict[str, Any]]:
    """For words that search does not find, such as a part of a name."""
    return [entry for entry in entries if part.lower() in entry["name"].lower()]
