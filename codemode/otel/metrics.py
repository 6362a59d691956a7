"""The metrics of an engine: durations and sizes as they happen, and its state when somebody reads.

spans.py hands in values in a later turn of the loop: a histogram takes a hundredth of a quick exec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from codemode.otel import names

# Seconds, as the conventions advise for MCP; calls of tools are as quick and as slow.
_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
_BYTES = [1 << power for power in range(10, 25, 2)]
_WORKER_STATES = ("warm", "busy", "starting")


class Metrics:
    """The instruments of one engine. `stats` tells its state; a thread of the exporter calls it."""

    def __init__(self, meter: Meter, stats: Callable[[], Mapping[str, Any]]) -> None:
        self._stats = stats
        self.is_closed = False
        self.tool_seconds = meter.create_histogram(
            names.TOOL_DURATION,
            "s",
            "Duration of a tool's execution.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self.mcp_seconds = meter.create_histogram(
            names.MCP_DURATION, "s", "Duration of a request to an MCP server, as its client sees it.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )  # fmt: skip
        self.leg_seconds = meter.create_histogram(
            names.LEG_DURATION,
            "s",
            "Duration of an exec or a wait.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self.snapshot_bytes = meter.create_histogram(
            names.SNAPSHOT_SIZE,
            "By",
            "Size of a suspended program.",
            explicit_bucket_boundaries_advisory=_BYTES,
        )
        self.suspensions = meter.create_counter(
            names.SUSPENSIONS, "{suspension}", "Programs that were suspended."
        )
        for name, unit, told, observe in (
            (names.RUNS, "{run}", "Runs that this engine knows now.", self._runs),
            (names.WORKERS, "{worker}", "Processes that run programs.", self._workers),
            (names.QUEUE, "{leg}", "Legs that wait for a worker.", self._queue),
            (names.LOOP_LAG, "s", "How late the event loop was at its last beat.", self._lag),
        ):
            meter.create_observable_gauge(name, [self._while_open(observe)], unit, told)

    def _while_open(
        self, observe: Callable[[Mapping[str, Any]], Iterable[Observation]]
    ) -> Callable[[CallbackOptions], Iterable[Observation]]:
        return lambda _: [] if self.is_closed else list(observe(self._stats()))

    def _runs(self, stats: Mapping[str, Any]) -> Iterable[Observation]:
        counts: dict[str, int] = {"running": 0, "waiting": 0} | stats["runs"]
        return [Observation(count, {names.STATE: state}) for state, count in counts.items()]

    def _workers(self, stats: Mapping[str, Any]) -> Iterable[Observation]:
        return [Observation(stats["workers"][state], {names.STATE: state}) for state in _WORKER_STATES]

    def _queue(self, stats: Mapping[str, Any]) -> Iterable[Observation]:
        return [Observation(stats["workers"]["queued"])]

    def _lag(self, stats: Mapping[str, Any]) -> Iterable[Observation]:
        return [Observation(stats["loop"]["lagMs"] / 1000)]
