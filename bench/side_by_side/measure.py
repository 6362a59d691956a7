"""A whole run: install what is missing, go through the rounds, look at processes and growth."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict
from typing import Any

from bench.side_by_side import footprint, machine, peers
from bench.side_by_side.lineup import LINEUP, PROJECT, Subject
from bench.side_by_side.results import Point, Results, SubjectFacts
from bench.side_by_side.rounds import Collected, run_round
from bench.side_by_side.samples import NoCell, summarise
from bench.side_by_side.session import SubjectFailed
from bench.side_by_side.tables import GROWS
from bench.side_by_side.verdicts import OURS
from bench.side_by_side.works import Pace

GROWTH_PATIENCE_SECONDS = 600


def measure(pace: Pace) -> Results:
    results = Results(machine.describe_machine(), asdict(pace))
    _compile_ours()
    present = [subject for subject in LINEUP if _prepare(results, subject)]
    collected = Collected()
    began = time.monotonic()
    for number in range(pace.rounds):
        results.busy.append(machine.busyness())
        label = f"round {number + 1} of {pace.rounds}"
        run_round(collected, present, number, pace, lambda work, label=label: _tell(f"{label}: {work}"))
    results.cells = collected.cells()
    for subject in present:
        if subject.role != "floor":
            _tell(f"memory and isolation: {subject.title}")
            _inspect(results, subject)
    _tell("processor time and memory of a run")
    cost(results, pace)
    for series in GROWS:
        _tell(f"growth: {GROWS[series]}")
        grow(results, series, pace)
    results.machine["seconds"] = round(time.monotonic() - began)
    _tell("")
    return results


def _compile_ours() -> None:
    """Bytecode, as an installed package has it: that of the peers was made when they were installed, and ours
    is nowhere if PYTHONDONTWRITEBYTECODE is set."""
    folders = ("codemode", "runtime/codemode_runtime", "snapshots/codemode_snapshots", "bench")
    command = [sys.executable, "-m", "compileall", "-q", "-x", r"[/\\]\.", *folders]
    subprocess.run(command, cwd=PROJECT, check=True)


def _prepare(results: Results, subject: Subject) -> bool:
    _tell(f"installing: {subject.title}")
    missing = peers.install(subject)
    facts = SubjectFacts(subject.title, subject.role, subject.boundary, missing=missing or "")
    results.subjects[subject.key] = facts
    if missing is None:
        facts.version = peers.version_of(subject)
        facts.runtime = peers.runtime_of(subject)
    return missing is None


def _inspect(results: Results, subject: Subject) -> None:
    facts, cells = results.subjects[subject.key], results.cells.setdefault(subject.key, {})
    try:
        facts.escape = footprint.escape_lands_in(subject)
        cells["memory.kib"], facts.kept = footprint.memory_per_run(subject)
    except SubjectFailed as failure:
        cells["memory"] = NoCell(str(failure), failed=True)


def grow(results: Results, series: str, pace: Pace) -> None:
    """In a process of its own: what it holds at the end is given back by its death."""
    found = _printed(results, f"growth, {series}", ["growth", series], pace)
    if found is not None:
        results.growth[series] = [_point(point) for point in found]


def cost(results: Results, pace: Pace) -> None:
    results.costs = _printed(results, "costs", ["costs"], pace) or {}


def _printed(results: Results, name: str, subject: list[str], pace: Pace) -> Any:
    """What a script of this engine alone prints; None, and a cell that says so, if it fails."""
    module, *arguments = subject
    flags = ["--quick"] if pace.is_quick else []
    command = [sys.executable, "-m", f"bench.side_by_side.subjects.{module}", *arguments, *flags]
    try:
        done = subprocess.run(
            command, cwd=PROJECT, capture_output=True, text=True, timeout=GROWTH_PATIENCE_SECONDS, check=True
        )
    except subprocess.SubprocessError as error:
        words = str(getattr(error, "stderr", "") or error).strip().splitlines()
        results.cells.setdefault(OURS, {})[name] = NoCell(words[-1][:300], failed=True)
        return None
    return json.loads(done.stdout)


def _point(samples: dict[str, Any]) -> Point:
    size = samples.pop("x")
    return Point(size, {column: summarise([values]) for column, values in samples.items() if values})


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
