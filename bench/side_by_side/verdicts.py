"""Goals and standings, computed from one run's results: which rows are won, which are lost, to whom. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.side_by_side.charts import number
from bench.side_by_side.footprint import IN_HOST
from bench.side_by_side.results import Results
from bench.side_by_side.rows import HOLDS, JUDGED, Row

OURS = "worker"
WHOLE_MEMORY = ("quickjs-wasi", "quickjs-wasi-thread", "quickjs-rs")
# JavaScript peers whose program runs elsewhere than on the host's own thread
AWAY_FROM_HOST = ("quickjs-wasi-thread", "node-permission")
FRESH_VM_IN_PROCESS = ("quickjs-wasi", "quickjs-rs", "quickjs-emscripten", "isolated-vm")
FLAT = 1.5  # times the cost at the smallest size, at the largest


@dataclass(frozen=True, slots=True)
class Goal:
    """`met` is None where something that it compares with is not there."""

    title: str
    met: bool | None
    facts: str


@dataclass(frozen=True, slots=True)
class Standing:
    """The best of the others in a row; `factor` is how much better the better one is."""

    row: Row
    ours: float
    best: str
    best_value: float
    is_won: bool
    factor: float
    best_away: tuple[str, float] | None  # among those whose escape does not land in the host


def standings(results: Results) -> list[Standing]:
    found = (_standing(results, row) for row in JUDGED)
    return [standing for standing in found if standing is not None]


def _standing(results: Results, row: Row) -> Standing | None:
    ours = results.p50(OURS, row.metric)
    others = {
        key: value for key in results.with_role("peer") if (value := results.p50(key, row.metric)) is not None
    }
    if ours is None or not others:
        return None

    def best_of(keys: Sequence[str]) -> str:
        return (max if row.higher_is_better else min)(keys, key=others.__getitem__)

    best = best_of(list(others))
    away = [key for key in others if results.subjects[key].escape not in {IN_HOST, ""}]
    is_won = ours >= others[best] if row.higher_is_better else ours <= others[best]
    high, low = max(ours, others[best]), min(ours, others[best])
    factor = high / low if low > 0 else float("inf")
    best_away = (best_of(away), others[best_of(away)]) if away else None
    return Standing(row, ours, best, others[best], is_won, factor, best_away)


def goals(results: Results) -> list[Goal]:
    return [*_resume_goals(results), *_size_goals(results), _warm_goal(results), *_flat_goals(results)]


def _resume_goals(results: Results) -> list[Goal]:
    found: list[Goal] = []
    for held in HOLDS:
        metric = f"hold {held}.resume_ms"
        away = _ratios(results, metric, AWAY_FROM_HOST)
        found.append(
            _at_least(
                f"resume, {held}: 10 times ahead of JavaScript peers away from the host", away, 10, results
            )
        )
        bare = _ratios(results, metric, ("quickjs-wasi",))
        found.append(_at_least(f"resume, {held}: ahead of bare quickjs-wasi", bare, 1, results))
    return [goal for goal in found if goal.met is not None]


def _size_goals(results: Results) -> list[Goal]:
    metric = "hold tiny.bytes"
    monty = _ratios(results, metric, ("monty",))
    whole = _ratios(results, metric, WHOLE_MEMORY)
    return [
        _at_least("snapshot, tiny: within twice pydantic-monty's", monty, 0.5, results),
        _at_least("snapshot, tiny: 200 times below engines that keep the whole memory", whole, 200, results),
    ]


def _warm_goal(results: Results) -> Goal:
    ratios = _ratios(results, "warm.ms", FRESH_VM_IN_PROCESS)
    return _at_least(
        "1 + 1 through a confined process: below every in-process peer's fresh VM", ratios, 1, results
    )


def _flat_goals(results: Results) -> list[Goal]:
    """From the smallest to the largest number of suspended runs that has such a number."""
    names = {"suspend_ms": "suspending one more", "resume_ms": "resuming one", "kib_per_run": "memory of one"}
    found: list[Goal] = []
    for column, name in names.items():
        points = [
            (point.x, point.cells[column].p50)
            for point in results.growth.get("suspended", [])
            if column in point.cells
        ]
        if len(points) < 2:
            continue
        (first, low), (last, high) = points[0], points[-1]
        facts = f"{number(low)} beside {first:,}, {number(high)} beside {last:,}: {high / low:.2f} times"
        found.append(Goal(f"{name} stays flat to {last:,} suspended runs", high / low <= FLAT, facts))
    return found


def _ratios(results: Results, metric: str, others: Sequence[str]) -> dict[str, float]:
    """How many times this engine's value each of the others' is."""
    ours = results.p50(OURS, metric)
    if not ours:
        return {}
    values = {key: results.p50(key, metric) for key in others}
    return {key: value / ours for key, value in values.items() if value is not None}


def _at_least(title: str, ratios: dict[str, float], wanted: float, results: Results) -> Goal:
    if not ratios:
        return Goal(title, None, "nobody to compare with in this run")
    facts = ", ".join(f"{results.subjects[key].title} {ratio:,.3g} times" for key, ratio in ratios.items())
    return Goal(title, all(ratio >= wanted for ratio in ratios.values()), facts)
