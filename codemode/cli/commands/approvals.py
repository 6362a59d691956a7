"""`codemode approvals`: what waits for somebody's yes, in a store or at a running server."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from codemode.cli.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from codemode.cli.remote import Remote
    from codemode.engine import Engine

DESCRIPTION = """\
Lists the calls that wait for somebody's yes, with their arguments; approves or denies one;
`watch` shows each as it is asked for. With --server it acts on a running `codemode serve
--http`, with the token in --token or CODEMODE_HTTP_TOKEN; there the program goes on. With
--store it looks into the store itself: `codemode runs approve` decides there, as that needs
the run's tools."""
EXAMPLES = """\
  codemode approvals --server http://127.0.0.1:8000
  codemode approvals approve apr_1234 --server http://127.0.0.1:8000
  codemode approvals deny apr_1234 --reason 'too expensive' --server http://127.0.0.1:8000
  codemode approvals watch --server http://127.0.0.1:8000
  codemode approvals --store runs.sqlite
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = ("list", "approve", "deny", "watch")
    parser.add_argument("action", nargs="?", default="list", choices=actions, help="default: list")
    parser.add_argument("approval", nargs="?", metavar="APPROVAL", help="its id, for approve and deny")
    parser.add_argument("--reason", default="", metavar="TEXT", help="for deny: what the program is told")
    parser.add_argument("--value", metavar="JSON", help="for approve: the answer for a tool that asked")
    parser.add_argument("--session", metavar="NAME", help="only of this session")
    parser.add_argument("--json", action="store_true", help="print JSON")
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--server", metavar="URL", help="a running `codemode serve --http`")
    place.add_argument("--store", metavar="PATH", help="a store's file, or a postgresql:// URL")
    parser.add_argument("--token", metavar="TOKEN", help="for --server (else CODEMODE_HTTP_TOKEN)")


def run(options: argparse.Namespace) -> int:
    from codemode.cli.engine_session import explained

    with explained():
        if options.server is None:
            if options.action != "list":
                raise CommandError(
                    f"{options.action} acts on a running server: give --server;"
                    " in a store `codemode runs approve RUN` and `deny` decide"
                )
            return _list_store(options)
        from codemode.cli.remote import Remote

        server = Remote(options.server, options.token)
        match options.action:
            case "list":
                return _print(_listed(server, options.session), options)
            case "watch":
                return _watch(server, options)
            case _:
                return _decide(server, options)


def _list_store(options: argparse.Namespace) -> int:
    from codemode.cli.commands.runs import look_at_store

    found: list[dict[str, Any]] = []

    async def action(engine: Engine, _: Any, given: argparse.Namespace) -> int:
        found.extend(one.to_dict() for one in await engine.approvals(given.session))
        return ExitCode.DONE

    options.quiet = False
    code = look_at_store(options, action)  # what is printed meanwhile goes to stderr
    return code or _print(found, options)


def _listed(server: Remote, session: str | None) -> list[dict[str, Any]]:
    from urllib.parse import quote

    return server.get("/v1/approvals?limit=200" + (f"&session={quote(session)}" if session else ""))[
        "approvals"
    ]


def _print(found: list[dict[str, Any]], options: argparse.Namespace) -> int:
    import json

    if options.json:
        print(json.dumps(found))
    elif not found:
        print("nothing waits for an approval")
    for one in () if options.json else found:
        _show(one)
    return ExitCode.DONE


def _show(one: dict[str, Any]) -> None:
    from codemode.trajectory.escape import plain

    print(plain(f"{one['id']}  {one['summary']}  ({one['agent']}/{one['session']}, {one['runId']})"))
    for line in one["lines"]:
        print(f"    {plain(line)}")


def _watch(server: Remote, options: argparse.Namespace) -> int:
    """Those that are open first, then each as it comes; until the server ends, or Ctrl-C."""
    import json

    stream = server.events("approval_opened,approval_closed,hello")
    shown: set[str] = set()
    for event in stream:
        if event["type"] in ("hello", "approval_opened"):
            for one in _listed(server, options.session):
                if one["id"] not in shown:
                    shown.add(one["id"])
                    print(json.dumps(one), flush=True) if options.json else _show(one)
        elif event["type"] == "approval_closed" and event["approvalId"] in shown:
            shown.discard(event["approvalId"])
            print(
                json.dumps(event) if options.json else f"{event['approvalId']}  {event['outcome']}",
                flush=True,
            )
    return ExitCode.DONE


def _decide(server: Remote, options: argparse.Namespace) -> int:
    import json
    from urllib.parse import quote

    found = _listed(server, options.session)
    wanted = [one for one in found if options.approval in (None, one["id"])]
    if len(wanted) != 1:
        told = "there is no such open approval" if options.approval or not found else "name one of them"
        raise CommandError(f"{told}; `codemode approvals --server …` lists them", ExitCode.FAILED)
    one = wanted[0]
    body: dict[str, Any] = {name: one[name] for name in ("agent", "session")}
    body |= {"agentRun": one["agentRun"]} if one["agentRun"] else {}
    if options.action == "approve":
        body["argumentsSha256"] = one["argumentsSha256"]  # what was listed is what is approved
        if options.value is not None:
            try:
                body["value"] = json.loads(options.value)
            except ValueError:
                raise CommandError(f"--value {options.value}: must be JSON") from None
    else:
        body["reason"] = options.reason
    path = f"/v1/runs/{quote(one['runId'], safe='')}/approvals/{quote(one['id'], safe='')}/{options.action}"
    server.post(path, body)
    print(f"{one['id']}  {'approved' if options.action == 'approve' else 'denied'}")
    return ExitCode.DONE
