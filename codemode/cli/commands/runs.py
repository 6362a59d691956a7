"""`codemode runs`: lists the runs that wait in a store, shows, aborts, decides, forks and exports them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from codemode import clock
from codemode.cli.commands.run import add_result_arguments
from codemode.cli.commands.wait import require_store
from codemode.cli.engine_options import add_engine_arguments, add_scope_arguments
from codemode.cli.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from codemode.cli.run_driver import Driver
    from codemode.contract.results import CodeModeResult
    from codemode.engine import Engine
    from codemode.runs.run_details import RunDetails

DESCRIPTION = """\
Lists the runs that wait in a store; shows one as it is now, without waiting for it: its
state, its trajectory and what it asks for; aborts one. `approve` and `deny` answer what a
run asks for and then go on with it, as `codemode wait` does: the call is made by this
command, so it needs the run's tools. Without an id they answer the only question there is.
`history` lists the moments of a run that are kept. `fork` copies a run, as it is or as it was
(--at), and goes on with the copy; --settle and --fail answer calls that are in flight.
`export` writes a run as a bundle that `codemode replay` runs again; its values are in it if
they were recorded (`codemode run --values`, `Engine(redact=False)`)."""
EXAMPLES = """\
  codemode runs --store runs.sqlite
  codemode runs list --all --store runs.sqlite
  codemode runs show RUN --store runs.sqlite
  codemode runs approve RUN --store runs.sqlite --tools shop.py:tools
  codemode runs deny RUN apr_1234 --reason 'too expensive' --store runs.sqlite --tools shop.py:tools
  codemode runs abort RUN --store runs.sqlite
  codemode runs history RUN --store runs.sqlite
  codemode runs fork RUN --at 2 --settle '3={"price": 5}' --store runs.sqlite --tools shop.py:tools
  codemode runs export RUN --to bundle.json --store runs.sqlite
"""
_ACTIONS = ("list", "show", "abort", "approve", "deny", "history", "fork", "export")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", default="list", choices=_ACTIONS, help="default: list")
    parser.add_argument("run", nargs="?", metavar="RUN", help="the run's id; for all but list")
    parser.add_argument("approval", nargs="?", metavar="APPROVAL", help="for approve and deny")
    parser.add_argument("--reason", default="", metavar="TEXT", help="for deny: what the program is told")
    parser.add_argument("--at", type=int, metavar="N", help="for fork: a moment that `history` lists")
    parser.add_argument(
        "--settle", action="append", default=[], metavar="CALL=JSON", help="for fork: what a call returns"
    )
    parser.add_argument(
        "--fail", action="append", default=[], metavar="CALL=TEXT", help="for fork: why a call fails"
    )
    parser.add_argument("--to", metavar="FILE", help="for export: where the bundle is written")
    parser.add_argument("--all", action="store_true", help="for list: finished runs too, the newest first")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="for list --all (50)")
    add_result_arguments(parser)
    add_engine_arguments(parser)
    add_scope_arguments(parser, None)


def run(options: argparse.Namespace) -> int:
    require_store(options.store)
    if options.action == "list":
        return look_at_store(options, _list)
    if options.run is None:
        raise CommandError(
            f"{options.action} needs a RUN; `codemode runs --store {options.store}` lists them"
        )
    match options.action:
        case "show":
            return look_at_store(options, _show)
        case "abort":
            return look_at_store(options, _abort)
        case "history":
            return look_at_store(options, _history)
        case "fork":
            return _fork(options)
        case "export":
            if options.to is None:
                raise CommandError("export needs --to FILE, where the bundle is written")
            return look_at_store(options, _export)
        case _:
            return _decide(options)


def look_at_store(options: argparse.Namespace, action: Any) -> int:
    """Opens an engine that runs nothing."""
    from codemode.cli.engine_session import explained, on_stderr, open_engine
    from codemode.cli.terminal.interrupt import Interrupt, run_until_stopped
    from codemode.cli.terminal.screen import Screen

    screen = Screen(quiet=options.quiet)
    arguments = {"config": False, "store": options.store, "settings": {"warmWorkers": 1}}

    async def main(_: Interrupt) -> int:
        async with open_engine(arguments, screen) as engine:
            with explained():
                return await action(engine, screen, options)

    with on_stderr(screen):
        return run_until_stopped(main, screen)


async def _list(engine: Engine, screen: Any, options: argparse.Namespace) -> int:
    from codemode.cli.terminal.reporting import print_json
    from codemode.trajectory.escape import fit

    if options.all:
        return await _list_all(engine, screen, options)
    runs = await engine.runs(options.session)
    if options.json:
        print_json(_json(runs), screen)
        return ExitCode.DONE
    if not runs:
        screen.note("no run is waiting in this store")
        return ExitCode.DONE
    widest = max(len(run.run_id) for run in runs)
    head = ("RUN".ljust(widest), "STATE  ", "AGE      ", "EXPIRES IN", "   BYTES", "AGENT/SESSION")
    screen.print("  ".join(head))
    for found in runs:
        cells = (
            fit(found.run_id, widest),
            fit(found.state, 7),
            fit(_span(clock.wall_ms() - found.created_at_ms), 9),
            fit(_span(found.expires_at_ms - clock.wall_ms()), 10),
            f"{found.bytes:8}",
            fit(f"{found.agent}/{found.session}", 40).rstrip(),
        )
        screen.print("  ".join(cells))
    return ExitCode.DONE


async def _list_all(engine: Engine, screen: Any, options: argparse.Namespace) -> int:
    """Also those that are over, as far as the store remembers them."""
    from codemode.cli.terminal.reporting import print_json
    from codemode.runs.run_lists import RunQuery
    from codemode.trajectory.escape import fit

    page = await engine.list_runs(RunQuery(session=options.session), limit=max(1, min(options.limit, 1000)))
    if options.json:
        print_json(_json([run.to_dict() for run in page.runs]), screen)
        return ExitCode.DONE
    for run in page.runs:
        ended = "" if run.ended_at_ms is None else f"{run.ended_at_ms - run.started_at_ms} ms"
        cells = (
            fit(run.run_id, 28),
            fit(run.status, 9),
            fit(f"{_span(clock.wall_ms() - run.started_at_ms)} ago", 12),
            fit(ended, 10),
            fit(f"{run.calls} calls", 9),
            fit(run.code or run.reason or "", 20),
            fit(f"{run.agent}/{run.session}", 40).rstrip(),
        )
        screen.print("  ".join(cells))
    if page.next is not None:
        screen.note("there are more: --limit N")
    return ExitCode.DONE


async def _show(engine: Engine, screen: Any, options: argparse.Namespace) -> int:
    from codemode.cli.program_run import find_scope
    from codemode.cli.terminal.approvals import lines_of
    from codemode.cli.terminal.reporting import command_for, print_json
    from codemode.trajectory.escape import plain

    scope = await find_scope(engine, options, options.run)
    info = await engine.run_info(options.run, scope=scope)
    trajectory = await engine.trajectory(options.run, scope=scope)
    if info is None or trajectory is None:
        raise _unknown(options)
    if options.json:
        print_json(_json({**trajectory.to_dict(), "run": info.to_dict()}), screen)
        return ExitCode.DONE
    screen.print(_facts(info))
    screen.print(trajectory.tree(screen.width))
    for asked in info.approvals:
        screen.print(f"asks for approval: {plain(asked.tool_id)}")
        for line in lines_of(asked):
            screen.print(line)
        words = ["runs", "approve", options.run, asked.id]
        screen.print(f"  {command_for(words, options)}")
    return ExitCode.DONE


def _facts(info: RunDetails) -> str:
    """What can be said of the run now, in one line."""
    now = clock.wall_ms()
    places = {"here": "", "store": "no engine has it", "elsewhere": "another engine has it"}
    parts = [
        f"{info.status} ({info.reason})" if info.reason else info.status,
        info.code or "",
        f"started {_span(info.age_ms)} ago" if info.age_ms is not None else "",
        f"expires in {_span(info.expires_at_ms - now)}" if info.expires_at_ms is not None else "",
        f"{info.bytes} bytes" if info.bytes else "",
        "calls: " + ", ".join(f"{count} {status}" for status, count in info.calls.items())
        if info.calls
        else "",
        f"{info.settled} came since" if info.settled else "",
        places[info.place],
    ]
    return " · ".join(part for part in parts if part)


async def _abort(engine: Engine, screen: Any, options: argparse.Namespace) -> int:
    from codemode.cli.program_run import find_scope

    if not await engine.abort(options.run, scope=await find_scope(engine, options, options.run)):
        raise _unknown(options)
    screen.note(f"{options.run} is aborted")
    return ExitCode.DONE


async def _history(engine: Engine, screen: Any, options: argparse.Namespace) -> int:
    from codemode.cli.program_run import find_scope
    from codemode.cli.terminal.reporting import print_json
    from codemode.trajectory.escape import plain

    found = await engine.history(options.run, scope=await find_scope(engine, options, options.run))
    if options.json:
        print_json(_json([one.to_dict() for one in found]), screen)
        return ExitCode.DONE
    if not found:
        screen.note("nothing is kept of this run's past: it has not gone on yet, or is another session's")
    for one in found:
        answered = ", ".join(f"{call} {plain(name)}" for call, name in one.answered.items()) or "nothing"
        pending = ", ".join(f"{call} {plain(name)}" for call, name in one.pending.items())
        waits = f"; waits for {pending}" if pending else ""
        ago = _span(clock.wall_ms() - one.kept_at_ms)
        screen.print(f"{one.at:4}  {ago:>9} ago  {one.bytes:8} bytes  answered: {answered}{waits}")
    return ExitCode.DONE


async def _export(engine: Engine, screen: Any, options: argparse.Namespace) -> int:
    from codemode.cli.program_run import find_scope
    from codemode.runs.exports import ExportError

    try:
        bundle = await engine.export(options.run, scope=await find_scope(engine, options, options.run))
    except ExportError as error:
        raise CommandError(f"{options.run}: {error}", ExitCode.FAILED) from None
    try:
        bundle.save(options.to)
    except OSError as error:
        raise CommandError(f"--to {options.to}: cannot be written: {error.strerror}") from None
    screen.note(f"wrote {options.to}")
    if not bundle.can_replay:
        screen.note(f"it has no values, and cannot be replayed: {bundle.without}")
    return ExitCode.DONE


def _fork(options: argparse.Namespace) -> int:
    from codemode.cli.program_run import run_program
    from codemode.cli.terminal.screen import Screen
    from codemode.runs.forks import ForkError
    from codemode.tools import ToolError

    settle: dict[str | int, Any] = {call: _value(given) for call, given in _pairs("--settle", options.settle)}
    settle |= {call: ToolError(text) for call, text in _pairs("--fail", options.fail)}

    async def work(driver: Driver) -> CodeModeResult:
        try:
            fork = await driver.engine.fork(options.run, at=options.at, settle=settle, scope=driver.scope)
        except ForkError as error:
            raise CommandError(f"{options.run}: {error}", ExitCode.FAILED) from None
        Screen(quiet=options.quiet).note(f"forked as {fork}")
        return await driver.wait(fork, once=options.no_wait)

    return run_program(options, work, run_id=options.run)


def _pairs(option: str, given: list[str]) -> list[tuple[str, str]]:
    pairs = [one.partition("=") for one in given]
    if wrong := [call for call, equals, _ in pairs if not equals]:
        raise CommandError(f"{option} {wrong[0]}: write it as CALL=VALUE, with the id of a call in flight")
    return [(call.strip(), value) for call, _, value in pairs]


def _value(given: str) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(given)
    except msgspec.DecodeError:
        raise CommandError(f"--settle: {given[:60]!r} is not JSON; quote a text as '\"text\"'") from None


def _decide(options: argparse.Namespace) -> int:
    from codemode.cli.program_run import run_program

    async def work(driver: Driver) -> CodeModeResult:
        approval = options.approval or await _only_approval(driver, options)
        if options.action == "approve":
            was_decided = await driver.engine.approve(options.run, approval, scope=driver.scope)
        else:
            was_decided = await driver.engine.deny(
                options.run, approval, reason=options.reason, scope=driver.scope
            )
        if not was_decided:
            raise CommandError(
                f"{options.run}: {approval} cannot be decided here: the run is over, asks for something else,"
                " or belongs to an engine that is still running (then answer there)",
                ExitCode.FAILED,
            )
        return await driver.wait(options.run, once=options.no_wait)

    return run_program(options, work, run_id=options.run)


async def _only_approval(driver: Driver, options: argparse.Namespace) -> str:
    from codemode.cli.terminal.approvals import lines_of, open_approvals
    from codemode.trajectory.escape import plain

    asked = await open_approvals(driver.engine, options.run, driver.scope)
    if not asked:
        raise CommandError(
            f"{options.run}: there is no such run, or it asks for no approval", ExitCode.FAILED
        )
    if len(asked) == 1:
        return asked[0].id
    listed = "".join(
        "\n".join((f"\n  {one.id}  {plain(one.tool_id)}", *(f"  {line}" for line in lines_of(one))))
        for one in asked
    )
    raise CommandError(f"{options.run} asks for several approvals; name one of them:{listed}")


def _unknown(options: argparse.Namespace) -> CommandError:
    return CommandError(
        f"{options.run}: there is no such run; `codemode runs --store {options.store}` lists them",
        ExitCode.FAILED,
    )


def _json(value: object) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()


def _span(ms: float) -> str:
    from codemode.trajectory.tree import duration

    return duration(max(0.0, ms))
