"""Two result files: what changed by more than the rounds of each run differ among themselves. Pure."""

from __future__ import annotations

from statistics import median

from bench.side_by_side.results import Results
from bench.side_by_side.samples import Cell

# A change below this is not worth a line, however steady the rounds were.
LEAST_CHANGE = 0.1
# What is taken for noise where there was one round only, which cannot tell.
UNKNOWN_NOISE = 1.0


def compare(before: Results, after: Results) -> str:
    """A table of the changes, largest first; what makes the two incomparable is said before it."""
    changes = sorted(_changes(before, after), key=lambda change: -abs(_distance(change[2])))
    lines = [*_differences(before, after), *_busyness(before, after)]
    shown = [change for change in changes if change[3]]
    lines.append(f"{len(changes)} numbers in both; {len(shown)} changed by more than their noise\n")
    lines.append(f"{'':52}{'before':>12}{'after':>12}{'ratio':>9}{'noise':>9}")
    for name, (old, new), ratio, _ in shown:
        noise = f"±{_noise(old, new) * 100:.0f} %"
        lines.append(f"{name:52}{old.p50:>12.4g}{new.p50:>12.4g}{ratio:>8.2f}x{noise:>9}")
    return "\n".join(lines)


Change = tuple[str, tuple[Cell, Cell], float, bool]


def _changes(before: Results, after: Results) -> list[Change]:
    found: list[Change] = []
    for subject, cells in before.cells.items():
        for metric, old in cells.items():
            new = after.cells.get(subject, {}).get(metric)
            if isinstance(old, Cell) and isinstance(new, Cell) and old.p50 > 0 and new.p50 > 0:
                ratio = new.p50 / old.p50
                is_real = abs(_distance(ratio)) > max(LEAST_CHANGE, _noise(old, new))
                found.append((f"{subject}: {metric}", (old, new), ratio, is_real))
    return found


def _noise(old: Cell, new: Cell) -> float:
    return max(cell.spread if len(cell.rounds) > 1 else UNKNOWN_NOISE for cell in (old, new))


def _distance(ratio: float) -> float:
    """How far from 1, the same for twice as much and half as much."""
    return ratio - 1 if ratio >= 1 else 1 - 1 / ratio


def _differences(before: Results, after: Results) -> list[str]:
    facts = ("cpu", "cores", "kernel", "python", "wasmtime")
    lines = [
        f"not the same {fact}: {before.machine.get(fact)} and {after.machine.get(fact)}"
        for fact in facts
        if before.machine.get(fact) != after.machine.get(fact)
    ]
    for key, old in before.subjects.items():
        new = after.subjects.get(key)
        if new is None or new.missing != old.missing:
            lines.append(f"{old.title} is in only one of the two")
        elif new.version != old.version:
            lines.append(f"{old.title}: {old.version} and {new.version}")
    return lines


def _busyness(before: Results, after: Results) -> list[str]:
    """The same stretch of computing in both runs: where it differs, so does everything else."""
    if not before.busy or not after.busy:
        return []
    old, new = (median(round_["fixed_ms"] for round_ in results.busy) for results in (before, after))
    return [
        f"a fixed stretch of computing took {old:.1f} ms before and {new:.1f} ms after ({new / old:.2f}x)"
    ]
