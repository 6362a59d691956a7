"""The regression guard: what costs how many times something else, within one run. Never a time by itself.

Each bound is about four times what was seen on a machine with two cores. Both sides of a ratio take turns and
the quickest of each counts, so that a busy machine slows both or neither.
"""

from __future__ import annotations

import pytest
from codemode_runtime import image

from bench.side_by_side import programs
from bench.side_by_side.lineup import LINEUP
from bench.side_by_side.rounds import Collected, take_turns
from bench.side_by_side.samples import AnyCell, Cell
from bench.side_by_side.works import FLOORS, WORKS, Pace, Work

SLICE = Pace(rounds=2, seconds=0.03, least=4, at_most_seconds=3.0)
SUBJECTS = [subject for subject in LINEUP if subject.key in {"worker", "guest", "native", "floor"}]
NAMES = {"warm", "one", "seq100", "hold tiny", "cpu fib", "fork"}
PICKED = [
    *(work for work in (*FLOORS, *WORKS) if work.key in NAMES),
    Work("hold 256 KiB", "hold", programs.hold_text(256), warm_up=False, least=3),
]


@pytest.fixture(scope="module")
def cells() -> dict[str, dict[str, AnyCell]]:
    collected = Collected()
    for _ in range(SLICE.rounds):
        take_turns(collected, SUBJECTS, PICKED, SLICE)
    return collected.cells()


def least(cells: dict[str, dict[str, AnyCell]], subject: str, metric: str) -> float:
    cell = cells[subject].get(metric)
    assert isinstance(cell, Cell), cells[subject]
    return cell.least


Side = tuple[str, str]


@pytest.mark.parametrize(
    ("side", "other", "bound"),
    [
        pytest.param(("worker", "warm.ms"), ("floor", "fork.inner_ms"), 8.0, id="a warm run and a fork"),
        pytest.param(("worker", "warm.ms"), ("guest", "warm.ms"), 50.0, id="a run in a worker and its guest"),
        pytest.param(("worker", "seq100.ms"), ("worker", "one.ms"), 120.0, id="100 calls and one"),
        pytest.param(("guest", "seq100.ms"), ("guest", "one.ms"), 80.0, id="100 calls and one, guest"),
        pytest.param(("worker", "hold tiny.resume_ms"), ("worker", "warm.ms"), 8.0, id="a wait and an exec"),
        pytest.param(("guest", "hold tiny.resume_ms"), ("guest", "warm.ms"), 6.0, id="a restore and a start"),
        pytest.param(
            ("guest", "hold tiny.suspend_ms"), ("guest", "warm.ms"), 6.0, id="a capture and a start"
        ),
        pytest.param(
            ("guest", "cpu fib.inner_ms"), ("native", "cpu fib.inner_ms"), 7.0, id="guest and native"
        ),
    ],
)
def test_one_cost_stays_in_proportion_to_another(
    cells: dict[str, dict[str, AnyCell]], side: Side, other: Side, bound: float
) -> None:
    ratio = least(cells, *side) / least(cells, *other)
    assert ratio < bound, f"{side} is {ratio:.1f} times {other}"


def test_a_tiny_snapshot_is_a_hundredth_of_the_memory_it_restores(
    cells: dict[str, dict[str, AnyCell]],
) -> None:
    assert least(cells, "worker", "hold tiny.bytes") < image.load().memory_bytes / 100


def test_a_snapshot_holds_little_beyond_the_live_data(cells: dict[str, dict[str, AnyCell]]) -> None:
    grown = least(cells, "guest", "hold 256 KiB.bytes") - least(cells, "guest", "hold tiny.bytes")
    assert grown < 2 * (256 << 10)
