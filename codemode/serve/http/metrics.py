"""`/metrics`: what an engine and its server count, as Prometheus text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_PREFIX = "codemode_"


class MetricsPage:
    """Collects samples: each name once with its kind and what it means."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(
        self, name: str, kind: str, told: str, samples: Iterable[tuple[Mapping[str, str], float]]
    ) -> None:
        rows = [f"{_PREFIX}{name}{_labels(labels)} {_number(value)}" for labels, value in samples]
        if rows:
            self._lines += [f"# HELP {_PREFIX}{name} {told}", f"# TYPE {_PREFIX}{name} {kind}", *rows]

    def one(self, name: str, kind: str, told: str, value: float) -> None:
        self.add(name, kind, told, [({}, value)])

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    pairs = (f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return "{" + ",".join(pairs) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(round(float(value), 6))


def _by(label: str, counts: Mapping[str, float]) -> list[tuple[Mapping[str, str], float]]:
    return [({label: name}, value) for name, value in counts.items()]


def engine_metrics(page: MetricsPage, stats: Mapping[str, Any], health: Mapping[str, Any]) -> None:
    """From `engine.stats()` and `engine.health()`."""
    totals, workers, loop = stats["totals"], stats["workers"], stats["loop"]
    page.add("runs", "gauge", "Runs that this engine knows, by state.", _by("state", stats["runs"]))
    page.add(
        "results_total", "counter", "Results of exec and wait, by status or error code.",
        _by("result", totals.get("results", {})),
    )  # fmt: skip
    page.add(
        "events_total", "counter", "What runs did, by kind: exec, wait, calls, searches.",
        _by("kind", totals.get("counts", {})),
    )  # fmt: skip
    page.add(
        "tool_calls_total", "counter", "Nested calls, by tool.", _by("tool", totals.get("tools", {}))
    )  # fmt: skip
    page.add(
        "seconds_total", "counter", "Time spent, by phase.",
        [({"phase": name}, us / 1e6) for name, us in totals.get("spentUs", {}).items()],
    )  # fmt: skip
    page.add(
        "bytes_total", "counter", "Bytes that crossed, by kind.", _by("kind", totals.get("bytes", {}))
    )  # fmt: skip
    page.add(
        "snapshots_total", "counter", "Snapshots, by event.", _by("event", totals.get("snapshots", {}))
    )  # fmt: skip
    page.add(
        "limits_hit_total", "counter", "Runs that a limit ended, by code.",
        _by("code", totals.get("capFailures", {})),
    )  # fmt: skip
    gauges = {name: workers[name] for name in ("warm", "busy", "starting", "queued")}
    page.add("workers", "gauge", "Worker processes, and legs that wait for one.", _by("state", gauges))
    counts = {name: workers[name] for name in ("spawned", "killed", "crashed", "restarts")}
    page.add("workers_total", "counter", "Worker processes since the start.", _by("event", counts))
    page.one("loop_lag_seconds", "gauge", "How late the event loop was.", loop["lagMs"] / 1000)
    page.one("loop_stalled_seconds_total", "counter", "How long it was held up.", loop["stalledMs"] / 1000)
    page.add(
        "healthy", "gauge", "1 for each part that is healthy.",
        [({"check": one["name"]}, float(one["status"] == "healthy")) for one in health["checks"]],
    )  # fmt: skip
