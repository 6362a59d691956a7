"""The common part of `run`, `wait` and `runs approve`: an engine, a driver, one run, its report."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Coroutine
from typing import Any

from codemode.cli.engine_options import engine_arguments
from codemode.cli.engine_session import explained, on_stderr, open_engine
from codemode.cli.errors import CommandError
from codemode.cli.run_driver import Driver
from codemode.cli.terminal.interrupt import Interrupt, run_until_stopped
from codemode.cli.terminal.questions import TerminalQuestions
from codemode.cli.terminal.reporting import report
from codemode.cli.terminal.screen import Screen
from codemode.contract.results import CodeModeResult
from codemode.contract.scope import Scope
from codemode.engine import Engine

Work = Callable[[Driver], Coroutine[Any, Any, CodeModeResult]]


def run_program(options: argparse.Namespace, work: Work, run_id: str = "") -> int:
    """`run_id` names a run in the store; options that do not say its scope take it from there."""
    screen = Screen(quiet=options.quiet or options.json)
    # what tools print is neither output of the program nor part of the result
    with on_stderr(screen):
        with explained():
            arguments = engine_arguments(options)
        questions = TerminalQuestions(screen)
        arguments |= {"redact": not options.values}
        arguments["settings"] = {"warmWorkers": 1, **arguments["settings"]}  # one run needs one worker

        async def main(stop: Interrupt) -> int:
            async with open_engine(arguments, screen) as engine:
                scope = await find_scope(engine, options, run_id)
                driver = Driver(
                    engine,
                    screen,
                    stop,
                    questions,
                    scope,
                    prints=not options.json,
                    is_kept=options.store is not None,
                )
                with explained():
                    result = await work(driver)
                code = report(result, screen, options)
                await _save_trace(engine, driver.run_id, scope, options.trace)
                return code

        return run_until_stopped(main, screen)


async def find_scope(engine: Engine, options: argparse.Namespace, run_id: str = "") -> Scope:
    """A reader of the store's file may act for every owner of a run in it: names are not secrets here."""
    known = await engine.runs() if run_id else []
    own = ((run.agent, run.session) for run in known if run.run_id == run_id)
    agent, session = next(own, ("main", "cli"))
    return Scope(options.agent or agent, options.session or session, options.agent_run)


async def _save_trace(engine: Engine, run_id: str, scope: Scope, path: str | None) -> None:
    if path is None or not run_id:
        return
    found = await engine.trajectory(run_id, scope=scope)
    if found is None:
        return
    try:
        found.save(path)
    except OSError as error:
        raise CommandError(f"--trace {path}: cannot be written: {error.strerror}") from None
