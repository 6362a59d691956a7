"""Which plots there are: bars for what engines are chosen by, lines for growth. Drawn by charts.py. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.side_by_side import charts
from bench.side_by_side.charts import Bar, Line
from bench.side_by_side.results import Point, Results
from bench.side_by_side.rows import Row


@dataclass(frozen=True, slots=True)
class Growth:
    title: str
    x_unit: str
    y_unit: str
    columns: dict[str, str]


BARS = {
    "warm": Row("warm.ms", "1 + 1 in a fresh VM, median"),
    "resume": Row("hold tiny.resume_ms", "resume a tiny program from bytes, median"),
    "bytes": Row("hold tiny.bytes", "bytes of a suspended tiny program", "bytes"),
}
_BOTH_WAYS = {"suspend_ms": "suspend", "resume_ms": "resume"}
LINES = {
    "tools": Growth("One exec with one call, by number of tools", "tools", "ms", {"exec_ms": "exec"}),
    "calls": Growth("One call, by calls in sequence", "calls", "ms per call", {"ms_per_call": "call"}),
    "heap": Growth("Suspending and resuming, by live data", "KiB of text held", "ms", _BOTH_WAYS),
    "suspended": Growth("One more suspended run, by those there are", "suspended runs", "ms", _BOTH_WAYS),
}


def draw(results: Results) -> dict[str, str]:
    """SVG by name; a plot without anything to show is left out."""
    bars = {name: _bars(results, row) for name, row in BARS.items()}
    lines = {f"growth-{name}": _lines(results.growth.get(name, []), plot) for name, plot in LINES.items()}
    return {name: svg for name, svg in (bars | lines).items() if svg}


def _bars(results: Results, row: Row) -> str:
    found: list[Bar] = []
    for key in results.with_role("ours", "peer", "reference"):
        value = results.p50(key, row.metric)
        if value:
            facts = results.subjects[key]
            found.append(Bar(facts.title, value, facts.role == "ours"))
    return charts.bars(row.title, found, row.unit) if found else ""


def _lines(points: Sequence[Point], plot: Growth) -> str:
    """Nothing held has no place on a logarithmic axis."""
    series = [
        Line(
            label,
            tuple(
                (point.x, point.cells[name].p50) for point in points if point.x > 0 and name in point.cells
            ),
        )
        for name, label in plot.columns.items()
    ]
    if any(len(line.points) < 2 for line in series):
        return ""
    return charts.lines(plot.title, series, plot.x_unit, plot.y_unit)
