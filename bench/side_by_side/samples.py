"""From samples to a cell of the table: medians, the tail, and how far the rounds lie apart. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from msgspec import Struct


class Cell(Struct, frozen=True, tag="measured"):
    """Of one subject and metric. A spread of 0.1 is a highest round 10 % above the lowest."""

    p50: float  # the median of the rounds' medians, so that one disturbed round does not move it
    p99: float  # of all samples together
    least: float
    samples: int
    rounds: tuple[float, ...]
    spread: float


class NoCell(Struct, frozen=True, tag="none"):
    """`failed` tells an error from something that the subject does not have."""

    reason: str
    failed: bool


AnyCell = Cell | NoCell


def summarise(rounds: Sequence[Sequence[float]]) -> Cell:
    medians = [median(samples) for samples in rounds]
    everything = sorted(value for samples in rounds for value in samples)
    lowest = min(medians)
    return Cell(
        p50=_rounded(median(medians)),
        p99=_rounded(everything[min(len(everything) - 1, len(everything) * 99 // 100)]),
        least=_rounded(everything[0]),
        samples=len(everything),
        rounds=tuple(_rounded(value) for value in medians),
        spread=round(max(medians) / lowest - 1, 3) if lowest > 0 else 0.0,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")
