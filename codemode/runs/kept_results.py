"""Keeps results, so that a caller can ask again: an answer may be lost on its way, or its caller cancelled.

Results are kept in memory, by run id and scope, as long as a suspended run would be. Their number and bytes
are bounded; the oldest is dropped first. Asking again runs nothing twice.
"""

from __future__ import annotations

from typing import NamedTuple

from codemode_snapshots import RunScope

from codemode import clock
from codemode.contract.inputs import same_caller
from codemode.contract.results import CodeModeResult, Completed, Waiting, output_bytes
from codemode.runs.run import Run

MAX_RESULTS = 256
MAX_BYTES = 16 << 20
_CALL_BYTES = 200  # about the size of one line of the ledger


class _KeptResult(NamedTuple):
    scope: RunScope
    result: CodeModeResult
    size: int
    until_ms: int


class KeptResults:
    """Keeps results of runs; one per engine."""

    def __init__(self, ttl_seconds: int) -> None:
        self._ttl_ms = ttl_seconds * 1000
        self._by_id: dict[str, _KeptResult] = {}  # oldest first
        self._bytes = 0

    def put(self, run: Run, result: CodeModeResult) -> None:
        """Call when a run has ended, or was suspended while no caller waited for it."""
        self.drop(run.id)
        size = _size_of(result)
        if size > MAX_BYTES:
            return
        self._by_id[run.id] = _KeptResult(run.scope, result, size, clock.wall_ms() + self._ttl_ms)
        self._bytes += size
        while len(self._by_id) > MAX_RESULTS or self._bytes > MAX_BYTES:
            self.drop(next(iter(self._by_id)))

    def get(self, run_id: str, caller: RunScope) -> CodeModeResult | None:
        """Gives a waiting result once, for the output that no caller has seen; then the run goes on."""
        kept = self._by_id.get(run_id)
        if kept is None or not same_caller(kept.scope, caller):
            return None
        if kept.until_ms <= clock.wall_ms() or isinstance(kept.result, Waiting):
            self.drop(run_id)
        return None if kept.until_ms <= clock.wall_ms() else kept.result

    def look(self, run_id: str, caller: RunScope) -> CodeModeResult | None:
        """The same without taking it."""
        kept = self._by_id.get(run_id)
        is_known = kept is not None and same_caller(kept.scope, caller)
        return kept.result if kept is not None and is_known and kept.until_ms > clock.wall_ms() else None

    def drop(self, run_id: str) -> None:
        kept = self._by_id.pop(run_id, None)
        if kept is not None:
            self._bytes -= kept.size

    def purge(self) -> None:
        """Drops results past their time."""
        now = clock.wall_ms()
        for run_id in [run_id for run_id, kept in self._by_id.items() if kept.until_ms <= now]:
            self.drop(run_id)


def _size_of(result: CodeModeResult) -> int:
    size = len(result.raw_value) if isinstance(result, Completed) else 0
    for item in result.output:
        size += output_bytes(item)
    return size + _CALL_BYTES * len(result.telemetry.calls)
