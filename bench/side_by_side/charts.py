"""Plots as SVG text: bars and lines on logarithmic axes. Pure; this engine in colour, the others in grey."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

OURS, OTHERS, INK, GRID = "#1f6feb", "#9aa4af", "#24292f", "#d8dee4"
SERIES = (OURS, "#d1570a", "#2da44e", "#8250df")
FONT = 'font-family="system-ui, sans-serif" font-size="12"'


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    is_ours: bool


@dataclass(frozen=True, slots=True)
class Line:
    label: str
    points: tuple[tuple[float, float], ...]


def bars(title: str, rows: Sequence[Bar], unit: str) -> str:
    """Shortest first. The axis is logarithmic: each grid line is ten times the one before."""
    left, width, step = 210, 420, 24
    rows = sorted(rows, key=lambda row: row.value)
    low, high = _decades([row.value for row in rows])
    height = 60 + step * len(rows)
    parts = [_text(8, 20, title, bold=True)]
    for exponent in range(low, high + 1):
        x = left + width * (exponent - low) / (high - low)
        parts.append(_stroke(x, 34, x, height - 22))
        parts.append(_text(x, height - 6, f"{number(10.0**exponent)} {unit}", anchor="middle"))
    for at, row in enumerate(rows):
        y = 38 + step * at
        length = width * (math.log10(row.value) - low) / (high - low)
        colour = OURS if row.is_ours else OTHERS
        parts.append(_text(left - 8, y + 13, row.label, anchor="end", bold=row.is_ours))
        length = max(length, 1)
        shape = f'x="{left}" y="{y}" width="{length:.1f}" height="{step - 7}"'
        parts.append(f'<rect {shape} fill="{colour}"/>')
        parts.append(_text(left + length + 5, y + 13, number(row.value)))
    return _document(left + width + 80, height, parts)


@dataclass(frozen=True, slots=True)
class _Plane:
    """Where a point lies; both axes run over whole powers of ten."""

    x: tuple[int, int]
    y: tuple[int, int]
    left: int = 70
    top: int = 36
    width: int = 420
    height: int = 220

    def place(self, x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - self.x[0]) / (self.x[1] - self.x[0])
        up = (math.log10(y) - self.y[0]) / (self.y[1] - self.y[0])
        return self.left + self.width * across, self.top + self.height * (1 - up)

    def grid(self) -> list[str]:
        right, bottom = self.left + self.width, self.top + self.height
        parts: list[str] = []
        for exponent in range(self.x[0], self.x[1] + 1):
            x, _ = self.place(10.0**exponent, 10.0 ** self.y[0])
            parts.append(_stroke(x, self.top, x, bottom))
            parts.append(_text(x, bottom + 16, number(10.0**exponent), anchor="middle"))
        for exponent in range(self.y[0], self.y[1] + 1):
            _, y = self.place(10.0 ** self.x[0], 10.0**exponent)
            parts.append(_stroke(self.left, y, right, y))
            parts.append(_text(self.left - 6, y + 4, number(10.0**exponent), anchor="end"))
        return parts


def lines(title: str, series: Sequence[Line], x_unit: str, y_unit: str) -> str:
    """A cost that does not grow is level; one that grows in proportion climbs a decade per decade."""
    xs = [x for line in series for x, _ in line.points]
    ys = [y for line in series for _, y in line.points]
    plane = _Plane(_decades(xs), _decades(ys))
    right, bottom = plane.left + plane.width, plane.top + plane.height
    parts = [_text(8, 16, title, bold=True), *plane.grid(), _text(8, 31, y_unit)]
    parts.append(_text(plane.left + plane.width / 2, bottom + 34, x_unit, anchor="middle"))
    for at, line in enumerate(series):
        colour = SERIES[at % len(SERIES)]
        dots = [plane.place(x, y) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in dots]
        parts.append(_text(right + 10, plane.top + 14 + 18 * at, line.label, fill=colour, bold=True))
    return _document(right + 80, bottom + 44, parts)


def number(value: float) -> str:
    """Three digits, no exponent, thousands apart."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):.6f}".rstrip("0").rstrip(".")


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Powers of ten around the values, at least one decade apart."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", bold: bool = False, fill: str = INK
) -> str:  # fmt: skip
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}"{weight}>{escape(text)}</text>'


def _stroke(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{GRID}"/>'


def _document(width: float, height: float, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    ground = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {FONT}>\n{ground}\n{body}\n</svg>\n'
