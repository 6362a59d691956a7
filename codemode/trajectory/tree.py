"""Draws a trajectory as text: a row per call, nested calls under their parent, and bars on a time axis.

Every line fits the width, and nothing a program or a server wrote reaches the terminal unescaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from codemode.trajectory.escape import fit, plain

if TYPE_CHECKING:
    from codemode.trajectory.shapes import Content, ControlCall, NestedCall, SessionTrajectory, Trajectory

_NARROWEST = 60
_NARROW = 90
_TIME_COLUMNS = 9


class _Row(NamedTuple):
    label: str
    status: str = ""
    start: int | None = None
    end: int | None = None  # None with a start: not over
    mark: str = "="


class _Axis(NamedTuple):
    origin: int
    length: int  # milliseconds, at least one
    columns: int


class _Columns(NamedTuple):
    label: int
    status: int
    bar: int


def draw_session(session: SessionTrajectory, width: int) -> str:
    head = f"session {session.session}  agent {session.agent}  {len(session.runs)} runs"
    runs = [f"\n{draw_run(run, width)}" for run in session.runs]
    return "\n".join([fit(head, max(width, _NARROWEST)).rstrip(), *runs])


def draw_run(run: Trajectory, width: int, now_ms: int | None = None) -> str:
    """With `now_ms`, calls that are not over are drawn as lasting until now."""
    width = max(width, _NARROWEST)
    head = f"{run.run_id}  {run.status}{_because(run.code)}  agent {run.agent}  session {run.session}"
    lines = [fit(head, width).rstrip()]
    if run.is_partial:
        return "\n".join([*lines, "(its calls are not known any more)"])
    rows = list(_rows(run))
    times = [time for row in rows for time in (row.start, row.end) if time is not None]
    times += [] if now_ms is None else [now_ms]
    columns = _columns(width)
    axis = _Axis(run.started_at_ms, max(1, max(times, default=0) - run.started_at_ms), columns.bar)
    lines.append(" " * (width - columns.bar) + "0" + duration(axis.length).rjust(columns.bar - 1))
    for row in rows:
        cells = [fit(row.label, width)]
        if row.start is not None:
            cells = [
                fit(row.label, columns.label),
                fit(row.status, columns.status),
                _time(row, now_ms),
                _bar(row, axis),
            ]
        lines.append(" ".join(cells).rstrip())
    return "\n".join(lines)


def duration(ms: float) -> str:
    """At most nine columns, whatever a file says."""
    for limit, divisor, unit in ((1000, 1, "ms"), (60_000, 1000, "s"), (3_600_000, 60_000, "min")):
        if ms < limit:
            amount = ms / divisor
            return f"{amount:.0f} {unit}" if divisor == 1 else f"{amount:.1f} {unit}"
    hours = ms / 3_600_000
    return f"{hours:.1f} h" if hours < 10_000 else "> 9999 h"


def _columns(width: int) -> _Columns:
    """Shares the width between label, status, time and bar, with a space after each of the first three."""
    status, bar = (14, width // 4) if width < _NARROW else (22, width // 3)
    return _Columns(width - status - bar - _TIME_COLUMNS - 3, status, bar)


def _rows(run: Trajectory) -> Iterator[_Row]:
    for call in run.calls:
        yield _Row(_control(call), _outcome(call), call.started_at_ms, call.ended_at_ms)
        if call.resumed is not None:
            yield _Row(f"|  restored in {call.resumed.restore_us} us")
        notes = list(_notes(call))
        for index, nested in enumerate(call.calls):
            is_last = index == len(call.calls) - 1 and not notes
            branch = "`- " if is_last else "|- "
            label = branch + _nested(nested)
            yield _Row(label, _nested_status(nested), nested.started_at_ms, nested.ended_at_ms, "-")
        for index, text in enumerate(notes):
            yield _Row(("`- " if index == len(notes) - 1 else "|- ") + text)
        if call is run.calls[0] and run.dropped_control_calls:
            yield _Row(f"(... {run.dropped_control_calls} calls of wait are not kept)")


def _control(call: ControlCall) -> str:
    size = f" {call.input['bytes']} B" if call.input and "bytes" in call.input else ""
    kind = f" {call.tool_input_kind}" if call.name == "exec" else ""
    return f"{call.name}{kind}{size}{_value(call.input)}"


def _outcome(call: ControlCall) -> str:
    return f"{call.status}{_because(call.reason or call.code)}"


def _notes(call: ControlCall) -> Iterator[str]:
    if call.more_calls:
        yield f"and {call.more_calls} more calls"
    if call.output is not None:
        values = "" if call.output.values is None else f": {_json(call.output.values)}"
        yield f"output: {call.output.items} items, {call.output.bytes} B{values}"
    if call.suspended is not None:
        yield f"suspended in {call.suspended.bytes} B, {call.suspended.capture_us} us"
    if call.value is not None:
        yield f"value: {call.value.get('type', '')}, {call.value.get('bytes', 0)} B{_value(call.value)}"


def _nested(call: NestedCall) -> str:
    name = call.tool or call.name
    method = "" if call.method == "call" else f"{call.method} "
    return f"{method}{name}{_value(call.input)}"


def _nested_status(call: NestedCall) -> str:
    status = f"{call.status}{_because(call.error if call.error != call.status else '')}"
    if call.approval is None or call.approval.approved is False:
        return status
    return f"{status}, {'approved' if call.approval.approved else 'asks for approval'}"


def _because(why: str) -> str:
    return f": {why}" if why else ""


def _value(content: Content | None) -> str:
    return f" {_json(content['value'])}" if content and "value" in content else ""


def _json(value: object) -> str:
    return plain(msgspec.json.encode(value).decode())


def _time(row: _Row, now_ms: int | None) -> str:
    end = now_ms if row.end is None else row.end
    if row.start is None:
        return " " * _TIME_COLUMNS
    text = "..." if end is None else duration(max(0, end - row.start))
    return text.rjust(_TIME_COLUMNS)


def _bar(row: _Row, axis: _Axis) -> str:
    """A bar at least one column wide and never outside the axis, whatever times a file holds."""
    start = 0 if row.start is None else row.start - axis.origin
    end = axis.length if row.end is None else row.end - axis.origin
    first = min(axis.columns - 1, max(0, start * axis.columns // axis.length))
    past = min(axis.columns, max(first + 1, math.ceil(end * axis.columns / axis.length)))
    bar = " " * first + row.mark * (past - first)
    if row.end is None:
        bar = bar[:-1] + ">"
    return bar
