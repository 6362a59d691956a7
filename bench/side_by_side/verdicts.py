"""Goals and standings, computed from one run's results: which rows are won, which are lost, to whom. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.side_by_side.charts import number
from bench.side_by_side.footprint import IN_HOST
from bench.side_by_side.results import Results
from bench.side_by_side.rows import HOLDS, JUDGED, Row
from bench.side_by_side.samples import Cell

OURS = "worker"
WHOLE_MEMORY = ("quickjs-wasi", "quickjs-wasi-thread", "quickjs-rs")
# JavaScript peers whose program runs elsewhere than on the host's own thread
AWAY_FROM_HOST = ("quickjs-wasi-thread", "node-permission")
FRESH_VM_IN_PROCESS = ("quickjs-wasi", "quickjs-rs", "quickjs-emscripten", "isolated-vm")
AHEAD_OF_MONTY = {
    "1 + 1": "warm.ms",
    "one call": "one.ms",
    "16 calls at once": "par16.ms",
    "suspend, tiny": "hold tiny.suspend_ms",
    "resume, tiny": "hold tiny.resume_ms",
}
# of subjects/costs.py, with the most that each may be
COSTS = {
    "host, one call": ("processor time of the host for a run with one call, workers used again", 0.35),
    "worker, single-use": ("processor time of a worker from fork to exit", 0.6),
}
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


def standings(results: Results, ours: str = OURS, *, outside: bool = False) -> list[Standing]:
    """`outside`: among engines whose programs do not run in the host's process."""
    found = (_standing(results, row, ours, outside) for row in JUDGED)
    return [standing for standing in found if standing is not None]


def is_outside(results: Results, key: str) -> bool:
    return results.subjects[key].escape not in {IN_HOST, ""}


def _standing(results: Results, row: Row, key: str, outside: bool) -> Standing | None:
    ours = results.p50(key, row.metric)
    peers = [peer for peer in results.with_role("peer") if not outside or is_outside(results, peer)]
    others = {peer: value for peer in peers if (value := results.p50(peer, row.metric)) is not None}
    if ours is None or not others:
        return None

    def best_of(keys: Sequence[str]) -> str:
        return (max if row.higher_is_better else min)(keys, key=others.__getitem__)

    best = best_of(list(others))
    away = [peer for peer in others if is_outside(results, peer)]
    is_won = ours >= others[best] if row.higher_is_better else ours <= others[best]
    high, low = max(ours, others[best]), min(ours, others[best])
    factor = high / low if low > 0 else float("inf")
    best_away = (best_of(away), others[best_of(away)]) if away else None
    return Standing(row, ours, best, others[best], is_won, factor, best_away)


def goals(results: Results) -> list[Goal]:
    return [
        *_monty_goals(results),
        *_own_goals(results),
        *_state_goals(results),
        *_resume_goals(results),
        *_size_goals(results),
        _warm_goal(results),
        *_kernel_goals(results),
        *_flat_goals(results),
    ]


def _monty_goals(results: Results) -> list[Goal]:
    """Beside the peer that has processes too: one for each leg, and processes used again within a session."""
    found: list[Goal] = []
    for title, metric in AHEAD_OF_MONTY.items():
        for key, how in ((OURS, ""), ("session", ", within a session")):
            ratios = _ratios(results, metric, ("monty",), key)
            found.append(_at_least(f"{title}{how}: ahead of pydantic-monty", ratios, 1, results))
    cold = _ratios(results, "cold.ms", ("monty",))
    found.append(_at_least("cold start: at most twice pydantic-monty's", cold, 0.5, results))
    for key, how, share in ((OURS, "", 0.8), ("session", ", within a session", 1.0)):
        ours, theirs = results.p50(key, "crowd 8.per_second"), results.p50("monty", "crowd 8.per_second")
        if ours is not None and theirs:
            title = f"8 callers{how}: at least {share:g} times pydantic-monty's runs a second"
            facts = f"{number(ours)} runs/s against {number(theirs)}: {ours / theirs:.2f} times"
            found.append(Goal(title, ours >= share * theirs, facts))
    return [goal for goal in found if goal.met is not None]


def _own_goals(results: Results) -> list[Goal]:
    found: list[Goal] = []
    calls, cell = results.p50(OURS, "seq100.ms"), results.cell(OURS, "warm.ms")
    if calls is not None:
        found.append(Goal("100 calls in sequence: at most 9 ms", calls <= 9, f"{number(calls)} ms"))
    if isinstance(cell, Cell):
        facts = f"p50 {number(cell.p50)}, p99 {number(cell.p99)}: {cell.p99 / cell.p50:.1f} times"
        found.append(Goal("1 + 1: p99 under five times p50", cell.p99 < 5 * cell.p50, facts))
    for name, (title, most) in COSTS.items():
        if name in results.costs:
            spent = results.costs[name]
            found.append(Goal(f"{title}: at most {most:g} ms", spent <= most, f"{number(spent)} ms"))
    return found


def _state_goals(results: Results) -> list[Goal]:
    found: list[Goal] = []
    for held in HOLDS[1:]:
        for step in ("suspend", "resume"):
            ratios = _ratios(results, f"hold {held}.{step}_ms", ("quickjs-wasi",))
            title = f"{step}, {held}: at most 1.5 times bare quickjs-wasi's"
            found.append(_at_least(title, ratios, 1 / 1.5, results))
    return [goal for goal in found if goal.met is not None]


def _resume_goals(results: Results) -> list[Goal]:
    metric = "hold tiny.resume_ms"
    away = _ratios(results, metric, AWAY_FROM_HOST)
    bare = _ratios(results, metric, ("quickjs-wasi",))
    found = (
        _at_least("resume, tiny: 10 times ahead of JavaScript peers away from the host", away, 10, results),
        _at_least("resume, tiny: ahead of bare quickjs-wasi", bare, 1, results),
    )
    return [goal for goal in found if goal.met is not None]


def _kernel_goals(results: Results) -> list[Goal]:
    found: list[Goal] = []
    for name in ("json", "string append"):
        ratios = _ratios(results, f"cpu {name}.inner_ms", ("native",))
        found.append(_at_least(f"{name}: within 1.5 times native QuickJS-NG", ratios, 1 / 1.5, results))
    sets = _ratios(results, "cpu map and set.inner_ms", ("quickjs-emscripten",))
    found.append(_at_least("map and set: within twice Bellard's engine", sets, 0.5, results))
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


def _ratios(results: Results, metric: str, others: Sequence[str], key: str = OURS) -> dict[str, float]:
    """How many times this engine's value each of the others' is."""
    ours = results.p50(key, metric)
    if not ours:
        return {}
    values = {key: results.p50(key, metric) for key in others}
    return {key: value / ours for key, value in values.items() if value is not None}


def _at_least(title: str, ratios: dict[str, float], wanted: float, results: Results) -> Goal:
    if not ratios:
        return Goal(title, None, "nobody to compare with in this run")
    facts = ", ".join(f"{results.subjects[key].title} {ratio:,.3g} times" for key, ratio in ratios.items())
    return Goal(title, all(ratio >= wanted for ratio in ratios.values()), facts)
