"""One run's results, as the JSON file holds them: read, write, look up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from bench.side_by_side.samples import AnyCell, Cell, NoCell

FORMAT = 1


class NotResults(Exception):
    """The file is not one of ours."""


class SubjectFacts(Struct):
    """`missing` says why it did not take part; `escape` is where code is that left the VM (footprint.py)."""

    title: str
    role: str
    boundary: str
    version: str = ""
    runtime: str = ""
    missing: str = ""
    escape: str = ""
    kept: str = ""


class Point(Struct):
    """One size of a growth measurement."""

    x: int
    cells: dict[str, Cell]


class Results(Struct):
    machine: dict[str, Any]
    pace: dict[str, Any]
    subjects: dict[str, SubjectFacts] = field(default_factory=dict[str, SubjectFacts])
    busy: list[dict[str, float]] = field(default_factory=list[dict[str, float]])  # before each round
    cells: dict[str, dict[str, AnyCell]] = field(default_factory=dict[str, dict[str, AnyCell]])
    growth: dict[str, list[Point]] = field(default_factory=dict[str, list[Point]])
    costs: dict[str, float] = field(default_factory=dict[str, float])  # of this engine: subjects/costs.py
    format: int = FORMAT

    def p50(self, subject: str, metric: str) -> float | None:
        cell = self.cell(subject, metric)
        return cell.p50 if isinstance(cell, Cell) else None

    def cell(self, subject: str, metric: str) -> AnyCell | None:
        """A reason stands under the work's name alone, for all its metrics."""
        found = self.cells.get(subject, {})
        return found.get(metric, found.get(metric.rpartition(".")[0]))

    def failures(self) -> list[str]:
        return [
            f"{subject}, {metric}: {cell.reason}"
            for subject, cells in self.cells.items()
            for metric, cell in cells.items()
            if isinstance(cell, NoCell) and cell.failed
        ]

    def with_role(self, *roles: str) -> list[str]:
        return [key for key, facts in self.subjects.items() if facts.role in roles]


def write(results: Results, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")


def read(file: Path) -> Results:
    """Raises NotResults."""
    try:
        results = msgspec.json.decode(file.read_bytes(), type=Results)
    except (OSError, msgspec.DecodeError) as error:
        raise NotResults(f"{file} is not a result file of this benchmark: {error}") from error
    if results.format != FORMAT:
        raise NotResults(f"{file} has format {results.format}, this is format {FORMAT}: measure again")
    return results
