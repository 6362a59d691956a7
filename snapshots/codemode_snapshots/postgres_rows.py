"""Turns rows of PostgreSQL into the records of the store. The one place where a row's `Any` ends.

For a row that no store wrote it raises StoreUnavailable and nothing else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from codemode_snapshots.errors import EnvelopeRefused, StoreUnavailable
from codemode_snapshots.label import Label, RunScope
from codemode_snapshots.postgres_connections import Row
from codemode_snapshots.records import (
    CallView,
    Claim,
    Claimed,
    DecidedElsewhere,
    DecidedHere,
    Ending,
    Hold,
    Listed,
    Settled,
    Snapshot,
    View,
)

_RUN = slice(0, 16)
_CALLS = slice(16, 25)
_ENDING = slice(25, 34)
_WON = slice(34, 39)
_DECIDED = slice(25, 30)


def read_look(row: Row) -> View | Ending | None:
    with _whole():
        if row[0] is None:
            return _ending(row[_ENDING])
        return _over(row) or _view(row)


def read_claim(row: Row, node: str) -> Claimed | View | Ending | None:
    """A View if the run was not handed out."""
    with _whole():
        number, delta, outcomes, taken_ids, takes = row[_WON]
        if number is None:
            return read_look(row)
        label, calls = _label(row), _calls(row[_CALLS])
        taken: dict[str, int] = dict(zip(taken_ids or (), takes or (), strict=True))
        ready = [
            (call.settled, Settled(call.call_id, call.take, outcome))
            for call, outcome in zip(calls, outcomes or (), strict=True)
            if call.settled is not None and outcome is not None
        ]
        state, answer = row[13:15]
        return Claimed(
            Claim(label.run_id, node, number),
            Snapshot(label, state, delta, answer),
            # the calls are read as they were before this statement took some of them over
            tuple(_held(call, node, taken.get(call.call_id, 0)) for call in calls),
            tuple(settled for _, settled in sorted(ready, key=lambda one: one[0])),
            tuple(Hold(label.run_id, call_id, node, take) for call_id, take in sorted(taken.items())),
        )


def read_decision(row: Row, decision: bytes) -> tuple[DecidedHere | DecidedElsewhere, int]:
    """What was decided, and by how many bytes the run has grown."""
    with _whole():
        call_id, held_by, take, ran, grown = row[_DECIDED]
        hold = Hold(row[0], call_id, held_by, take)
        if ran:
            return DecidedElsewhere(hold), grown
        view = _view(row)
        calls = tuple(
            call
            if call.call_id != call_id
            else replace(_held(call, held_by, take), asking=None, decision=decision)
            for call in view.calls
        )
        return DecidedHere(hold, replace(view, calls=calls, size_bytes=view.size_bytes + grown)), grown


def read_listed(row: Row) -> Listed:
    with _whole():
        return Listed(_label(row), *row[8:13])


def read_expired(row: Row) -> Ending | None:
    """None for a run that was only reserved, and is forgotten."""
    with _whole():
        return None if row[5] is None else _ending((*row[:7], None, row[7]))


def read_settled(rows: Sequence[Row]) -> tuple[Settled, ...]:
    with _whole():
        return tuple(Settled(*row) for row in rows)


@contextlib.contextmanager
def _whole() -> Generator[None]:
    try:
        yield
    except (EnvelopeRefused, ValueError, TypeError) as error:
        raise StoreUnavailable(
            "the database holds a row that no store wrote; see its codemode schema"
        ) from error


def _label(row: Row) -> Label:
    run_id, agent, session, agent_run, tool_call, build_id, created_at_ms, expires_at_ms = row[:8]
    return Label(
        build_id, run_id, RunScope(agent, session, agent_run, tool_call), created_at_ms, expires_at_ms
    )


def _view(row: Row) -> View:
    *_, size_bytes, number, holder, _how, _now, state, answer, digest = row[_RUN]
    return View(_label(row), size_bytes, number, holder, state, _calls(row[_CALLS]), answer, digest)


def _over(row: Row) -> Ending | None:
    how, now_ms = row[11:13]
    return None if how is None else _ending((*row[:5], how, now_ms, None, row[15]))


def _ending(row: Row) -> Ending | None:
    run_id, agent, session, agent_run, tool_call, how, at_ms, result, digest = row
    if run_id is None:
        return None
    if how not in ("completed", "failed", "expired", "interrupted", "aborted"):
        raise ValueError("no such ending")
    return Ending(run_id, RunScope(agent, session, agent_run, tool_call), how, at_ms, result, digest)


def _calls(arrays: Sequence[Any]) -> tuple[CallView, ...]:
    if arrays[0] is None:
        return ()
    rows: Iterable[Row] = zip(*arrays, strict=True)
    return tuple(CallView(*row[:8], is_orphaned=bool(row[8])) for row in rows)


def _held(call: CallView, node: str, take: int) -> CallView:
    if not take:
        return call
    return replace(call, held_by=node, take=take, asking=None, is_orphaned=False)
