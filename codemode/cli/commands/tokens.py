"""`codemode tokens`: makes the bearer tokens of `codemode serve --http`."""

from __future__ import annotations

import argparse
import os
import secrets
from pathlib import Path
from typing import Any, cast

from codemode.cli.errors import CommandError, ExitCode

DESCRIPTION = """\
Makes a token for `codemode serve --http` and prints it, once: files keep only its digest.
With --file the entry is added to that file, and a running server takes it up by itself;
without, the entry is printed too. `list` shows a file, `remove` takes a name out of it."""
EXAMPLES = """\
  codemode tokens new ci --rights run,read --session 'ci-*' --file tokens.json
  codemode tokens new desk --rights read,approve
  codemode tokens list --file tokens.json
  codemode tokens remove ci --file tokens.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("new", "list", "remove"))
    parser.add_argument("name", nargs="?", metavar="NAME", help="for logs, and to remove it")
    parser.add_argument(
        "--rights",
        type=_rights,
        default=["run", "read"],
        metavar="R,…",
        help="run, approve, read, admin (run,read)",
    )
    parser.add_argument(
        "--agent", default="main", metavar="NAME", help="for whom it speaks; * for any (main)"
    )
    parser.add_argument(
        "--session",
        action="append",
        metavar="NAME",
        help="a session, or a beginning with *; may be repeated (*)",
    )
    parser.add_argument("--file", metavar="FILE", help="a .json file of tokens; made if it is not there")


def run(options: argparse.Namespace) -> int:
    from codemode.cli.engine_session import explained

    with explained():
        match options.action:
            case "new":
                return _new(options)
            case "list":
                return _list(options)
            case _:
                return _remove(options)


def _new(options: argparse.Namespace) -> int:
    import json

    from codemode.serve.tokens import digest_of, new_secret, read_entries

    if not options.name:
        raise CommandError("name the token: codemode tokens new NAME")
    secret = new_secret()
    entry = {
        "name": options.name,
        "sha256": digest_of(secret),
        "rights": options.rights,
        "agent": options.agent,
        "sessions": options.session or ["*"],
    }
    if options.file is None:
        read_entries("the command line", [entry])
        print(secret)
        print(json.dumps(entry))
        return ExitCode.DONE
    entries = _read(options.file) if os.path.exists(options.file) else []
    read_entries(options.file, [*entries, entry])
    _write(options.file, [*entries, entry])
    print(secret)
    return ExitCode.DONE


def _list(options: argparse.Namespace) -> int:
    from codemode.serve.tokens import read_entries
    from codemode.trajectory.escape import plain

    for token in read_entries(_file(options), _read(_file(options))):
        rights, sessions = ",".join(sorted(token.rights)), ",".join(token.sessions)
        print(plain(f"{token.name}  {rights}  agent {token.agent}  sessions {sessions}"))
    return ExitCode.DONE


def _remove(options: argparse.Namespace) -> int:
    path, entries = _file(options), _read(_file(options))
    left = [entry for entry in entries if entry.get("name") != options.name]
    if len(left) == len(entries):
        raise CommandError(f"{path}: there is no token {options.name!r}", ExitCode.FAILED)
    _write(path, left)
    return ExitCode.DONE


def _file(options: argparse.Namespace) -> str:
    if options.file is None:
        raise CommandError(f"{options.action} needs --file")
    return options.file


def _read(path: str) -> list[dict[str, Any]]:
    from codemode.config import read_document

    document: Any = read_document(path)
    listed: Any = cast("dict[str, Any]", document).get("tokens") if isinstance(document, dict) else document
    if not isinstance(listed, list) or not all(
        isinstance(entry, dict) for entry in cast("list[Any]", listed)
    ):
        raise CommandError(f'{path}: needs a list of objects under "tokens"')
    return cast("list[dict[str, Any]]", listed)


def _write(path: str, entries: list[dict[str, Any]]) -> None:
    """All or nothing, and readable for its owner only."""
    import json

    if not path.endswith(".json"):
        raise CommandError(f"{path}: a file that is written to ends in .json")
    beside = Path(f"{path}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(json.dumps({"tokens": entries}, indent=2) + "\n")
        beside.replace(path)
    except OSError as problem:
        raise CommandError(f"{path}: cannot be written: {problem.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)


def _rights(text: str) -> list[str]:
    known = ("run", "approve", "read", "admin")
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in known:
            raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(known)}")
    return words
