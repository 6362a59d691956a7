"""Turns rows of the SQLite file into the types of the store and back. The one place where a row's `Any` ends.

For a row that no store wrote (an edited or damaged file) it raises StoreUnavailable and nothing else.
"""

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

from codemode_snapshots.errors import EnvelopeRefused, StoreUnavailable
from codemode_snapshots.journal import Recorded
from codemode_snapshots.label import Label, RunScope
from codemode_snapshots.owner import Owner
from codemode_snapshots.store import RunMeta, Tombstone, Totals

Row = tuple[Any, ...]

SELECT_RUNS = (
    "SELECT run_id, agent, session, agent_run, tool_call, build_id, created_at_ms, expires_at_ms, size_bytes,"
    " saved_by, claimed_by, claimed_at_ms,"
    " (SELECT count(*) FROM settlements WHERE run = runs.id AND kind = 'call') FROM runs"
)
SELECT_STONES = "SELECT run_id, agent, session, agent_run, tool_call, ending, at_ms FROM tombstones"


def decode_run(path: Path, row: Row) -> RunMeta:
    (
        run_id,
        agent,
        session,
        agent_run,
        tool_call,
        build_id,
        created,
        expires,
        size,
        saved,
        claimed,
        at,
        settled,
    ) = row
    with _damaged(path):
        return RunMeta(
            Label(
                _text(build_id),
                _text(run_id),
                RunScope(_text(agent), _text(session), _text(agent_run), _text(tool_call)),
                _number(created),
                _number(expires),
            ),
            _number(size),
            Owner.decode(_text(saved)),
            None if claimed is None else Owner.decode(_text(claimed)),
            None if at is None else _number(at),
            _number(settled),
        )


def decode_stone(path: Path, row: Row) -> Tombstone:
    run_id, agent, session, agent_run, tool_call, ending, at_ms = row
    with _damaged(path):
        if ending not in ("expired", "interrupted", "aborted"):
            raise ValueError("no such ending")
        scope = RunScope(_text(agent), _text(session), _text(agent_run), _text(tool_call))
        return Tombstone(_text(run_id), scope, ending, _number(at_ms))


def decode_settlement(path: Path, row: Row) -> Recorded:
    seq, kind, call_id, payload = row
    with _damaged(path):
        if kind not in ("call", "decision"):
            raise ValueError("no such kind")
        return Recorded(_number(seq), kind, _text(call_id), _blob(payload))


def decode_envelope(path: Path, row: Row | None) -> bytes:
    with _damaged(path):
        if row is None:
            raise ValueError("a run without a body")
        return _blob(row[0])


def decode_totals(path: Path, row: Row | None) -> Totals:
    with _damaged(path):
        if row is None:
            raise ValueError("no totals")
        return Totals(_number(row[0]), _number(row[1]))


def scope_values(scope: RunScope) -> tuple[str, str, str, str]:
    return scope.agent, scope.session, scope.agent_run, scope.tool_call


@contextlib.contextmanager
def _damaged(path: Path) -> Generator[None]:
    try:
        yield
    except (EnvelopeRefused, ValueError) as error:
        raise StoreUnavailable(f"{path} holds a row that no store wrote; restore it from a backup") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")  # noqa: TRY004  one type for every way a row can be wrong
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError("not an integer")  # noqa: TRY004  one type for every way a row can be wrong
    return value


def _blob(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("not bytes")  # noqa: TRY004  one type for every way a row can be wrong
    return value
