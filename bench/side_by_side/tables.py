"""The tables of the page, as lines of Markdown, each ending with an empty one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bench.side_by_side.charts import number
from bench.side_by_side.footprint import CONFINED, IN_HOST, OWN_PROCESS
from bench.side_by_side.results import Point, Results, SubjectFacts
from bench.side_by_side.rows import FLOOR, JUDGED, MEMORY, Row
from bench.side_by_side.samples import AnyCell, Cell, NoCell
from bench.side_by_side.verdicts import OURS, Goal, is_outside

MET = {True: "met", False: "**not met**", None: "cannot be said"}
ESCAPES = {
    IN_HOST: "**the host's process**",
    OWN_PROCESS: "a process of its own, not confined",
    CONFINED: "a process that the kernel confines",
}
GROWS = {
    "tools": "tools",
    "calls": "calls in sequence",
    "heap": "KiB of text held",
    "suspended": "suspended runs",
}


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    rows = [head, ["---"] * len(head), *body]
    return ["| " + " | ".join(row) + " |" for row in rows] + [""]


def goals(found: Sequence[Goal]) -> list[str]:
    return table(
        ["goal", "", "times codemode's value, or as said"],
        [[goal.title, MET[goal.met], goal.facts] for goal in found],
    )


def subjects(results: Results) -> list[str]:
    body = [
        [facts.title, facts.version or "—", facts.runtime or "—", facts.boundary, _where(facts)]
        for facts in results.subjects.values()
        if facts.role != "floor"
    ]
    return table(["engine", "version", "runs on", "between program and host", "an escape lands in"], body)


def _where(facts: SubjectFacts) -> str:
    if facts.missing:
        return f"missing: {facts.missing}"
    return ESCAPES.get(facts.escape, "—")


def comparison(results: Results, rows: Sequence[Row], against: str = OURS) -> list[str]:
    """A line per engine, a column per row of the comparison; columns that nobody has are left out."""
    keys = results.with_role("ours", "peer", "reference")
    shown = [row for row in rows if any(results.p50(key, row.metric) is not None for key in keys)]
    body: list[list[str]] = []
    for key in keys:
        facts = results.subjects[key]
        cells = [_cell(results, key, row, against) for row in shown]
        if facts.missing:
            cells = ["missing"] * len(shown)
        elif all(cell == "—" for cell in cells):
            continue
        body.append([facts.title, facts.escape or "—", *cells])
    head = [
        "engine",
        "escape lands in",
        *(f"{row.title} ({row.unit})" if row.unit != "ms" else row.title for row in shown),
    ]
    absent = [results.subjects[key].title for key in keys if _lacks_all(results, key, shown)]
    note = [f"Without this: {', '.join(absent)}.", ""] if absent else []
    return [*table(head, body), *note]


def outside(results: Results) -> list[str]:
    """A line per row, a column per engine whose programs run outside the host's process; the best is bold."""
    keys = [key for key in results.with_role("ours", "peer") if is_outside(results, key)]
    body: list[list[str]] = []
    for row in JUDGED:
        found = {key: value for key in keys if (value := results.p50(key, row.metric)) is not None}
        if not found:
            continue
        best = (max if row.higher_is_better else min)(found.values())
        cells = {key: _cell(results, key, row, key) for key in keys}
        marked = [f"**{cell}**" if found.get(key) == best else cell for key, cell in cells.items()]
        body.append([row.title if row.unit == "ms" else f"{row.title} ({row.unit})", *marked])
    return table(["", *(results.subjects[key].title for key in keys)], body)


def costs(results: Results) -> list[str]:
    return table(["of codemode", ""], [[name, number(value)] for name, value in results.costs.items()])


def _lacks_all(results: Results, key: str, rows: Sequence[Row]) -> bool:
    if results.subjects[key].missing:
        return False
    return all(_is_lack(results.cell(key, row.metric)) for row in rows)


def _is_lack(cell: AnyCell | None) -> bool:
    return cell is None or (isinstance(cell, NoCell) and not cell.failed)


def _cell(results: Results, key: str, row: Row, against: str) -> str:
    cell = results.cell(key, row.metric)
    if isinstance(cell, NoCell) and cell.failed:
        return f"**failed**: {cell.reason[:60]}".replace("|", "/")
    if not isinstance(cell, Cell):
        return "—"
    text = f"{number(cell.p50)} / {number(cell.p99)}" if row.unit == "ms" else number(cell.p50)
    base = results.p50(against, row.metric)
    if key == against or not base or not cell.p50:
        return text
    return f"{text} ({number(float(f'{cell.p50 / base:.2g}'))}x)"


def memory(results: Results) -> list[str]:
    (row,) = MEMORY
    body: list[list[str]] = []
    for key in results.with_role("ours", "peer", "reference"):
        facts = results.subjects[key]
        if not facts.missing:
            body.append([facts.title, facts.escape or "—", facts.kept, _cell(results, key, row, OURS)])
    return table(["engine", "escape lands in", "what is kept", "KiB per program"], body)


def floor(results: Results) -> list[str]:
    cells = [results.cell("floor", row.metric) for row in FLOOR]
    body = [
        f"{number(cell.p50)} / {number(cell.p99)} ms" if isinstance(cell, Cell) else "—" for cell in cells
    ]
    return table([row.title for row in FLOOR], [body])


def growth(results: Results, name: str) -> list[str]:
    points = results.growth[name]
    columns = list(points[-1].cells)
    body = [[f"{point.x:,}", *(_point(point, column) for column in columns)] for point in points]
    return table([GROWS[name], *(column.replace("_", " ") for column in columns)], body)


def _point(point: Point, column: str) -> str:
    return number(point.cells[column].p50) if column in point.cells else "—"


def noise(results: Results) -> list[str]:
    """How far apart the rounds were: the median's highest over its lowest round, less one."""
    body: list[list[str]] = []
    for key, cells in results.cells.items():
        spreads = {
            name: cell.spread
            for name, cell in cells.items()
            if isinstance(cell, Cell) and len(cell.rounds) > 1
        }
        if spreads:
            worst = max(spreads, key=spreads.__getitem__)
            title = results.subjects[key].title
            body.append(
                [title, f"{median(spreads.values()) * 100:.0f} %", f"{spreads[worst] * 100:.0f} % ({worst})"]
            )
    head = ["engine", "spread between rounds, median of all numbers", "worst"]
    return table(head, body)
