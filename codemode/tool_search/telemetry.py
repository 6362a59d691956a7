"""What Tool Search cost and saved in one run, compared with showing all tools. Holds no values of calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from codemode.contract.telemetry import CallRecord, CallStatus
from codemode.tool_search.gate import Exposure, GateVerdict

_MAX_CALLS = 1_000


class FinalCall(Struct, frozen=True, rename="camel"):
    """A call of a real tool. `control` is the name that the model called."""

    tool: str
    name: str
    source: str
    control: str
    status: CallStatus
    ms: float
    bytes_in: int
    bytes_out: int


class SearchTelemetry(Struct, frozen=True, kw_only=True, rename="camel"):
    """`direct`: what the model would read if it saw all effective tools. `shown`: what it does read."""

    decision: GateVerdict
    direct: Exposure
    shown: Exposure
    catalog_size: int
    sources: dict[str, int]
    counts: dict[str, int]  # by kind: search, describe, call, program
    repairs: dict[str, int]
    calls: tuple[FinalCall, ...]  # the latest
    failures: dict[str, int]  # by code

    @property
    def tokens_saved(self) -> int:
        return self.direct.tokens - self.shown.tokens

    def to_dict(self) -> dict[str, Any]:
        return msgspec.to_builtins(self) | {"tokensSaved": self.tokens_saved}


class SearchMeter:
    """Counts what happens in a prepared run; one per run."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.repairs: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self._calls: list[FinalCall] = []

    def note(self, repairs: tuple[str, ...], failure: str | None) -> None:
        self.repairs.update(repairs)
        if failure is not None:
            self.failures[failure] += 1

    def record(self, control: str, calls: Sequence[CallRecord]) -> None:
        """Takes the ledger of one call of the model: one entry, or all those of a program.

        A call that waits for an approval is counted when it is decided.
        """
        for call in calls:
            if call.status == "pending":
                continue
            self.counts[call.method] += 1
            if call.method == "call" and call.tool:
                source = call.tool.partition(":")[0]
                self._calls.append(
                    FinalCall(
                        call.tool,
                        call.name,
                        source,
                        control,
                        call.status,
                        call.ms,
                        call.bytes_in,
                        call.bytes_out,
                    )
                )
        del self._calls[:-_MAX_CALLS]

    def read(
        self, decision: GateVerdict, direct: Exposure, shown: Exposure, size: int, sources: dict[str, int]
    ) -> SearchTelemetry:
        return SearchTelemetry(
            decision=decision,
            direct=direct,
            shown=shown,
            catalog_size=size,
            sources=sources,
            counts=dict(self.counts),
            repairs=dict(self.repairs),
            calls=tuple(self._calls),
            failures=dict(self.failures),
        )


def comparison(*runs: SearchTelemetry) -> list[dict[str, Any]]:
    """One row for showing everything, then one for each run. All runs must have the same tools."""
    if not runs:
        return []
    return [
        _row("direct", runs[0].direct, runs[0], {}),
        *(_row(_mode(run), run.shown, run, run.counts) for run in runs),
    ]


def comparison_report(*runs: SearchTelemetry) -> str:
    """The comparison as a table for people."""
    rows = comparison(*runs)
    if not rows:
        return "Nothing to compare."
    table = [list(_TITLES), *([_cell(row[key]) for key in _KEYS] for row in rows)]
    widths = [max(len(line[at]) for line in table) for at in range(len(_KEYS))]
    lines = [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]
    return "\n".join((*lines, *_notes(runs)))


_TITLES = (
    "mode",
    "tools",
    "schema bytes",
    "prompt bytes",
    "tokens",
    "saved",
    "search",
    "describe",
    "call",
    "failed",
)
_KEYS = (
    "mode", "tools", "schemaBytes", "promptBytes", "tokens", "saved", "search", "describe", "call", "failed",
)  # fmt: skip


def _mode(run: SearchTelemetry) -> str:
    return run.decision.mode or f"direct ({run.decision.why})"


def _row(mode: str, shown: Exposure, run: SearchTelemetry, counts: dict[str, int]) -> dict[str, Any]:
    full = run.direct.tokens
    return {
        "mode": mode,
        "tools": shown.tools,
        "schemaBytes": shown.schema_bytes,
        "promptBytes": shown.prompt_bytes,
        "tokens": shown.tokens,
        "saved": f"{100 * (full - shown.tokens) / full:.1f} %" if full else "0.0 %",
        "search": counts.get("search", 0),
        "describe": counts.get("describe", 0),
        "call": counts.get("call", 0),
        "failed": sum(run.failures.values()) if counts else 0,
    }


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _notes(runs: Sequence[SearchTelemetry]) -> list[str]:
    notes: list[str] = []
    for run in runs:
        sources = ", ".join(f"{count} {source}" for source, count in sorted(run.sources.items())) or "none"
        notes.append(f"{_mode(run)}: {run.catalog_size} deferred ({sources})")
        if run.repairs:
            made = ", ".join(f"{name} {count}" for name, count in sorted(run.repairs.items()))
            notes.append(f"{_mode(run)}: arguments repaired: {made}")
        notes += [
            f"{_mode(run)}: {call.control} -> {call.tool} ({call.source}) {call.status} {call.ms:g} ms"
            for call in run.calls
        ]
    return notes
