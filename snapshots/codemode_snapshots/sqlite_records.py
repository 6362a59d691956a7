"""Turns rows of the SQLite file into records of a run store. The one place where a row's `Any` ends.

For a row that no store wrote (an edited or damaged file) it raises StoreUnavailable and nothing else.
"""

import contextlib
from collections.abc import Collection, Generator, Iterable
from pathlib import Path
from typing import Any, cast, get_args

import msgspec

from codemode_snapshots.errors import EnvelopeRefused, StoreUnavailable
from codemode_snapshots.label import Label, RunScope
from codemode_snapshots.records import CallView, Ending, How, Listed, Settled, Snapshot, Totals

Row = tuple[Any, ...]
_MAX_NUMBER = 1 << 62  # so that one more still fits a column
_HOWS: tuple[str, ...] = get_args(How)

RUN = (
    "SELECT id, run_id, agent, session, agent_run, tool_call, build_id, created_at_ms, expires_at_ms,"
    " is_stored, size_bytes, number, claimed_by, claimed_at_ms, is_touched, digest, request_id FROM runs"
)
ENDING = "SELECT run_id, agent, session, agent_run, tool_call, how, at_ms, result, digest FROM endings"
CALLS = (
    "SELECT call_id, held_by, take, idempotent, asking, request, decision, settled FROM calls WHERE run = ?"
    " ORDER BY rowid"
)
OUTCOMES = "SELECT call_id, take, outcome FROM calls WHERE run = ? AND settled IS NOT NULL ORDER BY settled"


class StoredRun(msgspec.Struct, frozen=True):
    """A row of `runs`."""

    id: int
    label: Label
    is_stored: bool
    size_bytes: int
    number: int
    claimed_by: str | None
    claimed_at_ms: int
    is_touched: bool
    digest: bytes | None
    request_id: str | None

    def listed(self, holder: str | None, settled: int, asking: int) -> Listed:
        return Listed(self.label, self.size_bytes, self.number, holder, settled, asking)


class RecordReader:
    """Reads rows of one file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def run(self, row: Row) -> StoredRun:
        id, run_id, *names, build_id, created, expires, is_stored, size, number, by, at = row[:-3]
        touched, digest, request = row[-3:]
        with self._checked():
            label = Label(_text(build_id), _text(run_id), _scope(names), _number(created), _number(expires))
            return StoredRun(
                _number(id),
                label,
                bool(is_stored),
                _number(size),
                _number(number),
                None if by is None else _text(by),
                0 if at is None else _number(at),
                bool(touched),
                _blob_or_none(digest),
                None if request is None else _text(request),
            )

    def ending(self, row: Row) -> Ending:
        run_id, *names, how, at_ms, result, digest = row
        with self._checked():
            if how not in _HOWS:
                raise ValueError("no such end")
            scope, kept = _scope(names), _blob_or_none(result)
            return Ending(_text(run_id), scope, cast("How", how), _number(at_ms), kept, _blob_or_none(digest))

    def calls(self, rows: Iterable[Row], dead: Collection[str]) -> tuple[CallView, ...]:
        with self._checked():
            return tuple(
                CallView(
                    _text(call_id),
                    None if by is None else _text(by),
                    _number(take),
                    bool(idempotent),
                    None if asking is None else _text(asking),
                    _blob_or_none(request),
                    _blob_or_none(decision),
                    None if settled is None else _number(settled),
                    settled is None and by in dead,
                )
                for call_id, by, take, idempotent, asking, request, decision, settled in rows
            )

    def outcomes(self, rows: Iterable[Row]) -> tuple[Settled, ...]:
        with self._checked():
            return tuple(
                Settled(_text(call_id), _number(take), _blob(outcome)) for call_id, take, outcome in rows
            )

    def asked(self, row: Row) -> tuple[int, str, str | None, int]:
        """The row of a call, its id, who holds it, and its fence."""
        rowid, call_id, by, take = row
        with self._checked():
            return _number(rowid), _text(call_id), None if by is None else _text(by), _number(take)

    def numbers(self, rows: Iterable[Row]) -> list[tuple[str, int]]:
        """Each a name and a number."""
        with self._checked():
            return [(_text(name), _number(number)) for name, number in rows]

    def decisions(self, rows: Iterable[Row]) -> tuple[tuple[str, bytes], ...]:
        with self._checked():
            return tuple((_text(call_id), _blob(decision)) for call_id, decision in rows)

    def holders(self, rows: Iterable[Row]) -> set[str | None]:
        with self._checked():
            return {None if by is None else _text(by) for (by,) in rows}

    def number(self, row: Row) -> int:
        with self._checked():
            return _number(row[0])

    def snapshot(self, label: Label, row: Row | None) -> Snapshot:
        with self._checked():
            if row is None:
                raise ValueError("a run without a body")
            state, delta, answer = row
            return Snapshot(label, _blob(state), _blob(delta), _blob_or_none(answer))

    def totals(self, row: Row | None) -> Totals:
        with self._checked():
            if row is None:
                raise ValueError("no totals")
            return Totals(_number(row[0]), _number(row[1]))

    @contextlib.contextmanager
    def _checked(self) -> Generator[None]:
        try:
            yield
        except (EnvelopeRefused, ValueError) as error:
            raise StoreUnavailable(
                f"{self._path} holds a row that no store wrote; restore it from a backup"
            ) from error


def scope_values(scope: RunScope) -> tuple[str, str, str, str]:
    return scope.agent, scope.session, scope.agent_run, scope.tool_call


def _scope(names: list[Any]) -> RunScope:
    agent, session, agent_run, tool_call = names
    return RunScope(_text(agent), _text(session), _text(agent_run), _text(tool_call))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")  # noqa: TRY004  one type for every way a row can be wrong
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int) or not -_MAX_NUMBER < value < _MAX_NUMBER:
        raise ValueError("not an integer that a store counts to")
    return value


def _blob(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("not bytes")  # noqa: TRY004  one type for every way a row can be wrong
    return value


def _blob_or_none(value: Any) -> bytes | None:
    return None if value is None else _blob(value)
