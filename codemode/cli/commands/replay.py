"""`codemode replay`: runs a bundle's program again, with the recorded answers and no tools."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from codemode.cli.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from codemode.replay.bundle import Bundle
    from codemode.replay.replaying import Replay

DESCRIPTION = """\
Runs the program of a bundle again: with the answers that its calls got then, in the same
order, with the same clock and randomness, and without any tool. Says what differs first: a
call, an item of output or the outcome. Exit code 0: nothing does; 1: something does.
--update-program tries another text against the same answers. --pytest writes a test that
replays the bundle. `codemode runs export` makes bundles."""
EXAMPLES = """\
  codemode runs export RUN --to bundle.json --store runs.sqlite
  codemode replay bundle.json
  codemode replay bundle.json --update-program order.js
  codemode replay bundle.json --pytest tests/test_order.py
"""
_TEST = '''\
"""Written by `codemode replay --pytest`: the program does what it did when {name} was recorded."""

import asyncio
from pathlib import Path

from codemode import load_bundle, replay_bundle

HERE = Path(__file__).parent


def test_{word}_replays_with_no_difference() -> None:
    bundle = load_bundle(HERE / {bundle!r})
    replayed = asyncio.run(replay_bundle(bundle{program}))
    assert replayed.is_same, str(replayed)
'''


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="BUNDLE", help="what `codemode runs export` wrote")
    parser.add_argument("--update-program", metavar="FILE", help="this text, against the recorded answers")
    parser.add_argument("--pytest", metavar="FILE", help="write a test that does the same, and run nothing")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    from codemode.replay.bundle import BundleRefused, load_bundle

    try:
        bundle = load_bundle(options.file)
    except BundleRefused as refused:
        raise CommandError(f"{options.file}: {refused}") from None
    if options.pytest is not None:
        return _write_test(options, bundle)
    return _replay(options, bundle)


def _replay(options: argparse.Namespace, bundle: Bundle) -> int:
    import asyncio

    import msgspec

    from codemode.cli.terminal.screen import Screen
    from codemode.replay.bundle import BundleRefused
    from codemode.replay.replaying import replay_bundle
    from codemode.trajectory.escape import plain
    from codemode.workers.errors import SupervisorError

    screen, program = Screen(), _program(options.update_program)
    try:
        found: Replay = asyncio.run(replay_bundle(bundle, program=program))
    except BundleRefused as refused:
        raise CommandError(f"{options.file}: {refused}") from None
    except SupervisorError as error:
        raise CommandError(f"the program cannot be run: {error}", ExitCode.UNAVAILABLE) from None
    if options.json:
        screen.print(msgspec.json.encode(found).decode())
    else:
        screen.print("\n".join(plain(line) for line in str(found).splitlines()))
    if found.other_build and not found.is_same:
        screen.note("the bundle was recorded with another guest image, which may be why")
    return ExitCode.DONE if found.is_same else ExitCode.FAILED


def _program(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"--update-program {path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"--update-program {path}: is not UTF-8 text") from None


def _write_test(options: argparse.Namespace, bundle: Bundle) -> int:
    from codemode.cli.terminal.screen import Screen

    if not bundle.can_replay:
        raise CommandError(f"{options.file}: it has no values, so no test can replay it: {bundle.without}")
    target = Path(options.pytest)
    program = ""
    if options.update_program is not None:
        _program(options.update_program)
        program = f", program=(HERE / {_seen_from(target, options.update_program)!r}).read_text()"
    name = Path(options.file).name
    word = "".join(letter if letter.isalnum() else "_" for letter in Path(name).stem) or "bundle"
    text = _TEST.format(
        name=_quoted(name), word=word, bundle=_seen_from(target, options.file), program=program
    )
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise CommandError(f"--pytest {target}: is there already; remove it, or name another file") from None
    except OSError as error:
        raise CommandError(f"--pytest {target}: cannot be written: {error.strerror}") from None
    Screen().note(f"wrote {target}")
    return ExitCode.DONE


def _seen_from(target: Path, path: str) -> str:
    import os

    return os.path.relpath(Path(path).resolve(), target.resolve().parent)


def _quoted(name: str) -> str:
    """For a docstring."""
    return "".join(letter if letter.isprintable() and letter not in '"\\' else "_" for letter in name)
